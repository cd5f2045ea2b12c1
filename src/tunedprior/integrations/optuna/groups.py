"""Search spaces that are found while a study runs: parameters in groups that always come together."""

from collections.abc import Iterable, Mapping, Sequence

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

Distributions = Mapping[str, BaseDistribution]
# Where nothing but so many failures is known, what they asked for is all that is asked for.
_ENOUGH_FAILURES = 3


def get_latest_distributions(trials: Sequence[FrozenTrial], given: Distributions) -> dict[str, BaseDistribution]:
    """For each parameter, its distribution in the last trial that has it: ranges may change from trial to trial."""
    found: dict[str, BaseDistribution] = {}
    for trial in reversed(trials):
        for name, distribution in trial.distributions.items():
            found.setdefault(name, distribution)
    return {**given, **found}


def group_parameters(trials: Sequence[FrozenTrial], given: Distributions) -> list[tuple[str, ...]]:
    """The coarsest groups of parameters of which every trial has all or none, each in the order of the alphabet.

    In a space with branches, what is common to all branches is one group, and what belongs to one of them is another.

    A trial that failed may have stopped before it asked for everything, so it only tells of parameters that no other
    has, and of these it tells nothing if another that failed had more. Where several failed and nothing else is known,
    what they had is a group of its own among what is given.
    """
    sets = {False: set[frozenset[str]](), True: set[frozenset[str]]()}
    for trial in trials:
        sets[trial.state == TrialState.FAIL].add(frozenset(trial.distributions))
    known = {*sets[False], frozenset(given)}
    nothing_else = not sets[False] and len(trials) >= _ENOUGH_FAILURES
    failed = {names.difference(*(sets[False] if nothing_else else known)) for names in sets[True]}
    longest = [names for names in failed if not any(names < other for other in failed)]
    return find_coarsest_partition([*known, *longest])


def find_coarsest_partition(sets: Iterable[frozenset[str]]) -> list[tuple[str, ...]]:
    """The coarsest partition of which each set is a union of parts.

    >>> find_coarsest_partition([frozenset("xy"), frozenset("xz")])
    [('x',), ('y',), ('z',)]
    """
    parts: list[frozenset[str]] = []
    for names in sets:
        rest = names.difference(*parts)
        parts = [part for old in parts for part in (old & names, old - names) if part] + ([rest] if rest else [])
    return sorted(tuple(sorted(part)) for part in parts)
