"""The measurements of `speed` for an NVIDIA GPU: absolute times, and how much of what the card can do they reach."""

from collections.abc import Callable
from functools import partial
from math import ceil

import torch
from torch.utils.benchmark import Timer

from benchmarks.studies.speed.data import BY_INPUTS, SEED
from benchmarks.studies.speed.timing import Options, Row
from tunedprior.beliefs import FixedReweightedKernel
from tunedprior.kernels import SquaredExponential
from tunedprior.machines import AlphaFit
from tunedprior.machines.feature_ridge import FeatureMap, NormalEquations

_FLOAT64 = 8  # bytes


def least_seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """The least of a few times, each warmed up; PyTorch's timer waits until the GPU has finished."""
    timer = Timer("run()", globals={"run": run}, num_threads=torch.get_num_threads())
    return min(timer.timeit(1).median for _ in range(repeats))


def peaks(options: Options) -> list[Row]:
    """What the card reaches at its best here: one large product of float64 matrices, one large copy."""
    size = 1024 if options.smoke else 12_288
    matrix = torch.rand(size, size, dtype=torch.float64, device="cuda")
    product = least_seconds(lambda: matrix @ matrix)
    copied = torch.empty_like(matrix)
    copy = least_seconds(lambda: copied.copy_(matrix))
    return [{"flops": 2 * size**3 / product, "bytes_per_second": 2 * _FLOAT64 * size**2 / copy}]


def pretraining(options: Options) -> list[Row]:
    """Least squares in features on ten million rows of five inputs: both passes over the rows, and the solution."""
    count = 10_000 if options.smoke else 10_000_000
    random = torch.Generator("cuda").manual_seed(SEED)
    points = 2 * torch.rand(count, 5, generator=random, dtype=torch.float64, device="cuda") - 1
    y = (3 * points[:, 0]).sin() + points[:, 1] ** 2 - points[:, 2] * points[:, 3] + (4 * points[:, 4]).cos() / 2
    y = y + 0.1 * torch.randn(count, generator=random, dtype=torch.float64, device="cuda")
    y = (y - y.mean()) / y.std()
    kernel = SquaredExponential(torch.ones(5, dtype=torch.float64)).cuda().requires_grad_(False)
    rows = []
    for most in (512, 2048):
        feature_map = FeatureMap.from_largest_features(kernel, points, most)
        equations = NormalEquations.from_rows(feature_map, points, y)
        fit = equations.solve(0.01)
        size = len(feature_map)
        normal = least_seconds(partial(NormalEquations.from_rows, feature_map, points, y), 1)
        solution = least_seconds(partial(equations.solve, 0.01))
        leave_one_out = least_seconds(partial(fit.compute_loo_error, points, y), 1)
        rows.append(
            {
                "rows": count,
                "inputs": 5,
                "features": size,
                "normal_equations": normal,
                "solve": solution,
                "leave_one_out": leave_one_out,
                "seconds": normal + solution + leave_one_out,
                "error": fit.compute_loo_error(points, y),
                # Half of ΦᵀΦ, in blocks of 512; a triangular solve for every row.
                "normal_flops": count * size**2 * (1 + 1 / ceil(size / 512)) / normal,
                "leave_one_out_flops": count * size**2 / leave_one_out,
                "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
            }
        )
        torch.cuda.reset_peak_memory_stats()
    return rows


def blocks(options: Options) -> list[Row]:
    """A batch of 1,000 blocks, 50 x 1024 entries each, of the paper's kernel by features."""
    count = 10 if options.smoke else 1000
    rows = []
    for num_inputs in (2, 3, 5):
        random = torch.Generator().manual_seed(SEED)
        anchors = 2 * torch.rand(200, num_inputs, generator=random, dtype=torch.float64) - 1
        y = torch.as_tensor(BY_INPUTS[num_inputs](anchors.numpy()))
        lengthscale = torch.full((num_inputs,), 0.8, dtype=torch.float64)
        fit = AlphaFit.fit_by_evidence(anchors, (y - y.mean()) / y.std(), lengthscale)
        kernel = FixedReweightedKernel(fit.kernel, anchors, fit.alpha, by_features=True).cuda()
        left, right = (
            (2 * torch.rand(count, n, num_inputs, generator=random, dtype=torch.float64) - 1).cuda() for n in (50, 1024)
        )
        with torch.no_grad():
            taken = least_seconds(partial(kernel.forward, left, right))
        entries, features = count * 50 * 1024, kernel.num_features
        # Features of all rows are written once and read once by the product, which writes the entries.
        moved = _FLOAT64 * (2 * features * count * (50 + 1024) + entries)
        rows.append(
            {
                "inputs": num_inputs,
                "blocks": count,
                "features": features,
                "seconds": taken,
                "entry": taken / entries,
                "flops": 2 * entries * features / taken,
                "bytes_per_second": moved / taken,
            }
        )
    return rows
