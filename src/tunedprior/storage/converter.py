"""Convert configurations and trials to plain values, as JSON has them, and back, by the fields of their classes.

A new field of a configuration needs nothing here; one that is missing in a file has its default. What no file can hold
(functions, models, classes that cannot be found again) is left out: `list_objects` names it, and whoever loads the
campaign gives it again.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from math import isfinite, isnan, nan
from typing import Any, TypeVar

import msgspec
from botorch.acquisition import AcquisitionFunction
from cattrs import BaseValidationError, Converter, transform_error
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.strategies import configure_tagged_union, configure_union_passthrough
from cattrs.v import format_exception

from tunedprior.acquisition.functions import check_choice
from tunedprior.errors import FileFormatError, InputError
from tunedprior.goals.goal import Goal, Target
from tunedprior.history.trials import CANCELLED, COMPLETE, FAILED, PENDING, WITHDRAWN, Trial
from tunedprior.kernels import FreeKernel
from tunedprior.kernels.registry import check_kernel_arguments, get_kernel_arguments, make_kernel
from tunedprior.space.constraints import FunctionConstraint, LinearConstraint, OnlyWhen
from tunedprior.space.parameters import Categorical, Numeric, Parameter
from tunedprior.space.search_space import Space
from tunedprior.suggestion.config import CampaignConfig, SearchConfig, TransferConfig

ClassT = TypeVar("ClassT")
_STATES = (COMPLETE, FAILED, PENDING, CANCELLED, WITHDRAWN)
#: How a file calls the kinds of parameters and constraints.
_NAMES: dict[type, str] = {
    Numeric: "number",
    Categorical: "category",
    LinearConstraint: "linear",
    OnlyWhen: "only when",
}
#: The only package that is imported to find an acquisition class; any other must be imported already.
_TRUSTED = "botorch"


def encode_cell(value: Any, parameter: str | None = None) -> Any:
    """Convert a category or number for JSON; other objects in the user's own columns become text."""
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
    if isinstance(value, float) and not isfinite(value):
        return {"type": "float", "text": str(value)}
    if isinstance(value, tuple):
        return {"type": "tuple", "items": [encode_cell(one, parameter) for one in value]}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if parameter is not None:
        raise InputError(
            f"{parameter!r} has the category {value!r}, and a {type(value).__name__} cannot be saved. Name categories "
            "by text or numbers."
        )
    return str(value)


def decode_cell(cell: Any) -> Any:
    """Return the value that `encode_cell` wrote; a `ValueError` if it wrote no such thing."""
    if cell is None or isinstance(cell, bool | int | float | str):
        return cell
    match cell:
        case {"type": "float", "text": "nan" | "inf" | "-inf" as text} if len(cell) == 2:
            return float(text)
        case {"type": "tuple", "items": list(items)} if len(cell) == 2:
            return tuple(map(decode_cell, items))
    raise ValueError(f"expected a value of a setting, got {str(cell)[:80]}")


def _check_type(*kinds: type) -> Any:
    """A hook that takes values of exactly these types, as JSON knows them."""

    def check(value: Any, _: Any) -> Any:
        if type(value) not in kinds:
            raise ValueError(f"expected {kinds[-1].__name__}, got {type(value).__name__}")
        return value

    return check


def _encode_number(value: float) -> float | str:
    """JSON has no infinity and no NaN: they are text."""
    return value if isfinite(value) else str(float(value))


def _decode_number(value: Any, _: Any) -> Any:
    if isinstance(value, str) and value in ("inf", "-inf", "nan"):
        return float(value)
    if type(value) not in (int, float):
        raise ValueError(f"expected a number, got {type(value).__name__}")
    return value


def _encode_kernel(kernel: FreeKernel | None) -> Any:
    if kernel is None or not _can_save_kernel(kernel):
        return None
    return {"kernel": type(kernel).__name__, "arguments": get_kernel_arguments(kernel)}


def _decode_kernel(value: Any, _: Any) -> Any:
    if value is None:
        return None
    name = value["kernel"]
    return make_kernel(name, check_kernel_arguments(name, value["arguments"]))


def _can_save_kernel(kernel: FreeKernel) -> bool:
    try:
        get_kernel_arguments(kernel)
    except InputError:
        return False
    return True


def _encode_acquisition(choice: Any) -> Any:
    """The name of an acquisition function, or the import path of its class; None if that leads elsewhere."""
    if isinstance(choice, str):
        return choice
    path = f"{getattr(choice, '__module__', '')}:{getattr(choice, '__qualname__', '')}"
    return {"class": path} if _find_class(path) is choice else None


def _find_class(path: str) -> Any:
    """The acquisition class at an import path such as `"module:Class"`; None if it is not there."""
    module, _, name = path.partition(":")
    if module.split(".")[0] == _TRUSTED:
        with suppress(ImportError):
            import_module(module)
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, AcquisitionFunction) else None


def _decode_acquisition(value: Any, _: Any) -> Any:
    match value:
        case None:  # it is to be given again
            return "ei"
        case {"class": str(path)} if len(value) == 1:
            found = _find_class(path)
            if found is None:
                raise InputError(
                    f"The campaign's acquisition function is the class {path!r}, which is not there. Import its module "
                    "before the campaign is loaded, or give another: search=SearchConfig(…)."
                )
            return found
    name = _check_type(str)(value, None)
    try:
        check_choice(name, "brochu")
    except InputError as error:
        raise InputError(f"{error} If it was registered by a module of your own, import that first.") from error
    return name


def _encode_space(space: Space) -> dict[str, Any]:
    own = [one for one in space.constraints if not isinstance(one, FunctionConstraint)]
    return {
        "parameters": [CONVERTER.unstructure(one, Parameter) for one in space.parameters],
        "constraints": [CONVERTER.unstructure(one, _SavedConstraint) for one in own],
    }


def _decode_space(value: Any, _: Any) -> Space:
    if set(value) != {"parameters", "constraints"}:
        raise ValueError("a search space has parameters and constraints")
    space = Space(tuple(CONVERTER.structure(value["parameters"], list[Parameter])))
    wrong = [one.name for one in space.parameters if not _is_sound(one)]
    if wrong or not space.parameters or len(set(space.names)) < len(space.names):
        raise ValueError(f"the search space makes no sense ({', '.join(wrong)})")
    return space.add_constraints_unchecked(CONVERTER.structure(value["constraints"], list[_SavedConstraint]))


def _is_sound(one: Parameter) -> bool:
    if isinstance(one, Categorical):
        return len(set(map(repr, one.choices))) == one.count > 0
    levels = one.levels is None or (list(one.levels) == sorted(set(one.levels)) and one.low <= one.levels[0])
    ends = isfinite(one.low) and isfinite(one.high) and one.low <= one.high and (one.low > 0 or not one.log)
    return levels and ends and (one.step is None or one.step > 0) and (one.digits is None or one.digits >= 1)


_SavedConstraint = LinearConstraint | OnlyWhen


def _make_converter() -> Converter:
    """The converter: strict in what it reads, and exact in what it writes."""
    made = Converter(forbid_extra_keys=True)
    for kind in (str, bool, int):
        made.register_structure_hook(kind, _check_type(kind))
    made.register_structure_hook(float, _decode_number)
    made.register_unstructure_hook(float, _encode_number)
    configure_union_passthrough(str | int | float | None, made)
    made.register_structure_hook(Goal, lambda goal, _: goal if isinstance(goal, str) else made.structure(goal, Target))

    def add_class(kind: type, **overrides: Any) -> None:
        made.register_unstructure_hook(kind, make_dict_unstructure_fn(kind, made, **overrides))
        made.register_structure_hook(
            kind, make_dict_structure_fn(kind, made, _cattrs_forbid_extra_keys=True, **overrides)
        )

    left_out = override(omit=True)
    add_class(
        OnlyWhen,
        slacks=left_out,
        when=override(
            unstruct_hook=lambda when: {name: [encode_cell(one, name) for one in each] for name, each in when.items()},
            struct_hook=lambda when, _: {name: [decode_cell(one) for one in each] for name, each in when.items()},
        ),
        otherwise=override(unstruct_hook=encode_cell, struct_hook=lambda cell, _: decode_cell(cell)),
    )
    add_class(LinearConstraint, slack=left_out, rounding=left_out)
    add_class(Numeric)
    add_class(Categorical, choices=override(struct_hook=lambda cells, _: tuple(map(decode_cell, cells))))
    made.register_unstructure_hook(
        Categorical,
        lambda one: {"name": one.name, "choices": [encode_cell(choice, one.name) for choice in one.choices]},
    )
    for union in (Parameter, _SavedConstraint):
        configure_tagged_union(union, made, tag_generator=_NAMES.__getitem__, tag_name="type")
    made.register_unstructure_hook(Space, _encode_space)
    made.register_structure_hook(Space, _decode_space)
    add_class(TransferConfig, kernel=override(unstruct_hook=_encode_kernel, struct_hook=_decode_kernel))
    add_class(
        SearchConfig,
        model=left_out,
        cost=left_out,
        acquisition=override(unstruct_hook=_encode_acquisition, struct_hook=_decode_acquisition),
    )
    return made


CONVERTER = _make_converter()


def encode_config(config: CampaignConfig) -> dict[str, Any]:
    """Return the configuration as plain values, without what `list_objects` and `list_functions` name."""
    encoded: dict[str, Any] = CONVERTER.unstructure(config)
    return encoded


def list_objects(config: CampaignConfig) -> list[str]:
    """Name the parts of a configuration that no file can hold."""
    search, kernel = config.search, config.transfer.kernel
    missing = {
        "kernel": kernel is not None and not _can_save_kernel(kernel),
        "model": search.model is not None,
        "cost": search.cost is not None,
        "acquisition": _encode_acquisition(search.acquisition) is None,
        "constraints": bool(list_functions(config.space)),
    }
    return [name for name, is_missing in missing.items() if is_missing]


def list_functions(space: Space) -> list[str]:
    """Name the constraints that are functions."""
    return [one.name for one in space.constraints if isinstance(one, FunctionConstraint)]


def decode(value: Any, kind: type[ClassT], where: str) -> ClassT:
    """Return the value of a class that was written; a `FileFormatError`, which begins with `where`, if it is none."""
    try:
        return CONVERTER.structure(value, kind)
    except BaseValidationError as error:
        given = _find_input_error(error)
        if given is not None:
            raise FileFormatError(f"{where}: {given}") from error
        said = "; ".join(transform_error(error, format_exception=_describe_error))
        raise FileFormatError(f"{where}: {said[:500]}.") from error
    except (InputError, ValueError, TypeError, KeyError, AttributeError, RecursionError, msgspec.MsgspecError) as error:
        raise FileFormatError(f"{where}: {error}.") from error


def _describe_error(error: BaseException, kind: type | None) -> str:
    return str(error) if type(error) is ValueError else format_exception(error, kind)


def _find_input_error(error: BaseException) -> InputError | None:
    """The first error of ours within a group of errors."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for one in error.exceptions if (found := _find_input_error(one)) is not None), None)
    return error if isinstance(error, InputError) else None


def encode_trial(trial: Trial, space: Space) -> dict[str, Any]:
    """Return a trial as plain values; settings are lists in the order of the parameters."""

    def encode_row(setting: Mapping[str, Any]) -> list[Any]:
        return [encode_cell(setting[name], name) for name in space.names]

    return {
        "id": trial.id,
        "state": trial.state,
        "value": None if isnan(trial.value) else trial.value,
        "setting": encode_row(trial.setting),
        "suggested": None if trial.suggested is None else encode_row(trial.suggested),
        "note": trial.note,
        "extra": {name: encode_cell(cell) for name, cell in trial.extra.items()},
        "more": dict(trial.more),
        "noise": dict(trial.noise),
        "cost": None if isnan(trial.cost) else trial.cost,
        "substitute": trial.substitute,
        **({"stopped_early": True} if trial.stopped_early else {}),
        **({} if trial.study_number is None else {"study_number": trial.study_number}),
    }


def decode_trial(value: Any, space: Space, where: str) -> Trial:
    """Return the trial that `encode_trial` wrote; a `FileFormatError`, which begins with `where`, if it is none."""
    try:
        fields = dict(value)
        state = fields.pop("state")
        if state not in _STATES:
            raise ValueError(f"the state {str(state)[:40]!r} is none of {', '.join(_STATES)}")
        fields |= {"setting": _decode_row(fields["setting"], space), "extra": _decode_cells(fields.get("extra", {}))}
        if fields["suggested"] is not None:
            fields["suggested"] = _decode_row(fields["suggested"], space)
        for name in ("value", "cost"):
            fields[name] = nan if fields.get(name) is None else fields[name]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"{where}: {error}.") from error
    fields |= {"is_pending": state == PENDING, "set_aside": state if state in (CANCELLED, WITHDRAWN) else ""}
    trial = decode(fields, Trial, where)
    if trial.id < 1:
        raise FileFormatError(f"{where}: the number of a trial is 1 or more, got {trial.id}.")
    return trial


def _decode_row(row: Any, space: Space) -> dict[str, Any]:
    """A setting from its list; numbers for numbers."""
    cells = [decode_cell(one) for one in row]
    if len(cells) != len(space.parameters) or any(
        isinstance(parameter, Numeric) and type(cell) not in (int, float)
        for cell, parameter in zip(cells, space.parameters, strict=False)
    ):
        raise ValueError("it has a setting that is none of the search space")
    return dict(zip(space.names, cells, strict=True))


def _decode_cells(cells: Any) -> dict[str, Any]:
    return {name: decode_cell(cell) for name, cell in cells.items()}
