"""The measurements of `speed` that need no GPU: each gives rows of seconds, with what they were measured on."""

import cProfile
import multiprocessing
import pstats
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import optuna
import pandas as pd
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import MultiTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.functions import MORE_FUNCTIONS, Function, styblinski_tang
from benchmarks.old_data import old_data
from tunedprior import Optimizer, WeightPrior, pretrain
from tunedprior.kernels import ReweightedBelief

Row = dict[str, object]

SEED = 100
OLD_ROWS = 200
#: One function for each number of inputs.
BY_INPUTS = {
    2: MORE_FUNCTIONS["Branin"],
    3: MORE_FUNCTIONS["Hartmann-3"],
    4: styblinski_tang(4),
    5: styblinski_tang(5),
    6: MORE_FUNCTIONS["Hartmann-6"],
}
_NOISE = 0.02


def seconds(run: Callable[[], object]) -> float:
    """How long it takes, once."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def in_turns(sides: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Every side's times, the sides taking turns so that a busy machine is busy for all of them."""
    for run in sides.values():
        run()  # once to warm up
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            times[name].append(seconds(run))
    return times


# -- kernel entries ---------------------------------------------------------------------------------------


def entries(smoke: bool) -> list[Row]:
    """One entry of the paper's kernel: explicit features against the sum over pairs of 200 old settings."""
    rows = []
    for num_inputs, function in BY_INPUTS.items():
        if smoke and num_inputs > 2:
            break
        prior = pretrain(old_data("noisy flip", function, SEED, 30 if smoke else OLD_ROWS), function.space)
        rows.append({"function": function.name} | _entries(prior.base, prior.anchors, prior.alpha))
    return rows


def _entries(base: torch.nn.Module, anchors: torch.Tensor, alpha: torch.Tensor) -> Row:
    num_inputs, random = anchors.shape[1], torch.Generator().manual_seed(SEED)
    left, right = (2 * torch.rand(n, num_inputs, generator=random, dtype=torch.float64) - 1 for n in (50, 1024))
    made = time.perf_counter()
    features = ReweightedBelief(base, anchors, alpha)
    made = time.perf_counter() - made
    exact = ReweightedBelief(base, anchors, alpha, by_features=False)
    some = left[:10], right[:100]  # the exact sum of the whole block would take minutes
    with torch.no_grad():
        sides = {"features": partial(features.forward, left, right), "exact": partial(exact.forward, *some)}
        times = in_turns(sides, 5)
        value, expected = features.forward(*some), exact.forward(*some)
        variances = [exact.forward(x, x, diag=True) for x in some]
    each = [b / expected.numel() / (a / (len(left) * len(right))) for a, b in zip(*times.values(), strict=True)]
    return {
        "inputs": num_inputs,
        "lengthscale": float(base.lengthscale.detach().mean()),
        "by_features": features.by_features,
        "features": features.num_features,
        "search": made,
        "entry": median(times["features"]) / (len(left) * len(right)),
        "exact_entry": median(times["exact"]) / expected.numel(),
        "faster": median(each),
        "faster_least": min(each),
        "error": float((value - expected).abs().max() / expected.abs().max()),
        "error_in_deviations": float(((value - expected).abs() / torch.outer(*variances).sqrt()).max()),
    }


# -- suggestions ------------------------------------------------------------------------------------------


def suggestions(smoke: bool) -> list[Row]:
    """One suggestion: the default prior, Optuna's GPSampler and BoTorch's MultiTaskGP, on the same records."""
    function, count = (BY_INPUTS[2], 8) if smoke else (BY_INPUTS[5], 50)
    rows = []
    for seed in range(SEED, SEED + (1 if smoke else 5)):
        old = old_data("noisy flip", function, seed, 20 if smoke else OLD_ROWS)
        told = observations(function, count + 1, seed)
        rivals = {
            "tunedprior": campaign(function, told, old=old, seed=seed),
            "GPSampler": _optuna(function, told, seed),
            "MultiTaskGP": _multi_task(told, old),
        }
        rows.append(
            {"seed": seed, "inputs": function.num_inputs, "observations": count, "old": len(old)}
            | {name: seconds(step) for name, step in rivals.items()}
        )
    return rows


def observations(function: Function, count: int, seed: int) -> list[tuple[dict[str, float], float]]:
    """Random settings and what came of them, with some noise."""
    random = np.random.default_rng(seed)
    points = random.uniform(-1, 1, (count, function.num_inputs))
    responses = function(points) + _NOISE * random.standard_normal(count)
    return [
        (dict(zip(function.space, map(float, point), strict=True)), float(response))
        for point, response in zip(points, responses, strict=True)
    ]


def campaign(function: Function, told: list, old: pd.DataFrame | None = None, **options: Any) -> Callable[[], object]:
    """An optimiser in the midst of a campaign; what it returns tells the last result and asks for the next setting."""
    optimizer = Optimizer(function.space, old, **options)
    for setting, response in told[:-1]:
        optimizer.tell(setting, response)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer.cancel(optimizer.ask())

    def step() -> dict[str, float]:
        optimizer.tell(*told[-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return optimizer.ask()

    return step


def _optuna(function: Function, told: list, seed: int) -> Callable[[], object]:
    """The same with Optuna: the sampler was asked before, so that it has its kernel's parameters to start from."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.GPSampler(seed=seed, n_startup_trials=1)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        space = {name: optuna.distributions.FloatDistribution(*ends) for name, ends in function.space.items()}
        for setting, response in told[:-1]:
            study.add_trial(optuna.create_trial(params=setting, distributions=space, value=response))
        study.ask(space)

    def step() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            setting, response = told[-1]
            study.add_trial(optuna.create_trial(params=setting, distributions=space, value=response))
            return study.ask(space)

    return step


def _multi_task(told: list, old: pd.DataFrame) -> Callable[[], object]:
    """The same with BoTorch: fit its multi-task process to old rows and observations, and maximise log EI."""
    new = torch.tensor([list(setting.values()) for setting, _ in told], dtype=torch.float64)
    y = torch.tensor([response for _, response in told], dtype=torch.float64)
    before = torch.as_tensor(old.to_numpy())
    tables = [torch.nn.functional.pad((x + 1) / 2, (0, 1), value=task) for task, x in ((0, before[:, :-1]), (1, new))]
    responses = torch.cat([(z - z.mean()) / z.std() for z in (before[:, -1], y)])[:, None]
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, new.shape[1])

    def step() -> torch.Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MultiTaskGP(torch.cat(tables), responses, task_feature=-1, output_tasks=[1])
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            acquisition = LogExpectedImprovement(model, best_f=responses[len(before) :].max())
            return optimize_acqf(acquisition, bounds, q=1, num_restarts=8, raw_samples=256)[0]

    return step


def old_rows(smoke: bool) -> list[Row]:
    """One suggestion of the default prior, with more and more old rows."""
    function, count = (BY_INPUTS[2], 8) if smoke else (BY_INPUTS[5], 50)
    sizes = (50, 600) if smoke else (OLD_ROWS, 500, 10_000, 1_000_000)
    surrogates, made = {}, {}
    for size in sizes:
        old = old_data("noisy flip", function, SEED, size)
        started = time.perf_counter()
        surrogates[size] = Optimizer(function.space, old).surrogate
        made[size] = time.perf_counter() - started
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for seed in range(SEED, SEED + (2 if smoke else 7)):
        told = observations(function, count + 1, seed)
        for size, surrogate in surrogates.items():
            times[size].append(seconds(campaign(function, told, model=surrogate, seed=seed)))
    base = times[sizes[0]]
    return [
        {
            "old": size,
            "inputs": function.num_inputs,
            "observations": count,
            "made": made[size],
            "suggestion": median(times[size]),
            "ratio": median(own / other for own, other in zip(times[size], base, strict=True)),
        }
        for size in sizes
    ]


def more_observations(smoke: bool) -> list[Row]:
    """One suggestion of the default prior, with more and more observations."""
    function, rows = (BY_INPUTS[2] if smoke else BY_INPUTS[5]), []
    old = old_data("noisy flip", function, SEED, 20 if smoke else OLD_ROWS)
    for count in (5, 10) if smoke else (50, 100, 200, 500, 1000):
        times = [seconds(campaign(function, observations(function, count + 1, seed), old=old)) for seed in range(3)]
        rows.append({"observations": count, "inputs": function.num_inputs, "suggestion": median(times)})
    return rows


def whole_campaign(smoke: bool) -> list[Row]:
    """A campaign of 50 steps in two inputs, with all that belongs to it."""
    function, steps = BY_INPUTS[2], 3 if smoke else 50
    rows = []
    for seed in range(SEED, SEED + (1 if smoke else 3)):
        started = time.perf_counter()
        optimizer = Optimizer(function.space, old_data("noisy flip", function, seed, OLD_ROWS), seed=seed)
        for _ in range(steps):
            setting = optimizer.ask()
            optimizer.tell(setting, float(function(list(setting.values()))))
        rows.append({"seed": seed, "inputs": 2, "steps": steps, "seconds": time.perf_counter() - started})
    return rows


# -- pre-training -----------------------------------------------------------------------------------------


def pretraining(smoke: bool) -> list[Row]:
    """What `pretrain` and the default prior take to learn from many rows, each in a process of its own."""
    spawned = multiprocessing.get_context("spawn")
    rows = []
    for size in (600,) if smoke else (100_000, 1_000_000):
        for what in ("pretrain", "average"):
            with spawned.Pool(1) as pool:
                rows.append(pool.apply(_pretraining, (what, size, 2 if smoke else 5)))
    return rows


def rough(points: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A response that takes as many features as there may be: waves, a square and a product, with noise."""
    waves = np.sin(3 * points[:, 0]) + np.cos(4 * points[:, -1]) / 2
    return waves + points[:, 1] ** 2 - points.prod(1) + 0.1 * random.standard_normal(len(points))


def _pretraining(what: str, size: int, num_inputs: int) -> Row:
    random = np.random.default_rng(SEED)
    space = {f"x{column}": (-1.0, 1.0) for column in range(num_inputs)}
    points = random.uniform(-1, 1, (size, num_inputs))
    old, before = pd.DataFrame(points, columns=list(space)).assign(y=rough(points, random)), peak_memory()
    started = time.perf_counter()
    prior = pretrain(old, space) if what == "pretrain" else Optimizer(space, old)
    taken = time.perf_counter() - started
    more = {"features": len(prior.fit.map), "error": prior.error} if isinstance(prior, WeightPrior) else {}
    found = {"what": what, "rows": size, "inputs": num_inputs, "seconds": taken, "table": before}
    return found | {"peak": peak_memory()} | more


def peak_memory() -> float:
    """The most that this process has had, in GiB; what getrusage says includes the process that started it."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 2**20


# -- the rest ---------------------------------------------------------------------------------------------


def imports(smoke: bool) -> list[Row]:
    """Importing the package, and BoTorch alone, in fresh interpreters."""
    sides = {
        name: partial(subprocess.run, [sys.executable, "-c", f"import {name}"], check=True)
        for name in ("tunedprior", "botorch")
    }
    times = in_turns(sides, 1 if smoke else 7)
    ratios = [a / b for a, b in zip(*times.values(), strict=True)]
    return [{name: median(each) for name, each in times.items()} | {"ratio": median(ratios)}]


#: What a suggestion consists of: the functions whose time, with all they call, makes a row of the profile.
STAGES = {
    "the observations' own length-scales": ("evidence.py", "most_probable"),
    "weighing all candidates, with that": ("average.py", "weigh"),
    "fitting: weighing, and the mixture that follows": ("average.py", "__call__"),
    "maximising the acquisition": ("maximise.py", "maximise"),
    "all": ("speed_parts.py", "step"),
}


def profile(smoke: bool) -> list[Row]:
    """Where the time of one suggestion goes."""
    function, count = (BY_INPUTS[2], 8) if smoke else (BY_INPUTS[5], 50)
    old = old_data("noisy flip", function, SEED, OLD_ROWS)
    step = campaign(function, observations(function, count + 1, SEED), old=old)
    profiler = cProfile.Profile()
    profiler.runcall(step)
    found = pstats.Stats(profiler).stats
    rows = []
    for stage, (file, name) in STAGES.items():
        within = [entry[3] for (path, _, called), entry in found.items() if path.endswith(file) and called == name]
        rows.append({"stage": stage, "seconds": sum(within)})
    return rows


PARTS: dict[str, Callable[[bool], list[Row]]] = {
    "entries": entries,
    "suggestions": suggestions,
    "old-rows": old_rows,
    "pretraining": pretraining,
    "observations": more_observations,
    "campaign": whole_campaign,
    "imports": imports,
    "profile": profile,
}
