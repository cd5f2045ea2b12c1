"""Every method of the comparison by its name: what it makes of the old data, and how it chooses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
from torch import Tensor

from benchmarks.methods.rivals import (
    Difference,
    DifferenceAsStated,
    Envelope,
    EnvelopeAsStated,
    LearntKernel,
    LearntKernelAsStated,
    LeaveOneOut,
    LeaveOneOutAsStated,
    MultiTask,
    RankingEnsemble,
    anisotropic,
    anisotropic_of,
    convex_mixture,
    domain_transfer,
    mixture,
)
from benchmarks.methods.rivals.as_stated import LAMBDAS
from benchmarks.methods.rivals.learnt_kernel import Learnt
from benchmarks.methods.rivals.source import Source
from tunedprior import Optimizer, SearchConfig, TransferConfig
from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.kernels import StationarySquaredExponential
from tunedprior.machines.selection import LEAST_SQUARES_LAMBDAS
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.models.surrogate import Surrogate
from tunedprior.source_data.matching import read_old_data
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.pretraining import pretrain_or_warn
from tunedprior.weight_prior.tuned_prior import TunedPrior

_TARGET = 1024


@dataclass(frozen=True)
class OldData:
    """What a method is given before the first experiment."""

    table: pd.DataFrame
    space: Mapping[str, Any]
    direction: str
    seed: int

    @property
    def source(self) -> Source:
        """As rivals take it."""
        return Source.read(self.table, self.space, self.direction)

    def target(self, source: Source) -> Tensor:
        """Settings of the search space, in the unit cube: for the paper's functions the pool itself."""
        return source.unit(source.box.encode(Space.parse(self.space).sobol(_TARGET, self.seed)))


def _tuned_prior(old: OldData, unit_diagonal: bool = False, as_printed: bool = False, **options: Any) -> Surrogate:
    space = Space.parse(old.space)
    table = read_old_data(old.table, space, direction=old.direction)
    prior = pretrain_or_warn(table, space, seed=old.seed, as_printed=as_printed, **options)
    return StandardSurrogate(Box.enclose(space)) if prior is None else TunedPrior(prior, unit_diagonal, as_printed)


def _whole(old: OldData, **options: Any) -> Optimizer:
    return Optimizer(old.space, old.table, direction=old.direction, seed=old.seed, **options)


def _average(old: OldData) -> Surrogate:
    return _whole(old).surrogate


def _plain(old: OldData) -> Surrogate:
    return Optimizer(old.space, direction=old.direction, seed=0).surrogate


def _anisotropic_as_stated(source: Source) -> Learnt:
    return anisotropic_of(source, source.y, LAMBDAS)


def _mixture_as_stated(source: Source) -> Learnt:
    return convex_mixture(source, LAMBDAS)


def _domain_transfer(old: OldData, source: Source) -> Learnt:
    return domain_transfer(source, old.target(source), source.standardised[:, 0], LEAST_SQUARES_LAMBDAS)


def _domain_transfer_as_stated(old: OldData, source: Source) -> Learnt:
    return domain_transfer(source, old.target(source), source.y, LAMBDAS)


@dataclass(frozen=True)
class Method:
    """A way to model the objective, with an acquisition function.

    Attributes:
        name: As the paper has it, or close to it.
        family: What the model is; two acquisition functions on one model are one family.
        acquisition: `"ei"` or `"ucb"`.
        surrogate: From old data to the model.
        own_start: From old data to an optimiser that chooses its first settings too; None: a campaign begins with those
            that all methods share.
    """

    name: str
    family: str
    acquisition: str
    surrogate: Callable[[OldData], Surrogate]
    own_start: Callable[[OldData], Optimizer] | None = None


_FAMILIES: dict[str, tuple[str | None, str | None, Callable[[OldData], Surrogate]]] = {
    # family: the names with EI and with GP-UCB, and the model
    "leave-one-out GP": ("EI", "GPUCB", lambda old: LeaveOneOut(old.source)),
    "standard GP": (
        "standard-EI",
        "standard-GPUCB",
        lambda old: StandardSurrogate(Box.enclose(Space.parse(old.space))),
    ),
    "ARD": ("ARD-EI", "ARD-GPUCB", lambda old: LearntKernel.learn(old.source, anisotropic)),
    "DT-MKL": ("DT-MKL-EI", "DT-MKL-GPUCB", lambda old: LearntKernel.learn(old.source, mixture)),
    "envGP": ("envEI", "envGPUCB", lambda old: Envelope(old.source)),
    "diffGP": ("diffEI", "diffGPUCB", lambda old: Difference(old.source)),
    "tuned prior": ("TP-EI-BO", "TP-GPUCB-BO", _tuned_prior),
    "average over beliefs": ("average-EI", "average-GPUCB", _average),
    "multi-task GP, free sign": ("MTGP-EI (free sign)", None, lambda old: MultiTask(old.source, free_sign=True)),
    "multi-task GP, BoTorch": ("MTGP-EI (BoTorch)", None, lambda old: MultiTask(old.source, free_sign=False)),
    "RGPE": ("RGPE-EI", None, lambda old: RankingEnsemble(old.source, old.seed)),
}  # fmt: skip

METHODS = {
    name: Method(name, family, acquisition, surrogate)
    for family, (ei, ucb, surrogate) in _FAMILIES.items()
    for name, acquisition in ((ei, "ei"), (ucb, "ucb"))
    if name is not None
}
#: The paper's rivals on the scale that it states, and DT-MKL with its discrepancy on both scales.
STATED, DISCREPANCY = "as stated", "MMD"
_OTHER_RIVALS: list[tuple[str, str, str, Callable[[OldData], Surrogate]]] = [
    ("EI", "GPUCB", STATED, lambda old: LeaveOneOutAsStated(old.source)),
    ("ARD-EI", "ARD-GPUCB", STATED, lambda old: LearntKernelAsStated.learn(old.source, _anisotropic_as_stated)),
    ("DT-MKL-EI", "DT-MKL-GPUCB", STATED, lambda old: LearntKernelAsStated.learn(old.source, _mixture_as_stated)),
    (
        "DT-MKL-EI", "DT-MKL-GPUCB", f"{DISCREPANCY}, {STATED}",
        lambda old: LearntKernelAsStated.learn(old.source, partial(_domain_transfer_as_stated, old)),
    ),
    (
        "DT-MKL-EI", "DT-MKL-GPUCB", DISCREPANCY,
        lambda old: LearntKernel.learn(old.source, partial(_domain_transfer, old)),
    ),
    ("envEI", "envGPUCB", STATED, lambda old: EnvelopeAsStated(old.source)),
    ("diffEI", "diffGPUCB", STATED, lambda old: DifferenceAsStated(old.source)),
]  # fmt: skip
RIVAL_VARIANTS = {
    f"{name} ({what})": Method(f"{name} ({what})", f"{ei}, {what}", METHODS[name].acquisition, surrogate)
    for ei, ucb, what, surrogate in _OTHER_RIVALS
    for name in (ei, ucb)
}
#: The paper's twelve.
OF_THE_PAPER = (
    "EI", "GPUCB", "ARD-EI", "ARD-GPUCB", "DT-MKL-EI", "DT-MKL-GPUCB", "envEI", "envGPUCB", "diffEI", "diffGPUCB",
    "TP-EI-BO", "TP-GPUCB-BO",
)  # fmt: skip
#: What every ratio in the reports is to.
BASELINE = "standard-EI"
#: The rival that predicts flipped data almost perfectly.
RIVAL = "MTGP-EI (free sign)"
#: All rivals that learn from old data and are compared on measured pairs.
RIVALS = (RIVAL, "RGPE-EI", "MTGP-EI (BoTorch)")
#: This project's default.
AVERAGE = "average-EI"
#: Algorithm 1 with one thing changed, and to the letter: what the project's own version of it was chosen among.
TUNED_PRIOR = "TP-EI-BO"
UNCENTRED, AS_PRINTED = "TP-EI-BO (uncentred)", "TP-EI-BO (as printed)"
_NO_FLOOR = {"lam_bounds": (1e-8, 100.0)}
VARIANTS = {
    name: Method(name, "tuned prior", "ei", partial(_tuned_prior, **options))
    for name, options in {
        UNCENTRED: {"centred": False},
        "TP-EI-BO (no floor)": _NO_FLOOR,
        "TP-EI-BO (uncentred, no floor)": {"centred": False} | _NO_FLOOR,
    }.items()
}
#: Algorithm 1 to the letter with either acquisition function: with Table 1's SE, with that at unit diagonal, and with a
#: kernel that the paper does not have, whose features are places.
PRINTED = {
    f"{name} ({what})": Method(f"{name} ({what})", f"tuned prior, {what}", METHODS[name].acquisition, surrogate)
    for name in (TUNED_PRIOR, "TP-GPUCB-BO")
    for what, surrogate in {
        "as printed": partial(_tuned_prior, as_printed=True),
        "as printed, unit diagonal": partial(_tuned_prior, as_printed=True, unit_diagonal=True),
        "as printed, stationary": partial(_tuned_prior, as_printed=True, kernel=StationarySquaredExponential()),
    }.items()
}
#: This project's default as users have it, choosing its first settings too; the same after a Sobol design, and the
#: default where there is no old data.
OWN_START, SOBOL_START, PLAIN = "average-EI (own start)", "average-EI (Sobol start)", "plain-EI"
DEFAULTS = {
    OWN_START: Method(OWN_START, "average over beliefs", "ei", _average, _whole),
    SOBOL_START: Method(
        SOBOL_START, "average over beliefs", "ei", _average, partial(_whole, search=SearchConfig(design="sobol"))
    ),
    PLAIN: Method(PLAIN, "no old data", "ei", _plain),
}
#: The default of `prior="reweighted"`: the same belief, averaged over length-scales and two free kernels.
REWEIGHTED = "reweighted-EI"
AVERAGED = {
    REWEIGHTED: Method(
        REWEIGHTED,
        "tuned prior",
        "ei",
        lambda old: _whole(old, transfer=TransferConfig(ReweightedBelief.name)).surrogate,
    )
}
ALL_METHODS = METHODS | VARIANTS | RIVAL_VARIANTS | PRINTED | DEFAULTS | AVERAGED
