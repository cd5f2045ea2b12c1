"""Make acquisition functions: expected improvement, upper confidence bound, or any BoTorch acquisition class.

A class is tried on a small model first, so that no experiment is spent before an error is found.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log, pi
from typing import Any, TypeVar

import torch
from botorch.acquisition import (
    AcquisitionFunction,
    LogExpectedImprovement,
    OneShotAcquisitionFunction,
    UpperConfidenceBound,
)
from botorch.models.model import Model
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.sampling import draw_sobol_samples
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.closed_form import (
    ClosedFormAcquisition,
    compute_log_expected_improvement,
    compute_upper_confidence_bound,
)
from tunedprior.acquisition.optimisation import EncodedSpace
from tunedprior.checks import check_positive
from tunedprior.errors import InputError
from tunedprior.goals.observations import Observations
from tunedprior.models.posterior import ComponentModel
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import (
    ENDED_EARLY,
    NEGATIVE_VARIANCE,
    OwnGenerator,
    isolate_computation,
    silence_warnings,
)

_DELTA = 0.1  # the confidence bounds hold with probability 1 - δ
_MC_SAMPLES = 256
_MC_POINTS = 64
_FIXED = 4.0


@dataclass(frozen=True)
class AcquisitionContext:
    """The arguments of acquisition functions besides the model.

    Attributes:
        best: The best response (larger is better), observed or expected of a pending setting; one for each component of
            a mixture, where they expect different ones.
        X: Observed and pending settings, encoded.
        step: t, counted from 1: one more than the observations so far; as printed, than the suggestions so far.
        num_inputs: The number of parameters.
        num_choices: The number of settings to choose from; None for a continuum.
        seed: The seed of acquisition functions that draw samples.
        bounds: The lower and upper bounds of encoded settings.
    """

    best: Float[Tensor, "*s"]
    X: Float[Tensor, "n k"]
    step: int
    num_inputs: int
    num_choices: int | None
    seed: int
    bounds: Float[Tensor, "2 k"]


AcquisitionChoice = str | Callable[..., AcquisitionFunction]
AcquisitionT = TypeVar("AcquisitionT", bound=Callable[..., AcquisitionFunction])


def compute_beta(schedule: str | float, context: AcquisitionContext) -> float:
    """β_t of GP-UCB, a_t = m + √β_t σ.

    `"brochu"`: 2 log(t^{d/2+2} π²/(3δ)), for a continuum (Brochu et al. 2010).
    `"srinivas"`: 2 log(|X| t² π²/(6δ)), for finitely many settings (Srinivas et al. 2010, Theorem 1).
    `"fixed"`: 4, always, two standard deviations. A number: that number, always.
    """
    t = context.step
    if schedule == "brochu":
        return 2 * ((context.num_inputs / 2 + 2) * log(t) + log(pi**2 / (3 * _DELTA)))
    if schedule == "srinivas":
        if context.num_choices is None:
            raise InputError(
                "beta='srinivas' counts the settings, and this space is continuous. "
                "Use beta='brochu', or ask(candidates=…)."
            )
        return 2 * log(context.num_choices * t**2 * pi**2 / (6 * _DELTA))
    return _FIXED if schedule == "fixed" else float(schedule)


def _draw_sobol(context: AcquisitionContext, count: int) -> Float[Tensor, "n k"]:
    """A Sobol sample of encoded settings."""
    return draw_sobol_samples(context.bounds, n=count, q=1, seed=context.seed).squeeze(-2)


def _average_best(model: Model, context: AcquisitionContext) -> float:
    """The best response, on average over the components of a mixture."""
    best = context.best
    return float(model.weights @ best if best.ndim and isinstance(model, ComponentModel) else best)


#: What an acquisition class may name among its arguments, and how it is had.
_KNOWN: dict[str, Callable[[Model, AcquisitionContext, str | float], Any]] = {
    "model": lambda model, _context, _beta: model,
    "best_f": lambda model, context, _beta: _average_best(model, context),
    "beta": lambda _model, context, beta: compute_beta(beta, context),
    "X_baseline": lambda _model, context, _beta: context.X,
    "X_observed": lambda _model, context, _beta: context.X,
    "sampler": lambda _model, context, _beta: SobolQMCNormalSampler(torch.Size([_MC_SAMPLES]), seed=context.seed),
    "candidate_set": lambda _model, context, _beta: _draw_sobol(context, _MC_SAMPLES),
    "mc_points": lambda _model, context, _beta: _draw_sobol(context, _MC_POINTS),
    "bounds": lambda _model, context, _beta: context.bounds,
}


_NAMES = ("ei", "ucb")
_REGISTERED: dict[str, Callable[..., AcquisitionFunction]] = {}


def register_acquisition(name: str) -> Callable[[AcquisitionT], AcquisitionT]:
    """Let a class of acquisition functions be chosen by a name; a decorator."""

    def register(kind: AcquisitionT) -> AcquisitionT:
        if name in _NAMES or (name in _REGISTERED and _REGISTERED[name].__module__ != kind.__module__):
            raise InputError(f"There is an acquisition function {name!r} already. Choose another name.")
        _REGISTERED[name] = kind
        return kind

    return register


def forget_acquisition(name: str) -> None:
    """Remove an acquisition function from the registry."""
    _REGISTERED.pop(name, None)


def _find_registered(choice: AcquisitionChoice) -> AcquisitionChoice:
    """The class that was registered by this name; anything else as it is."""
    return _REGISTERED.get(choice, choice) if isinstance(choice, str) else choice


def check_choice(choice: AcquisitionChoice, beta: str | float) -> None:
    """Raise an `InputError` for an acquisition function that `make_acquisition` cannot make."""
    choice = _find_registered(choice)
    if callable(choice):
        _refuse_if_lacking(choice)
    elif choice not in _NAMES:
        names = ", ".join(map(repr, (*_NAMES, *_REGISTERED)))
        raise InputError(f"acquisition must be {names} or a BoTorch acquisition class; got {choice!r}.")
    if not isinstance(beta, str):
        check_positive(beta, "beta")
    elif beta not in ("brochu", "srinivas", "fixed"):
        raise InputError(f"beta must be 'brochu', 'srinivas', 'fixed' or a number above 0; got {beta!r}.")


def make_acquisition(
    choice: AcquisitionChoice, model: Model, context: AcquisitionContext, beta: str | float
) -> AcquisitionFunction:
    """Make the acquisition function on a fitted model; a class gets those arguments that its signature names."""
    choice = _find_registered(choice)
    if choice in ("ei", LogExpectedImprovement):
        if isinstance(model, ComponentModel):
            best = context.best[:, None] if context.best.ndim else context.best
            return ClosedFormAcquisition([model], partial(compute_log_expected_improvement, model.weights, best))
        return LogExpectedImprovement(model, best_f=context.best)
    if choice in ("ucb", UpperConfidenceBound):
        squared_width = torch.as_tensor(compute_beta(beta, context)).to(context.X)
        if isinstance(model, ComponentModel):
            width = squared_width.sqrt()
            return ClosedFormAcquisition([model], partial(compute_upper_confidence_bound, model.weights, width))
        return UpperConfidenceBound(model, beta=squared_width)
    assert callable(choice)  # check_choice saw to it
    given = getattr(choice, "keywords", {})  # functools.partial: what the user fixed stays fixed
    parameters = inspect.signature(choice).parameters
    names = [name for name in parameters if name in _KNOWN and name not in given]
    if "num_fantasies" in parameters or "mc_points" in parameters:
        names = [name for name in names if name != "sampler"]  # theirs is for fantasies, which they know the number of
    with silence_warnings(), OwnGenerator(context.seed):
        return choice(**{name: _KNOWN[name](model, context, beta) for name in names})


def _refuse_if_lacking(choice: Callable[..., AcquisitionFunction]) -> None:
    """Raise an `InputError` for a class with required arguments that are not in `_KNOWN`."""
    try:
        parameters = inspect.signature(choice).parameters.values()
    except (TypeError, ValueError) as error:  # built-in types have no signature
        raise InputError(f"acquisition must be 'ei', 'ucb' or a BoTorch acquisition class; got {choice!r}.") from error
    lacking = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in _KNOWN
    ]
    if lacking:
        name = get_acquisition_name(choice)
        raise InputError(
            f"{name} needs {', '.join(lacking)}, which only you can give. "
            f"Pass functools.partial({name}, {lacking[0]}=…)."
        )


def get_acquisition_name(choice: Callable[..., AcquisitionFunction]) -> str:
    """The name of an acquisition class, for messages."""
    return str(getattr(getattr(choice, "func", choice), "__name__", repr(choice)))


_RESPONSES = (-1.2, 0.2, 1.0)


def check_acquisition(
    choice: AcquisitionChoice, surrogate: Surrogate, encoded_space: EncodedSpace, beta: str | float
) -> None:
    """Try an acquisition class on a model of three invented observations: its value and its gradient.

    Expected improvement and confidence bounds by name are known to work.
    """
    choice = _find_registered(choice)
    if not callable(choice):
        return
    X = _make_dummy_settings(encoded_space)
    y = torch.tensor(_RESPONSES, dtype=torch.float64)[:, None]
    context = AcquisitionContext(
        best=y.max(),
        X=X,
        step=len(X) + 1,
        num_inputs=X.shape[1],
        num_choices=len(X),
        seed=0,
        bounds=encoded_space.bounds,
    )
    try:
        with isolate_computation(), silence_warnings(ENDED_EARLY, NEGATIVE_VARIANCE), OwnGenerator(0):
            acquisition: Any = make_acquisition(choice, surrogate(Observations(X, y)), context, beta)
            # One-shot acquisition functions also look for where each of their fantasies is best.
            one_shot = isinstance(acquisition, OneShotAcquisitionFunction)
            joint = acquisition.get_augmented_q_batch_size(1) if one_shot else 1
            points = X[:2, None].repeat(1, joint, 1).requires_grad_()
            values = acquisition(points)
            values.sum().backward()
    except Exception as error:  # whatever a class of somebody else's may raise
        raise InputError(
            f"{get_acquisition_name(choice)} does not work with the model that {type(surrogate).__name__} makes "
            f"({type(error).__name__}: {error}). Use 'ei', 'ucb' or a class that docs/asking.md lists."
        ) from error
    if one_shot and encoded_space.constrained is not None:
        raise InputError(
            f"{get_acquisition_name(choice)} looks for several settings at once, which constraints do not allow "
            "for. Use 'ei', "
            "'ucb' or a class that docs/asking.md lists, or leave the constraints out."
        )
    if values.shape != (2,) or not torch.isfinite(values).all() or points.grad is None:
        raise InputError(
            f"{get_acquisition_name(choice)} should give one finite number for each setting, with a gradient; it gave "
            f"{values.detach().tolist()} for two settings. Use 'ei', 'ucb' or a class that docs/asking.md lists."
        )


def _make_dummy_settings(encoded_space: EncodedSpace) -> Float[Tensor, "3 k"]:
    """Three allowed encoded settings: both corners of the space and its middle."""
    low, high = encoded_space.bounds
    X = torch.stack([low, (low + 2 * high) / 3, high])
    for column, values in encoded_space.discrete.items():
        X[1, column] = values[len(values) // 2]
    return X
