"""What tests begin with: spaces, responses, old data, and optimisers and averages that were told something."""

import math
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import torch
from optuna.distributions import FloatDistribution, IntDistribution

from support.cases import number, table
from tunedprior import Optimizer
from tunedprior.beliefs import AlignedKernel, FixedReweightedKernel, MatchedKernel, UncertainKernel
from tunedprior.goals.goals import Goals
from tunedprior.goals.observations import Observations
from tunedprior.kernels import FreeKernel, SquaredExponential
from tunedprior.kernels.anchors import FixedKernel
from tunedprior.model_averaging.average import Average
from tunedprior.model_averaging.source_fits import fit_sources
from tunedprior.model_averaging.weighing import WeightedHypotheses
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space
from tunedprior.weight_prior.sources import SourceData, name_sources, read_sources

Response = Callable[[Setting], float]

# -- numbers -------------------------------------------------------------------------------------------


def vector(values: list) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def normal(count: int, seed: int = 5) -> torch.Tensor:
    """Standard normal numbers, such as coefficients α of either sign."""
    return torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def standardised(y: torch.Tensor) -> torch.Tensor:
    return (y - y.mean()) / (y.std(correction=0) if len(y) > 1 else 1.0)


def corners(num_inputs: int) -> torch.Tensor:
    """Of the box [-1, 1]^d."""
    return torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * num_inputs).double().reshape(-1, num_inputs)


# -- spaces, and responses over them -------------------------------------------------------------------

#: Two numbers on different scales.
SPACE = {"a": (-1.0, 1.0), "b": (0.0, 5.0)}
MIXED = {
    "x": (0.0, 1.0),
    "rate": FloatDistribution(1e-3, 1.0, log=True),
    "layers": IntDistribution(1, 7, step=2),
    "speed": [98, 63, 48],
    "gas": ["air", "argon", "helium"],
}
#: Six settings in all.
SMALL = {"speed": [98, 63, 48], "gas": ["air", "argon"]}


def box_of(space: dict) -> Box:
    return Box.enclose(Space.parse(space))


def smooth(setting: Setting) -> float:
    """Over SPACE."""
    x, z = setting["a"], setting["b"] / 2.5 - 1
    return math.sin(3 * x + 0.5) * math.cos(2 * z) + 0.5 * z


def flipped(setting: Setting) -> float:
    """`smooth`, upside down."""
    return -smooth(setting)


def unrelated(setting: Setting) -> float:
    """Over SPACE, and nothing like `smooth`."""
    x, z = setting["a"], setting["b"] / 2.5 - 1
    return math.cos(4 * x * z - 1) + x * x * z


def bowl(setting: Setting) -> float:
    """Over SPACE, with its least value at a = 0.3, b = 3."""
    return (setting["a"] - 0.3) ** 2 + (setting["b"] / 5 - 0.6) ** 2


def mixed(setting: Setting) -> float:
    """Over SPACE, MIXED and SMALL: smooth in whatever is numeric, with a bonus for some categories."""
    bonus = {"air": 0.2, "argon": 0.9, "helium": 0.5}
    spans = {"a": 1.0, "b": 5.0, "x": 1.0, "rate": 1.0, "layers": 7.0, "speed": 98.0}
    numbers = [bonus.get(value, 0.0) if name == "gas" else value / spans[name] for name, value in setting.items()]
    return math.sin(2 * numbers[0]) + sum(numbers[1:]) + numbers[0] * numbers[-1]


@cache
def scaled(response: Response, factor: float, offset: float = 0.0) -> Response:
    """offset + factor·response; the same function each time, so that what is learnt from it is learnt once."""
    return lambda setting: offset + factor * response(setting)


# -- old data, and what is told ------------------------------------------------------------------------


def old_data(response: Response = smooth, rows: int = 30, space: dict = SPACE, seed: int = 99) -> pd.DataFrame:
    """Settings all over the space, and the response at each."""
    settings = Space.parse(space).sobol(rows, seed=seed)
    return pd.DataFrame(settings).assign(y=[response(setting) for setting in settings])


def noise_data(rows: int = 30) -> pd.DataFrame:
    """Old data of SPACE in which there is nothing to learn."""
    return old_data(rows=rows).assign(y=np.random.default_rng(0).standard_normal(rows))


def told(opt: Optimizer, count: int, response: Response = smooth, seed: int = 5) -> Optimizer:
    """The optimiser, after results at settings that it did not ask for."""
    for setting in opt.space.sobol(count, seed=seed):
        opt.tell(setting, response(setting))
    return opt


def told_what_it_asked(opt: Optimizer, count: int, response: Response = smooth) -> Optimizer:
    """The optimiser, after results at the settings of one batch."""
    for setting in opt.ask(n=count):
        opt.tell(setting, response(setting))
    return opt


def observations_of(opt: Optimizer) -> Observations:
    """What an optimiser was told, as its model sees it."""
    return opt.suggester.objective.make_observations(opt.trials.told, opt.surrogate.box)


def observed(count: int, response: Response = smooth, seed: int = 5, noise_std: float | None = None) -> Observations:
    """Standardised responses at settings of SPACE."""
    settings = Space.parse(SPACE).sobol(count, seed=seed)
    y = standardised(vector([response(setting) for setting in settings]))
    return Observations(box_of(SPACE).encode(settings), y[:, None], noise_std)


def _learnt(tables) -> tuple[Box, tuple[SourceData, ...]]:
    space = Space.parse(SPACE)
    return fit_sources(read_sources(name_sources(tables), space, Goals())["y"], space, 0)


@cache
def _learnt_from(responses: tuple[Response, ...], rows: int) -> tuple[Box, tuple[SourceData, ...]]:
    tables = [old_data(response, rows) for response in responses]
    return _learnt(tables if len(tables) > 1 else tables[0])


def average_over(*responses: Response, rows: int = 20, **options) -> Average:
    """What an Optimizer makes of `old_data(response, rows)`, of one response or of several; `smooth` if none is given.

    It is learnt once for all tests, as it is a value.
    """
    return Average(*_learnt_from(responses or (smooth,), rows), **options)


def average_of(*tables: pd.DataFrame, **options) -> Average:
    """Over beliefs about these old data sets, which are called "old data 1", …"""
    return Average(*_learnt(list(tables)), **options)


def weighed_after(average: Average, observations: Observations) -> WeightedHypotheses:
    """Its hypotheses, after these observations."""
    return average.weigh(observations)[0]


def weighed_beforehand(average: Average) -> WeightedHypotheses:
    """Its hypotheses, before any."""
    return WeightedHypotheses.from_prior_probabilities(average.hypotheses)


def probabilities(weighed: WeightedHypotheses) -> Counter[tuple[str, str]]:
    """Of each belief, by old data set and belief."""
    found: Counter[tuple[str, str]] = Counter()
    for label, weight in zip(weighed.hypotheses.labels, weighed.weights.tolist(), strict=True):
        found[label.old, label.belief] += weight
    return found


def assert_allowed(space: dict, setting: Setting) -> None:
    """Decided without the package."""
    assert list(setting) == list(space)
    for name, value in setting.items():
        match space[name]:
            case (low, high):
                assert low <= value <= high
            case list() as values:
                assert value in values
            case IntDistribution() as grid:
                assert isinstance(value, int)
                assert value in range(grid.low, grid.high + 1, grid.step)
            case FloatDistribution() as interval:
                assert interval.low <= value <= interval.high
        assert isinstance(value, str) or math.isfinite(value)


# -- old data of a plant: other scales, and any number of rows -----------------------------------------

PLANT = {"a": (0.0, 10.0), "b": (0.0, 1.0)}


def ripple(x: torch.Tensor) -> torch.Tensor:
    """A smooth function of two inputs in [-1, 1]."""
    return (3 * x[:, 0] + 0.5).sin() * (2 * x[:, 1]).cos() + x[:, 1] / 2


def rows_of_ripple(count: int, noise: float = 0.1) -> tuple[torch.Tensor, torch.Tensor]:
    """Points in [-1, 1], and what was measured there."""
    x = table(count, 2, seed=3, low=-1, high=1)
    return x, ripple(x) + noise * table(count, seed=4)


def settings_of_plant(x: torch.Tensor) -> pd.DataFrame:
    """Points in [-1, 1] as settings of PLANT."""
    points = x.numpy()
    return pd.DataFrame({"a": 5 * (points[:, 0] + 1), "b": (points[:, 1] + 1) / 2})


def plant_data(count: int = 20, noise: float = 0.0) -> pd.DataFrame:
    """Rows of `ripple` in other units."""
    x, y = rows_of_ripple(count, noise)
    return settings_of_plant(x).assign(y=(7 + 2 * y).numpy())


# -- beliefs -------------------------------------------------------------------------------------------

LAM = 0.05
#: Beliefs that are kernels, by their names.
KERNEL_BELIEFS = ("reweighted", "matched", "uncertain", "aligned")


def response_at(points: torch.Tensor) -> torch.Tensor:
    """What `learnt` learns, for any number of inputs."""
    return (3 * points[:, 0]).sin() + points[:, 1:].prod(-1) + points.square().sum(-1) / 2


def learnt(base: FreeKernel, count: int, num_inputs: int, lam: float = LAM) -> tuple[torch.Tensor, torch.Tensor]:
    """Anchors, and their least-squares α."""
    anchors = table(count, num_inputs, seed=1, low=-1, high=1)
    gram = base.evaluate_m_kernel(anchors, anchors).detach()
    return anchors, torch.linalg.solve(gram + lam * torch.eye(count), response_at(anchors))


def belief_kernel(
    name: str, base: FreeKernel, anchors: torch.Tensor, alpha: torch.Tensor, lam: float = LAM, **options
) -> FixedKernel:
    """The kernel of the belief of this name."""
    if name in ("reweighted", "matched"):
        return {"reweighted": FixedReweightedKernel, "matched": MatchedKernel}[name](base, anchors, alpha, **options)
    return {"uncertain": UncertainKernel, "aligned": AlignedKernel}[name](base, anchors, alpha, lam, **options)


def learnt_belief(name: str, num_inputs: int = 2, lengthscale: float = 0.7, **options) -> FixedKernel:
    """That of six old settings, with a squared exponential kernel."""
    base = SquaredExponential(number(lengthscale))
    return belief_kernel(name, base, *learnt(base, 6, num_inputs), **options)
