"""Packages that only some people need."""

from importlib import import_module
from types import ModuleType

from tunedprior.errors import MissingExtraError


def import_optional(module: str, extra: str) -> ModuleType:
    """The module, or a `MissingExtraError` that names the extra it comes with.

    >>> import_optional("json", "never").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # it is there, and lacks something of its own
        raise MissingExtraError(
            f"This needs {module.split('.')[0]}, which is not installed. Install it with: pip install "
            f'"tunedprior[{extra}]"'
        ) from error
