"""The configuration of a campaign: its space, its goals, the transfer from old data, and the search for suggestions."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tunedprior.acquisition.functions import AcquisitionChoice, check_choice
from tunedprior.beliefs import UninformedBelief, list_beliefs
from tunedprior.checks import (
    check_flag,
    check_positive_integer,
    check_seed,
    format_list,
    format_value,
    refuse_other_types,
)
from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals, refuse_names_of_parameters
from tunedprior.kernels import FreeKernel
from tunedprior.kernels.free_kernel import refuse_other_kernels
from tunedprior.machines.feature_ridge import FeatureFit
from tunedprior.models.surrogate import Surrogate
from tunedprior.source_data.matching import OldTable
from tunedprior.space.search_space import Setting, Space
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.sources import UNKNOWN, LoadedSource, OldData

OLD_DATA, SOBOL = DESIGNS = ("old data", "sobol")
#: What a failed run counts as: failures have a model of their own, or count as a little worse than the worst.
LEARNT, WORST = FAILURES = ("learnt", "worst")
#: The cost of a setting, where it is known beforehand.
Cost = Callable[[Setting], float]

AVERAGE, UNINFORMED = "average", UninformedBelief.name
#: The paper's Algorithm 1 to the letter; "reweighted" is the same with the changes that docs/algorithm1.md lists.
AS_PRINTED = "as printed"


def list_prior_names() -> tuple[str, ...]:
    """The names that `TransferConfig(prior=…)` accepts."""
    return (AVERAGE, *(one.name for one in list_beliefs() if one.stands_alone), AS_PRINTED)


@dataclass(frozen=True)
class SourceDescription:
    """Where one old data set is from.

    Attributes:
        name: What the user calls it.
        path: The file it was read from, in full; None if it was no file.
        fingerprint: Of its content; the same for a table and for the file that it is saved as.
        units: The units in the headers of its columns, by name, where these have any.
    """

    name: str
    path: str | None
    fingerprint: str
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TransferConfig:
    """How old data is used.

    Attributes:
        prior: `"average"` averages over many beliefs about how old and new are related, each weighted by its posterior
            probability; `"reweighted"` is the paper's belief, averaged over length-scales and free kernels, and
            `"as printed"` the paper's Algorithm 1 to the letter;
            `"aligned"`, `"matched"` and `"uncertain"` are single beliefs (docs/beliefs.md); `"uninformed"` ignores old
            data.
        kernel: The free kernel that learns from old data; None: squared exponential ones at several length-scales, as
            printed the one of least leave-one-out error.
        ard: Whether one kernel learns for `"reweighted"` (or `"as printed"`), with a length-scale per input. Averages
            always try both.
        relations: What is known of each old data set, by name; `Optimizer(relation=…)` says it.
        sources: Where each old data set is from; found when it is read.
    """

    prior: str = AVERAGE
    kernel: FreeKernel | None = None
    ard: bool = False
    relations: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[SourceDescription, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.prior, str) or self.prior not in list_prior_names():
            raise InputError(f"prior must be one of {', '.join(list_prior_names())}; got {format_value(self.prior)}.")
        if self.kernel is not None:
            refuse_other_kernels(self.kernel)
        object.__setattr__(self, "ard", check_flag(self.ard, "ard"))
        if self.prior != AVERAGE and any(one != UNKNOWN for one in self.relations.values()):
            raise InputError(f"A relation to old data is for prior='average' alone; got prior={self.prior!r}.")


@dataclass(frozen=True)
class SearchConfig:
    """How suggestions are searched for.

    Attributes:
        acquisition: `"ei"` (expected improvement), `"ucb"` (GP-UCB), the name of a registered acquisition function, or
            any BoTorch acquisition class that docs/asking.md lists.
        beta: GP-UCB's schedule: `"brochu"`, `"srinivas"` (finite spaces), `"fixed"` (4), or a number.
        initial: The number of settings that the initial design extends over, before the model alone decides. None: one
            more than there are parameters; with old data one for each set of it, then the design's and the model's in
            turns until there were three of the design. Results recorded before the first suggestion replace them.
        design: What the first settings are: `"old data"`, where old data expects the best if the response runs the same
            way (or as the relation says), then a Sobol design in turns with the model; or `"sobol"`, as without old
            data.
        failures: What a run without a value counts as: `"learnt"`, as a sign that such settings may fail, or `"worst"`,
            as a value a little worse than the worst so far.
        cost: What a setting costs, as a function of it, where that is known beforehand. Then, as when costs are told,
            suggestions are for improvement per unit of cost.
        model: A `Surrogate` (from observations to a BoTorch model) in place of all that is learnt from old data, such
            as `TunedPrior(prior, unit_diagonal=True)` or one of your own.
    """

    acquisition: AcquisitionChoice = "ei"
    beta: str | float = "brochu"
    initial: int | None = None
    design: str = OLD_DATA
    failures: str = LEARNT
    cost: Cost | None = None
    model: Surrogate | None = None

    def __post_init__(self) -> None:
        check_choice(self.acquisition, self.beta)
        if self.design not in DESIGNS:
            raise InputError(
                f"design must be one of {format_list(map(repr, DESIGNS))}; got {format_value(self.design)}."
            )
        if self.failures not in FAILURES:
            raise InputError(
                f"failures must be one of {format_list(map(repr, FAILURES))}; got {format_value(self.failures)}."
            )
        if self.cost is not None and not callable(self.cost):
            raise InputError(f"cost must be a function of a setting; got {type(self.cost).__name__}.")
        if self.initial is not None:
            object.__setattr__(self, "initial", check_positive_integer(self.initial, "initial"))
        if self.model is not None and (not isinstance(self.model, Surrogate) or isinstance(self.model, type)):
            raise InputError(
                "model must be a Surrogate: an object with a box that gives a BoTorch model when it is called with "
                f"observations, such as TunedPrior(prior); got {type(self.model).__name__} {format_value(self.model)}."
            )

    @property
    def composes(self) -> bool:
        """Whether the acquisition function combines models of several responses, of failures and of costs."""
        return self.acquisition == "ei"

    @property
    def learns_failures(self) -> bool:
        """Whether failures have a model of their own."""
        return self.composes and self.failures == LEARNT


@dataclass(frozen=True)
class CampaignConfig:
    """What defines a campaign, apart from its results.

    Attributes:
        space: What may be set.
        goals: What is wanted.
        transfer: How old data is used.
        search: How suggestions are searched for.
        seed: What makes suggestions repeatable.
        id: What tells the campaign from others: sheets of suggestions carry it, and copies of a file share it.
    """

    space: Space
    goals: Goals = field(default_factory=Goals)
    transfer: TransferConfig = field(default_factory=TransferConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    seed: int = 0
    id: str = ""

    def __post_init__(self) -> None:
        refuse_other_types(self.transfer, TransferConfig, "transfer", "a TransferConfig")
        refuse_other_types(self.search, SearchConfig, "search", "a SearchConfig")
        object.__setattr__(self, "seed", check_seed(self.seed))
        refuse_names_of_parameters(self.goals, self.space)
        if self.search.model is not None and self.transfer != TransferConfig():
            raise InputError(
                "Give either a model, or old data with prior, kernel and ard: a model brings what it learnt with it."
            )

    def find_difference(self, other: "CampaignConfig") -> str:
        """What keeps the results of one campaign from being those of the other; empty if nothing does.

        Constraints that are functions, and the preference among objectives, may change.
        """
        if self.space.without_functions != other.space.without_functions:
            return "search space"
        same = (self.goals.objectives, self.goals.requirements) == (other.goals.objectives, other.goals.requirements)
        return "" if same else "responses or goals"

    def describe_sources(
        self, given: Mapping[str, OldData], read: Mapping[str, Mapping[str, LoadedSource]]
    ) -> "CampaignConfig":
        """The configuration with where old data is from: what was passed, and what was read for each response."""
        return replace(self, transfer=replace(self.transfer, sources=describe_sources(given, read)))


def describe_sources(
    given: Mapping[str, OldData], read: Mapping[str, Mapping[str, LoadedSource]]
) -> tuple[SourceDescription, ...]:
    """Describe where old data sets are from, by what was passed and what was read for each response."""
    return tuple(
        SourceDescription(
            name,
            str(Path(data).absolute()) if isinstance(data, str | os.PathLike) else None,
            _hash_old_data([sets[name] for sets in read.values() if name in sets]),
            {
                column: unit
                for sets in read.values()
                if isinstance(one := sets.get(name), OldTable)
                for column, unit in one.units.items()
            },
        )
        for name, data in given.items()
    )


def _hash_old_data(read: Sequence[LoadedSource]) -> str:
    """Compute the digest of an old data set over all responses that it has."""
    each = [one.fingerprint if isinstance(one, OldTable) else _hash_weight_prior(one) for one in read]
    return each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()


def _hash_weight_prior(prior: WeightPrior) -> str:
    arrays = {"anchors": prior.anchors, "alpha": prior.alpha}
    arrays |= prior.fit.to_arrays() if isinstance(prior.fit, FeatureFit) else {}
    axes = [asdict(axis) for axis in prior.box.axes]
    plain = (type(prior.base).__name__, prior.lam, prior.reach, prior.response_shift, prior.response_scale, axes)
    found = hashlib.sha256(repr(plain).encode())
    for name, array in sorted(arrays.items()):  # the kernel's own change in the last digit when they are stored
        found.update(name.encode() + array.detach().cpu().numpy().tobytes())
    return found.hexdigest()
