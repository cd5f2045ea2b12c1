"""What one entry of the paper's kernel costs."""

import time
from functools import partial
from statistics import median

import torch

from benchmarks.problems.kinds import old_data
from benchmarks.studies.speed.data import BY_INPUTS, OLD_ROWS, SEED
from benchmarks.studies.speed.timing import Options, Row, in_turns
from tunedprior import pretrain
from tunedprior.beliefs import FixedReweightedKernel


def entries(options: Options) -> list[Row]:
    """One entry of the paper's kernel: explicit features against the sum over pairs of 200 old settings."""
    rows = []
    for num_inputs, function in BY_INPUTS.items():
        if options.smoke and num_inputs > 2:
            break
        prior = pretrain(old_data("noisy flip", function, SEED, 30 if options.smoke else OLD_ROWS), function.space)
        rows.append({"function": function.name} | _entries(prior.base, prior.anchors, prior.alpha))
    return rows


def _entries(base: torch.nn.Module, anchors: torch.Tensor, alpha: torch.Tensor) -> Row:
    num_inputs, random = anchors.shape[1], torch.Generator().manual_seed(SEED)
    left, right = (2 * torch.rand(n, num_inputs, generator=random, dtype=torch.float64) - 1 for n in (50, 1024))
    made = time.perf_counter()
    features = FixedReweightedKernel(base, anchors, alpha)
    made = time.perf_counter() - made
    exact = FixedReweightedKernel(base, anchors, alpha, by_features=False)
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
