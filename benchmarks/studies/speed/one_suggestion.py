"""What one suggestion costs: beside its rivals, stage by stage, and as one of a whole campaign."""

import cProfile
import pstats
import time

from benchmarks.problems.kinds import old_data
from benchmarks.studies.speed.data import (
    BY_INPUTS,
    OLD_ROWS,
    SEED,
    in_the_midst,
    observations,
    old_records,
    usual_function,
)
from benchmarks.studies.speed.other_optimisers import gp_sampler, multi_task
from benchmarks.studies.speed.timing import Options, Row, seconds
from tunedprior import Optimizer
from tunedprior.campaign import simulate

#: What a suggestion consists of: the functions whose time, with all they call, makes a row of the profile.
STAGES = {
    "the observations' own length-scales": ("numerics/hyperparameters.py", "draw_hyperparameters"),
    "weighing all hypotheses, with that": ("model_averaging/weighing.py", "weigh_hypotheses"),
    "fitting: weighing, and the mixture that follows": ("model_averaging/average.py", "fit"),
    "maximising the acquisition": ("acquisition/optimisation.py", "maximize"),
    "all": ("speed/data.py", "step"),
}


def suggestions(options: Options) -> list[Row]:
    """One suggestion: the default prior, Optuna's GPSampler and BoTorch's MultiTaskGP, on the same records."""
    function, count = usual_function(options), 8 if options.smoke else 50
    rows = []
    for seed in range(SEED, SEED + (1 if options.smoke else 5)):
        old, told = old_records(function, options, seed), observations(function, count + 1, seed)
        rivals = {
            "tunedprior": in_the_midst(function, told, old, seed=seed),
            "GPSampler": gp_sampler(function, told, seed),
            "MultiTaskGP": multi_task(told, old),
        }
        rows.append(
            {"seed": seed, "inputs": function.num_inputs, "observations": count, "old": len(old)}
            | {name: seconds(step) for name, step in rivals.items()}
        )
    return rows


def profile(options: Options) -> list[Row]:
    """Where the time of one suggestion goes."""
    function, count = usual_function(options), 8 if options.smoke else 50
    old = old_data("noisy flip", function, SEED, OLD_ROWS)
    profiler = cProfile.Profile()
    profiler.runcall(in_the_midst(function, observations(function, count + 1, SEED), old))
    found = pstats.Stats(profiler).stats
    rows = []
    for stage, (file, name) in STAGES.items():
        within = [entry[3] for (path, _, called), entry in found.items() if path.endswith(file) and called == name]
        if not within:
            raise LookupError(f"No suggestion calls {name} of {file} any more; STAGES has to name what it calls now.")
        rows.append({"stage": stage, "seconds": sum(within)})
    return rows


def whole_campaign(options: Options) -> list[Row]:
    """A campaign of 50 steps in two inputs, with all that belongs to it."""
    function, steps = BY_INPUTS[2], 3 if options.smoke else 50
    rows = []
    for seed in range(SEED, SEED + (1 if options.smoke else 3)):
        started = time.perf_counter()
        optimizer = Optimizer(
            function.space, old_data("noisy flip", function, seed, OLD_ROWS), direction="maximize", seed=seed
        )
        simulate(optimizer, function.respond, steps)
        rows.append({"seed": seed, "inputs": 2, "steps": steps, "seconds": time.perf_counter() - started})
    return rows
