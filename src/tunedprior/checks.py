"""Check arguments, with errors that say what was expected, what came, and what to do.

`import_optional` imports a package that is optional, or says how to install it.
"""

import math
import numbers
import re
import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import InputError, MissingExtraError

# Whatever NumPy can read as numbers, or a tensor. Checked below with better messages than a type checker's,
# so at run time (the tests check annotations then) it is anything.
if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    Numbers = ArrayLike | Tensor
else:
    Numbers = Any

_NAMED = 5  # rows named in a message before it says "…"
#: As many choices, or columns among which the right one is to be found, are named in a message.
MOST_CHOICES, MOST_COLUMNS = 12, 40

# A warning points at the first line outside of these: this package, and what may stand between it and the user's code.
_OURS = ("tunedprior", "torch", "gpytorch", "botorch", "linear_operator", "jaxtyping", "beartype", "contextlib")


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called us, however deep inside the reason was found."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and not _is_user_code(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_user_code(frame: FrameType) -> bool:
    """Whether the frame runs code that is neither ours nor between us and the user; type checkers generate some."""
    generated = frame.f_code.co_filename.startswith("<@")
    return not generated and str(frame.f_globals.get("__name__", "")).split(".")[0] not in _OURS


def format_list(items: Iterable[object], most: int = _NAMED) -> str:
    """The first few items, comma separated, with an ellipsis when there are more."""
    texts = [str(item) for item in items]
    return ", ".join(texts[:most]) + (", …" if len(texts) > most else "")


def suggest_name(given: Iterable[object], known: Iterable[object]) -> str:
    """Ask whether a known name was meant by the first that is not known; "" if none is close.

    >>> suggest_name(["yeild"], ["yield", "purity"]), suggest_name(["flow"], ["yield"])
    (' Did you mean yield?', '')
    """
    by_small = {str(one).casefold(): str(one) for one in known}
    for one in map(str, given):
        if one.casefold() not in by_small:
            close = get_close_matches(one.casefold(), by_small, n=1)
            return f" Did you mean {by_small[close[0]]}?" if close else ""
    return ""


def format_value(value: object, most: int = 60) -> str:
    """A value in a message: as Python writes it, but without NumPy's types, in one line, and not too long."""
    if isinstance(value, np.number | np.bool_ | np.str_) and not isinstance(value, np.timedelta64):
        value = value.item()
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a whole number of thousands of digits, or whatever an object of theirs does
        return f"a {type(value).__name__}"
    return text if len(text) <= most else text[:most] + "…"


#: What stands for a password that is not shown.
_HIDDEN = "***"
_SECRET = re.compile("pass|pwd|secret|token|credential|key", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(rf"([?&;][^=&]*(?:{_SECRET.pattern})[^=&]*=)[^&]*", re.IGNORECASE)


def hide_password(url: str) -> str:
    """The URL of a database as it may be shown: without its password, and without those among its parameters.

    >>> hide_password("postgresql://lab:pass:w/rd@server/campaigns")
    'postgresql://lab:***@server/campaigns'
    >>> hide_password("postgresql://server/campaigns?user=lab&password=secret")
    'postgresql://server/campaigns?password=***&user=lab'
    >>> hide_password("campaign.db")
    'campaign.db'
    """
    import sqlalchemy  # the command line's help does without

    try:
        address = sqlalchemy.make_url(url)
    except (sqlalchemy.exc.ArgumentError, ValueError):  # no URL, or a port that is no number
        return _hide_possible_password(url)
    if address.password is not None and "@" in f"{address.host}{address.database}":
        return _hide_possible_password(url)  # a password with an @ in it, of which they got a part
    secrets = {name: _HIDDEN for name in address.query if _SECRET.search(name)}
    if address.password is None and not secrets:
        return url
    shown_url = address.update_query_dict(secrets).render_as_string(hide_password=True)
    return shown_url.replace("%2A%2A%2A", _HIDDEN)


def _hide_possible_password(url: str) -> str:
    """Hide a password in text that SQLAlchemy reads as no URL: all before the last @, or in place of a port."""
    scheme, colon, rest = url.partition("://")
    if not colon:
        return re.sub(r"^([\w+.-]+:)(?!\\).*@", rf"\1{_HIDDEN}@", url)
    if "@" in rest:
        user = re.match(r"[^:/@?]*", rest)
        rest = f"{user[0] if user else ''}:{_HIDDEN}@{rest.rpartition('@')[2]}"
    else:
        rest = re.sub(r"^([^:/?]*):[^/?]*", rf"\1:{_HIDDEN}", rest)
    return _SECRET_PARAMETER.sub(rf"\1{_HIDDEN}", f"{scheme}://{rest}")


def to_float_tensor(values: Numbers, name: str) -> Float[Tensor, "*shape"]:
    """Tensors keep their floating dtype and device; everything else becomes float64."""
    if isinstance(values, Tensor):
        return values if values.is_floating_point() else values.to(torch.float64)
    try:
        return torch.as_tensor(np.array(values, dtype=np.float64))  # a copy: later changes of theirs are not ours
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} must be numbers; got {type(values).__name__}: {error}. Encode categories as numbers first."
        ) from error


def check_positive(value: float, name: str) -> float:
    """`value` as a float, if it is finite and above zero."""
    try:
        number = float(value) if not isinstance(value, bool | np.bool_) else math.nan
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a number above 0; got {format_value(value)}.") from error
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{name} must be a finite number above 0; got {format_value(value)}. Try 1e-3 if unsure.")
    return number


def check_positive_integer(value: int, name: str) -> int:
    """`value`, if it is a whole number of at least 1."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or value % 1 != 0 or value < 1:
        got = format_value(value) if isinstance(value, numbers.Number | str) else type(value).__name__
        raise InputError(f"{name} must be a whole number, 1 or more; got {got}.")
    return int(value)


def check_flag(value: bool, name: str) -> bool:
    """`value`, if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False; got {format_value(value)}.")
    return bool(value)


def check_seed(seed: int, name: str = "seed") -> int:
    """`seed`, if it is a whole number of at least 0."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool | np.timedelta64) or seed < 0:
        raise InputError(f"{name} must be a whole number, 0 or more; got {format_value(seed)}.")
    return int(seed)


def refuse_other_types(value: Any, kind: type, name: str, wanted: str) -> None:
    """An `InputError` for anything but an instance of `kind`; for a class instead of an instance it says so."""
    if isinstance(value, kind) and not isinstance(value, type):
        return
    if isinstance(value, type) and issubclass(value, kind):
        raise InputError(f"{name} must be an instance; got the class {value.__name__}. Write {value.__name__}(…).")
    raise InputError(f"{name} must be {wanted}; got {type(value).__name__} {format_value(value)}.")


def refuse_nonfinite_rows(rows: Float[Tensor, "..."], name: str) -> None:
    """Refuse NaN and infinity, naming the rows (of the flattened batch) that hold them."""
    if torch.isfinite(rows).all():
        return
    flat = rows.detach().reshape(-1, rows.shape[-1]) if rows.ndim > 1 else rows.detach()[:, None]
    bad = (~torch.isfinite(flat)).any(-1).nonzero().flatten().tolist()
    raise InputError(
        f"{name} must be finite; {len(bad)} of {flat.shape[0]} rows are not (rows {format_list(bad)}). Drop or "
        "impute them."
    )


def check_table(X: Numbers, name: str, *, num_inputs: int | None = None) -> Float[Tensor, "n d"]:
    """A finite n x d table with at least one row and one column."""
    X = to_float_tensor(X, name)
    if X.ndim != 2:
        raise InputError(
            f"{name} must be a table, n rows x d inputs; got shape {tuple(X.shape)}. "
            "Use x[:, None] for one input, x[None, :] for one row."
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InputError(f"{name} must hold at least one row and one input; got shape {tuple(X.shape)}.")
    if num_inputs is not None and X.shape[1] != num_inputs:
        raise InputError(
            f"{name} must have {num_inputs} inputs, as the kernel has; got {X.shape[1]}. "
            "Pass the same columns, in the same order, everywhere."
        )
    refuse_nonfinite_rows(X, name)
    return X


def check_responses(y: Numbers, X: Float[Tensor, "n d"], name: str) -> Float[Tensor, " n"]:
    """One finite number for each row of X; a column of them will do."""
    y = to_float_tensor(y, name).to(X)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != X.shape[:1]:
        raise InputError(f"{name} must be one number for each of the {X.shape[0]} points; got shape {tuple(y.shape)}.")
    refuse_nonfinite_rows(y, name)
    return y


def check_labels(y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Class labels -1 and +1."""
    wrong = y[(y != 1) & (y != -1)]
    if wrong.numel():
        raise InputError(
            f"Class labels must be -1 or +1; {wrong.numel()} of {y.numel()} are not "
            f"(such as {format_list(f'{v:g}' for v in wrong.unique().tolist())}). "
            "Map fail to -1 and pass to +1, or use a regressor."
        )
    return y


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
