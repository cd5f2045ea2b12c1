"""How suggestions are searched for: everything of a campaign's search that is neither its space nor its goals."""

from collections.abc import Callable
from dataclasses import dataclass

from tunedprior.acquisition.functions import AcquisitionChoice, check_choice
from tunedprior.checks import check_positive_integer, format_list, format_value
from tunedprior.errors import InputError
from tunedprior.space.search_space import Setting

OLD_DATA, SOBOL = DESIGNS = ("old data", "sobol")
#: What a failed run counts as: failures have a model of their own, or count as a little worse than the worst.
LEARNT, WORST = FAILURES = ("learnt", "worst")
#: The cost of a setting, where it is known beforehand.
Cost = Callable[[Setting], float]


@dataclass(frozen=True)
class SearchConfig:
    """How suggestions are searched for.

    Attributes:
        acquisition: `"ei"` (expected improvement), `"ucb"` (GP-UCB), the name of a registered acquisition function, or
            any BoTorch acquisition class that docs/asking.md lists.
        beta: GP-UCB's schedule: `"brochu"`, `"srinivas"` (finite spaces), `"fixed"` (4), or a number.
        initial: The number of settings that the initial design extends over, before the model alone decides. None: one
            more than there are parameters; with old data one for each set of it, then the design's and the model's in
            turns until there were three of the design.
        design: What the first settings are: `"old data"`, where old data expects the best, then a Sobol design in turns
            with the model; or `"sobol"`, as without old data.
        failures: What a run without a value counts as: `"learnt"`, as a sign that such settings may fail, or `"worst"`,
            as a value a little worse than the worst so far.
        cost: What a setting costs, as a function of it, where that is known beforehand. Then, as when costs are told,
            suggestions are for improvement per unit of cost.
    """

    acquisition: AcquisitionChoice = "ei"
    beta: str | float = "brochu"
    initial: int | None = None
    design: str = OLD_DATA
    failures: str = LEARNT
    cost: Cost | None = None

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

    @property
    def composes(self) -> bool:
        """Whether the acquisition function combines models of several responses, of failures and of costs."""
        return self.acquisition == "ei"

    @property
    def learns_failures(self) -> bool:
        """Whether failures have a model of their own."""
        return self.composes and self.failures == LEARNT
