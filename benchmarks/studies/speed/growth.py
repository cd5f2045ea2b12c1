"""How the time of one suggestion grows: with old rows, with observations, with old data sets."""

import time
from itertools import accumulate, repeat, takewhile
from statistics import median

import pandas as pd

from benchmarks.problems.functions import Function
from benchmarks.problems.kinds import old_data
from benchmarks.studies.speed.data import OLD_ROWS, SEED, in_the_midst, observations, old_records, usual_function
from benchmarks.studies.speed.other_optimisers import gp_sampler
from benchmarks.studies.speed.timing import Options, Row, seconds
from tunedprior import Optimizer
from tunedprior.models.surrogate import Surrogate

#: Observations, in steps of 10 %: wherever something changes with their number, two neighbours lie on either side.
COUNTS = (*takewhile(lambda count: count < 1000, accumulate(repeat(100), lambda count, _: round(1.1 * count))), 1000)
GP_SAMPLER_COUNTS = (100, 200, 500, 1000)
NUMBERS_OF_SETS = {"one": 1, "ten": 10}


def old_rows(options: Options) -> list[Row]:
    """One suggestion of the default prior, with more and more old rows."""
    function, count = usual_function(options), 8 if options.smoke else 50
    sizes = (50, 600) if options.smoke else (OLD_ROWS, 500, 10_000, 1_000_000)
    surrogates, made = {}, {}
    for size in sizes:
        old = old_data("noisy flip", function, SEED, size)
        started = time.perf_counter()
        surrogates[size] = Optimizer(function.space, old, direction="maximize", seed=0).surrogate
        made[size] = time.perf_counter() - started
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for seed in range(SEED, SEED + (2 if options.smoke else 7)):
        told = observations(function, count + 1, seed)
        for size, surrogate in surrogates.items():
            times[size].append(seconds(in_the_midst(function, told, model=surrogate, seed=seed)))
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


def more_observations(options: Options) -> list[Row]:
    """One suggestion with one and with ten old data sets, in steps of 10 % more observations, beside GPSampler."""
    function = usual_function(options)
    counts, compared = ((5, 10), (10,)) if options.smoke else (COUNTS, GP_SAMPLER_COUNTS)
    surrogates = {name: _learnt(function, sets, options) for name, sets in NUMBERS_OF_SETS.items()}
    times: dict[int, dict[str, float]] = {count: {} for count in sorted({*counts, *compared})}
    for count, found in times.items():
        several = [observations(function, count + 1, seed) for seed in range(1 if options.smoke else 3)]
        for name, surrogate in surrogates.items() if count in counts else ():
            found[name] = median(seconds(in_the_midst(function, told, model=surrogate)) for told in several)
        if count in compared:
            found["GPSampler"] = median(seconds(gp_sampler(function, told, SEED)) for told in several)
    table = pd.DataFrame.from_dict(times, orient="index", columns=[*surrogates, "GPSampler"])
    steps = table[list(surrogates)].dropna().pct_change().add(1).add_suffix("_step")
    rows = table.join(steps).rename_axis("observations").reset_index().assign(inputs=function.num_inputs)
    return [{key: None if pd.isna(value) else value for key, value in row.items()} for row in rows.to_dict("records")]


def _learnt(function: Function, sets: int, options: Options) -> Surrogate:
    tables = {f"old data {number}": old_records(function, options, SEED + number) for number in range(sets)}
    return Optimizer(function.space, tables, direction="maximize", seed=0).surrogate
