"""Import every module of a package, so that one file is enough to add something that registers itself."""

from importlib import import_module
from pkgutil import iter_modules


def import_modules(package: str) -> None:
    """Import the modules of a package, in the order of their names."""
    for name in sorted(one.name for one in iter_modules(import_module(package).__path__)):
        import_module(f"{package}.{name}")
