"""What the study of goals runs: every campaign of it, in two sizes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.problems.constrained import CONSTRAINED
from benchmarks.problems.several_responses import FUNCTIONS, POOLS
from benchmarks.problems.simplex import MIXTURES

#: This project's default with old data of each response, and without any.
OURS, ALONE = "ours", "ours (no old data)"
#: BoTorch's and Optuna's.
HYPERVOLUME, SAMPLER = "qLogNEHVI", "GPSampler"
#: Ours on mixtures: any of them, or those that were measured.
ANY_MIXTURE, MEASURED_MIXTURE = "any mixture", "measured mixtures"
#: Ours on fibres: told the length and what it should be, or the squared distance.
TARGETED, SQUARED = "target value", "squared by hand"
METHODS = (OURS, ALONE, HYPERVOLUME, SAMPLER, ANY_MIXTURE, MEASURED_MIXTURE, TARGETED, SQUARED)
#: Test functions that are measured with noise, a share of their range.
NOISY = ("Hölder table", "Styblinski-Tang", "Ackley (shifted)", "Himmelblau", "Hartmann-3")
FIBRE = "fibre"


@dataclass(frozen=True)
class GoalJob:
    """A campaign of so many trials, the first settings among them."""

    problem: str
    method: str
    seed: int
    trials: int


@dataclass(frozen=True)
class NoisyJob:
    """A campaign on a test function whose response has noise, a standard deviation as a share of its range."""

    problem: str
    method: str
    seed: int
    trials: int
    noise: float


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        functions: With two responses.
        pools: With two measured responses.
        constrained: Problems with constraints.
        mixtures: Measured pairs of mixtures.
        noisy: Functions measured with noise.
        seeds: Of all campaigns.
        trials: In all, of campaigns after fronts, requirements, mixtures and fibres.
        noisy_trials: In all, of campaigns with noise.
        noises: Under which a setting is recommended.
        slight_noise: Under which the rest that can be gained is bounded.
    """

    functions: tuple[str, ...]
    pools: tuple[str, ...]
    constrained: tuple[str, ...]
    mixtures: tuple[str, ...]
    noisy: tuple[str, ...]
    seeds: range
    trials: int
    noisy_trials: int
    noises: tuple[float, ...]
    slight_noise: float


# The prior's numbers were chosen on seeds below 10, and other studies begin at 100; these chose nothing.
FULL = Size(
    functions=FUNCTIONS,
    pools=POOLS,
    constrained=tuple(CONSTRAINED),
    mixtures=MIXTURES,
    noisy=NOISY,
    seeds=range(300, 320),
    trials=40,
    noisy_trials=30,
    noises=(0.1, 0.2),
    slight_noise=0.01,
)
SMOKE = replace(
    FULL,
    functions=("Branin-Currin",),
    pools=("laser graphene",),
    constrained=("Gardner 1",),
    mixtures=("photo_nodup",),
    noisy=("Styblinski-Tang",),
    seeds=range(300, 301),
    trials=7,
    noisy_trials=6,
    noises=(0.1,),
)


def hypervolume_jobs(size: Size, with_pools: bool) -> list[GoalJob]:
    """Fronts of functions, and of measured pools where there are any."""
    problems = (*size.functions, *(size.pools if with_pools else ()))
    return _goals(size, problems, (HYPERVOLUME, OURS, ALONE))


def constrained_jobs(size: Size) -> list[GoalJob]:
    """The least response that meets requirements."""
    return _goals(size, size.constrained, (SAMPLER, OURS, ALONE))


def mixture_jobs(size: Size) -> list[GoalJob]:
    """Mixtures, any or measured ones."""
    return _goals(size, size.mixtures, (MEASURED_MIXTURE, ANY_MIXTURE))


def fibre_jobs(size: Size) -> list[GoalJob]:
    """Fibres of the wanted length."""
    return _goals(size, (FIBRE,), (SQUARED, TARGETED))


def recommend_jobs(size: Size) -> list[NoisyJob]:
    """Campaigns with much noise, at whose end a setting is recommended."""
    return [
        NoisyJob(problem, ALONE, seed, size.noisy_trials, noise)
        for problem in size.noisy
        for noise in size.noises
        for seed in size.seeds
    ]


def remaining_jobs(size: Size) -> list[NoisyJob]:
    """Campaigns with little noise, in which the rest that can be gained is bounded after each result."""
    return [
        NoisyJob(problem, ALONE, seed, size.noisy_trials, size.slight_noise)
        for problem in size.noisy
        for seed in size.seeds
    ]


def _goals(size: Size, problems: Sequence[str], methods: Sequence[str]) -> list[GoalJob]:
    return [
        GoalJob(problem, method, seed, size.trials) for problem in problems for method in methods for seed in size.seeds
    ]
