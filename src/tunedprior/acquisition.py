"""What makes a setting worth trying: expected improvement, an upper confidence bound, or any BoTorch acquisition."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement, UpperConfidenceBound
from botorch.models.model import Model
from botorch.sampling import SobolQMCNormalSampler
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.validation import positive

_DELTA = 0.1  # the confidence bounds hold with probability 1 - δ
_MC_SAMPLES = 256
_FIXED = 4.0


@dataclass(frozen=True)
class Situation:
    """What an acquisition may need to know besides the model.

    Attributes:
        best: The best observed response (larger is better).
        codes: Settings observed so far.
        step: t, counted from 1: one more than the observations so far.
        num_inputs: How many parameters there are.
        num_choices: How many settings there are to choose from; None for a continuum.
        seed: For acquisitions that sample.
    """

    best: float
    codes: Float[Tensor, "n k"]
    step: int
    num_inputs: int
    num_choices: int | None
    seed: int


AcquisitionChoice = str | Callable[..., AcquisitionFunction]


def confidence_width(schedule: str | float, situation: Situation) -> float:
    """β_t of GP-UCB, a_t = m + √β_t σ.

    `"brochu"`: 2 log(t^{d/2+2} π²/(3δ)), for a continuum (Brochu et al. 2010).
    `"srinivas"`: 2 log(|X| t² π²/(6δ)), for finitely many settings (Srinivas et al. 2010, Theorem 1).
    `"fixed"`: 4, always, two standard deviations. A number: that number, always.
    """
    t = situation.step
    if schedule == "brochu":
        return 2 * ((situation.num_inputs / 2 + 2) * log(t) + log(pi**2 / (3 * _DELTA)))
    if schedule == "srinivas":
        if situation.num_choices is None:
            raise InputError(
                "beta='srinivas' counts the settings, and this space is continuous. "
                "Use beta='brochu', or ask(candidates=…)."
            )
        return 2 * log(situation.num_choices * t**2 * pi**2 / (6 * _DELTA))
    return _FIXED if schedule == "fixed" else float(schedule)


def check_choice(choice: AcquisitionChoice, beta: str | float) -> None:
    """Refuse what `make_acquisition` would, before an experiment is spent."""
    if isinstance(choice, str) and choice not in ("ei", "ucb"):
        raise InputError(f"acquisition must be 'ei', 'ucb' or a BoTorch acquisition class; got {choice!r}.")
    if not callable(choice) and not isinstance(choice, str):
        raise InputError(f"acquisition must be 'ei', 'ucb' or a BoTorch acquisition class; got {choice!r}.")
    if isinstance(beta, str) and beta not in ("brochu", "srinivas", "fixed"):
        raise InputError(f"beta must be 'brochu', 'srinivas', 'fixed' or a number above 0; got {beta!r}.")
    if not isinstance(beta, str):
        positive(beta, "beta")
    if callable(choice):
        _lacking(choice)


def make_acquisition(
    choice: AcquisitionChoice, model: Model, situation: Situation, beta: str | float
) -> AcquisitionFunction:
    """The acquisition function on a fitted model of a response to be maximised."""
    if choice == "ei":
        return LogExpectedImprovement(model, best_f=situation.best)
    if choice == "ucb":
        return UpperConfidenceBound(model, beta=confidence_width(beta, situation))
    assert callable(choice)  # check_choice saw to it
    return _custom(choice, model, situation, beta)


def _custom(
    choice: Callable[..., AcquisitionFunction], model: Model, situation: Situation, beta: str | float
) -> AcquisitionFunction:
    """Give a class the arguments it names, of those that can be known here."""
    known: dict[str, Callable[[], Any]] = {
        "model": lambda: model,
        "best_f": lambda: situation.best,
        "beta": lambda: confidence_width(beta, situation),
        "X_baseline": lambda: situation.codes,
        "sampler": lambda: SobolQMCNormalSampler(torch.Size([_MC_SAMPLES]), seed=situation.seed),
    }
    given = getattr(choice, "keywords", {})  # functools.partial: what the user fixed stays fixed
    names = [name for name in inspect.signature(choice).parameters if name in known and name not in given]
    return choice(**{name: known[name]() for name in names})


_KNOWN = ("model", "best_f", "beta", "X_baseline", "sampler")


def _lacking(choice: Callable[..., AcquisitionFunction]) -> None:
    """Refuse a class that needs what cannot be known here."""
    lacking = [
        p.name
        for p in inspect.signature(choice).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in _KNOWN
    ]
    if lacking:
        name = getattr(choice, "__name__", repr(choice))
        raise InputError(
            f"{name} needs {', '.join(lacking)}, which only you can give. "
            f"Pass functools.partial({name}, {lacking[0]}=…)."
        )
