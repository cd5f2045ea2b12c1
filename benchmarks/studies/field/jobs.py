"""What the comparison runs: every contest, every peer, and how many seeds of each."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from benchmarks.peers.by_name import ALL_PEERS
from benchmarks.problems.kinds import FLIPPED
from benchmarks.problems.pairs import MEASURED, PAIRS, ROWS
from benchmarks.problems.tuning import TUNING, TUNING_SEVERAL

#: What `old` is where a contest has several old data sets.
SEVERAL = "several"
#: Pairs of one target, whose sources are old data together; the first gives the pool.
TOGETHER = {
    "lig_PI_GOQ": ("lig_PI_GOQ", "lig_GOPI_GOQ"),
    "storm_c1_c3_lat": ("storm_c1_c3_lat", "storm_c1thr_c3lat_flip"),
    "liquid_toluene_dce": ("liquid_toluene_dce", "liquid_water_dce"),
    "reizman_3_4": ("reizman_3_4", "reizman_1_4"),
}
#: The same of models that are tuned: the data sets that old scores are of.
TUNED_TOGETHER = {f"{model} on {target}": sources for model, target, sources in TUNING_SEVERAL}
#: Pairs with a thousand old rows, or nearly.
LONG = ("storm_c1_c3_lat", "gpuconv_A100_MI250X", "oer_3496_3851", "gpudedisp_A100_A4000", "taskset_vrnn_gru")
FEW, MANY = 20, 1000
FAMILY_FUNCTIONS = ("Branin", "Hartmann-3", "Hartmann-6")
FAMILY_KINDS = ("same", FLIPPED, "shifted", "binary labels", "another function", "pure noise")
NOISY_KINDS = ("same", FLIPPED, "pure noise")
#: Standard deviation of the noise, of functions whose range is 1.
NOISE = 0.1
TRIALS = 20


@dataclass(frozen=True)
class Contest:
    """Something to optimise, with old data.

    Attributes:
        part: Which part of the comparison it belongs to.
        problem: A pair, a function, or a model and a data set.
        old: What old data is.
        rows: How many rows of it, of each set.
        noise: Standard deviation of what is added to a response.
    """

    part: str
    problem: str
    old: str
    rows: int = ROWS
    noise: float = 0.0


@dataclass(frozen=True)
class FieldJob:
    """A campaign of one peer; without old data, `old` is None and `rows` 0: it counts for every kind of old data."""

    problem: str
    old: str | None  # None is what an empty cell of stored results is read as
    rows: int
    noise: float
    peer: str
    seed: int
    trials: int


#: The parts, as the tables have them; those on measured pairs need the folder of these.
ON_PAIRS, SEVERAL_SETS, BY_ROWS, FAMILIES, TUNED, NOISY = "pairs", "several", "rows", "families", "tuning", "noise"
CONTESTS = (
    *(Contest(ON_PAIRS, name, MEASURED) for name in PAIRS),
    *(Contest(TUNED, f"{model} on {target}", source) for model, target, source in TUNING),
    *(Contest(FAMILIES, name, kind) for name in FAMILY_FUNCTIONS for kind in FAMILY_KINDS),
    *(Contest(NOISY, name, kind, noise=NOISE) for name in FAMILY_FUNCTIONS[:2] for kind in NOISY_KINDS),
    *(Contest(SEVERAL_SETS, name, SEVERAL) for name in (*TOGETHER, *TUNED_TOGETHER)),
    *(Contest(BY_ROWS, name, MEASURED, rows) for name in LONG for rows in (FEW, MANY)),
)
#: Where the cost of a suggestion is measured: a pool with categories, and a box of six numbers.
COST = tuple(
    one
    for one in CONTESTS
    if (one.part, one.problem, one.old)
    in {
        (ON_PAIRS, "lig_PI_GOPI", MEASURED),
        (FAMILIES, "Hartmann-6", FLIPPED),
    }
)
NEED_PAIRS = {ON_PAIRS, SEVERAL_SETS, BY_ROWS}
#: Where peers whose campaigns take minutes meet the others: pairs of six families, the first four of which chose no
#: number of the prior, and the tuning tasks whose old scores are the most and the least related to the new ones.
_FOR_SLOW_PEERS = {
    (ON_PAIRS, "lig_PI_GOQ", MEASURED),
    (ON_PAIRS, "liquid_toluene_dce", MEASURED),
    (ON_PAIRS, "oer_3496_3851", MEASURED),
    (ON_PAIRS, "reizman_3_4", MEASURED),
    (ON_PAIRS, "storm_c1thr_c3lat_flip", MEASURED),
    (ON_PAIRS, "gpuconv_A100_MI250X", MEASURED),
    (TUNED, "perceptron on breast_cancer", "wine"),
    (TUNED, "boosting on diabetes", "wine"),
}


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        contests: Where peers meet.
        cost: Where seconds and memory are measured.
        seeds: Of each contest.
        cost_seeds: Of those where seconds and memory are measured.
        trials: Of each campaign.
        cost_trials: Of those whose seconds and memory are measured.
        spares_slow: Whether slow peers take part in families of functions alone, without their cost.
    """

    contests: tuple[Contest, ...]
    cost: tuple[Contest, ...]
    seeds: range
    cost_seeds: range
    trials: int
    cost_trials: int
    spares_slow: bool = False

    def contests_of(self, peer: str) -> tuple[Contest, ...]:
        """Where a peer meets the others."""
        only = FAMILIES if self._spared(peer) else ON_PAIRS if ALL_PEERS[peer].control else None
        return tuple(one for one in self.contests if only in (None, one.part))

    def cost_of(self, peer: str) -> tuple[Contest, ...]:
        """Where its seconds and memory are measured."""
        return () if self._spared(peer) or ALL_PEERS[peer].control else self.cost

    def _spared(self, peer: str) -> bool:
        return self.spares_slow and ALL_PEERS[peer].slow


# Numbers of the prior were chosen on seeds below 10, and 100 to 119 were looked at; these chose nothing.
FULL = Size(CONTESTS, COST, range(300, 320), range(300, 301), TRIALS, 10)
# The first contest of each part, and just enough trials for every peer to choose a setting.
SMOKE = replace(
    FULL,
    contests=tuple({one.part: one for one in reversed(CONTESTS)}.values()),
    cost=COST[-1:],
    seeds=range(300, 301),
    trials=4,
    cost_trials=4,
    spares_slow=True,
)
# What slow peers have time for: a part of `FULL`, so that runs count for both.
SLOW = replace(
    FULL,
    contests=tuple(one for one in CONTESTS if (one.part, one.problem, one.old) in _FOR_SLOW_PEERS),
    cost=(),
    seeds=FULL.seeds[:8],
)


def jobs_of(contests: Iterable[Contest], peer: str, seeds: Iterable[int], trials: int) -> list[FieldJob]:
    """A peer's campaigns, each once: without old data, contests that differ in that alone are one."""
    return list(dict.fromkeys(job_of(contest, peer, seed, trials) for seed in seeds for contest in contests))


def job_of(contest: Contest, peer: str, seed: int, trials: int) -> FieldJob:
    """A peer's campaign in a contest."""
    old, rows = (contest.old, contest.rows) if ALL_PEERS[peer].uses_old else (None, 0)
    return FieldJob(contest.problem, old, rows, contest.noise, peer, seed, trials)
