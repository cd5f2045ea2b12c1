"""Algorithm 1 as printed on 501 to 5,000 old rows, against its dual in extended precision.

    python -m benchmarks dual [--smoke | --tables] [--out DIR]

K^A₂(x, x') = Σ_jk α_jα_k K₄(a_j, a_k, x, x') with α = (K + λI)⁻¹y, the length-scale and λ being those that were chosen:
once by `pretrain(…, as_printed=True)`, and once from the sums themselves in NumPy's long double (64 bits of mantissa).
The cases were listed before any was run.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from benchmarks.problems.functions import function_named
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, run_all
from benchmarks.studies.storing import add_storing, places
from benchmarks.tables import markdown, write_tables
from tunedprior import kernels, pretrain
from tunedprior.errors import InputError
from tunedprior.kernels.anchors import draw_box_sample

Wide = np.longdouble
_POINTS = 8  # in the box, at which variances are compared, and covariances of each with the next
_REFINEMENTS, _BLOCK, _UNITS = 40, 64, 8
#: The kernels of the cases by name: what learns, and K_m from Σ_d of products (or the products), and the parameter.
KERNELS: dict[str, Callable[[], kernels.FreeKernel]] = {
    "squared exponential": kernels.SquaredExponential,
    "polynomial": lambda: kernels.Polynomial(4),
    "exponential": kernels.Exponential,
    "sinh": kernels.Sinh,
    "log ratio": kernels.LogRatio,
}


@dataclass(frozen=True)
class DualJob:
    """A function, the number of its old rows, the kernel's name, and the noise's standard deviation."""

    problem: str
    rows: int
    kernel: str
    noise: float


_SE, _EXP = "squared exponential", "exponential"
CASES = (
    DualJob("Forrester", 501, _SE, 0.0),
    DualJob("Forrester", 1000, _SE, 0.01),
    DualJob("Forrester", 5000, _SE, 0.0),
    DualJob("Forrester", 2000, _EXP, 0.0),
    DualJob("Branin", 501, _SE, 0.0),
    DualJob("Branin", 1000, _SE, 0.01),
    DualJob("Branin", 2000, _SE, 0.0),
    DualJob("Branin", 5000, _SE, 0.1),
    DualJob("Ackley", 1000, _SE, 0.0),
    DualJob("Ackley", 3000, _SE, 0.01),
    DualJob("Styblinski-Tang", 750, _SE, 0.0),
    DualJob("Styblinski-Tang", 2000, "polynomial", 0.0),
    DualJob("Himmelblau", 1500, _EXP, 0.01),
    DualJob("Himmelblau", 5000, _SE, 0.0),
    DualJob("Hartmann-3", 501, _SE, 0.0),
    DualJob("Hartmann-3", 1000, _SE, 0.01),
    DualJob("Hartmann-3", 3000, _SE, 0.0),
    DualJob("Hartmann-3", 2000, "log ratio", 0.1),
    DualJob("Hölder table", 1000, _SE, 0.0),
    DualJob("Rosenbrock", 1000, "sinh", 0.0),
)


def _forrester(x: np.ndarray) -> np.ndarray:
    t = (x[:, 0] + 1) / 2
    return ((6 * t - 2) ** 2 * np.sin(12 * t - 4) + 6.1) / 22


def _rosenbrock(x: np.ndarray) -> np.ndarray:
    z = 2 * x
    steps = [100 * (z[:, i + 1] - z[:, i] ** 2) ** 2 + (1 - z[:, i]) ** 2 for i in range(x.shape[1] - 1)]
    return np.sum(steps, axis=0) / 4000


#: Functions on [-1, 1]^d with values about [0, 1] that the other studies have no use for.
_OTHERS: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]] = {
    "Forrester": (1, _forrester),
    "Rosenbrock": (3, _rosenbrock),
}


def inputs_of(problem: str) -> int:
    """The number of its inputs."""
    return _OTHERS[problem][0] if problem in _OTHERS else function_named(problem).num_inputs


def old_rows(job: DualJob) -> pd.DataFrame:
    """Uniform settings with responses in about [0, 1]: the function flipped, with noise."""
    rng, d = np.random.default_rng(CASES.index(job) if job in CASES else 0), inputs_of(job.problem)
    x = rng.uniform(-1, 1, (job.rows, d))
    y = _OTHERS[job.problem][1](x) if job.problem in _OTHERS else 1 - function_named(job.problem)(x)
    names = [f"x{number}" for number in range(d)]
    return pd.DataFrame(x, columns=names).assign(y=y + job.noise * rng.standard_normal(job.rows))


@dataclass(frozen=True)
class Reference:
    """Values of K^A₂, and an estimate of their largest error, as a share of the mean of the variances among them."""

    values: np.ndarray
    error: float


def extended(
    kind: str, parameter: float | None, anchors: np.ndarray, y: np.ndarray, lam: float, pairs: np.ndarray
) -> Reference:
    """Σ_jk α_jα_k K₄(a_j, a_k, x, x') for pairs (x, x') in long double; the first pairs are x with itself.

    α is refined: corrections are solved for in double, or, where that does not converge, with a factor in long double,
    and what is left of y - (K + λI)α is computed in long double. With z = (K + λI)⁻¹(y - (K + λI)α) the weights
    ŵ = Φᵀα are off by √(zᵀKz); the variances by 2√(zᵀKz) √K^A₂(x, x), as |ϑ| ≤ 1. To that comes the rounding of the
    sum over j and k, whose terms cancel: a few units in the last place of each, at random.
    """
    a, wide = anchors.astype(Wide), y.astype(Wide)
    width = None if parameter is None else Wide(parameter)
    gram = np.stack([_k_of(kind, width, one * a, _squares(one) + _squares(a)) for one in a])
    gram[np.diag_indices(len(y))] += Wide(lam)
    alpha, size = _refined(gram, wide, Wide(lam))
    products, rounded = [], []
    for x, z in pairs.astype(Wide):
        total, terms = Wide(0), 0.0
        for start in range(0, len(a), _BLOCK):  # terms with j < k stand for those with j > k
            own, others = a[start : start + _BLOCK], a[start:]
            norms = _squares(own)[:, None] + _squares(others)[None] + (_squares(x) + _squares(z))
            shares = np.outer(alpha[start : start + _BLOCK], alpha[start:]) * _above(len(own), len(others))
            parts = shares * _k_of(kind, width, own[:, None] * others[None] * (x * z), norms)
            total += parts.sum()
            terms += float((parts**2).sum())
        products.append(total)
        rounded.append(_UNITS * float(np.finfo(Wide).eps) * np.sqrt(terms))
    values = np.array(products, dtype=np.float64)
    mean = float(values[(pairs[:, 0] == pairs[:, 1]).all(1)].mean())
    return Reference(values, float(2 * size / np.sqrt(mean) + max(rounded) / mean))


def _above(rows: int, columns: int) -> np.ndarray:
    """1 on the diagonal, 2 above it, 0 below."""
    return np.sign(np.arange(columns)[None] - np.arange(rows)[:, None]) + 1


def _squares(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = (x * x).sum(-1)
    return found


def _k_of(kind: str, parameter: Wide | None, products: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """K_m from the products of its arguments, input by input, and the sum of their squares."""
    if kind == "log ratio":
        ratio: np.ndarray = np.log1p(products) - np.log1p(-products)
        return ratio.prod(-1)
    total: np.ndarray = products.sum(-1)
    assert parameter is not None  # all others have one
    if kind == "squared exponential":
        return np.exp((total - squares / 2) / parameter**2)
    if kind == "polynomial":
        return (total + parameter) ** 4
    grown: np.ndarray = np.exp(total * parameter) if kind == "exponential" else np.sinh(total * parameter)
    return grown


def _refined(gram: np.ndarray, y: np.ndarray, lam: Wide) -> tuple[np.ndarray, float]:
    """α, and √(zᵀKz) of its last correction z."""
    for solve in (_double_solver, _wide_solver):
        try:
            correct = solve(gram)
        except LinAlgError:
            continue
        alpha, last = np.zeros_like(y), np.inf
        for _ in range(_REFINEMENTS):
            left = y - gram @ alpha
            step = correct(left)
            size = float(np.sqrt(abs(step @ (left - lam * step))))
            if not size < last / 2:
                break
            alpha, last = alpha + step, size
        scale = float(np.sqrt(abs(alpha @ (y - lam * alpha))))
        if last < 1e-9 * scale:
            return alpha, last
    return alpha, last


def _double_solver(gram: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    factor = cho_factor(gram.astype(np.float64), lower=True, overwrite_a=True)

    def solve(right: np.ndarray) -> np.ndarray:
        size = float(np.abs(right).max()) or 1.0
        return Wide(size) * cho_solve(factor, (right / Wide(size)).astype(np.float64)).astype(Wide)

    return solve


def _wide_solver(gram: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Cholesky's factor in long double, in blocks, and the two substitutions with it."""
    factor, n = gram.copy(), len(gram)
    for start in range(0, n, _BLOCK):
        some, rest = slice(start, start + _BLOCK), slice(start + _BLOCK, n)
        corner = factor[some, some]
        for k in range(len(corner)):
            if corner[k, k] <= 0:
                raise LinAlgError
            corner[k:, k] /= np.sqrt(corner[k, k])
            corner[k + 1 :, k + 1 :] -= np.outer(corner[k + 1 :, k], corner[k + 1 :, k])
        corner[np.triu_indices(len(corner), 1)] = 0
        below = factor[rest, some]
        for k in range(len(corner)):
            below[:, k] = (below[:, k] - below[:, :k] @ corner[k, :k]) / corner[k, k]
        factor[rest, rest] -= below @ below.T

    def solve(right: np.ndarray) -> np.ndarray:
        x = right.copy()
        for k in range(n):
            x[k] = (x[k] - factor[k, :k] @ x[:k]) / factor[k, k]
        for k in reversed(range(n)):
            x[k] = (x[k] - factor[k + 1 :, k] @ x[k + 1 :]) / factor[k, k]
        return x

    return solve


def compare(job: DualJob) -> list[float]:
    """1 if it was refused; else 0, λ, the number of α or 0, of features or 0, the largest error, and the reference's.

    Errors are those of variances and covariances at a few points of the box, over the mean of the variances.
    """
    if np.finfo(Wide).eps > 1e-18:
        raise InputError("The reference needs NumPy's long double to have 64 bits of mantissa, as on x86-64.")
    old = old_rows(job)
    names = list(old.columns[:-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            prior = pretrain(old, dict.fromkeys(names, (-1.0, 1.0)), KERNELS[job.kernel](), as_printed=True)
        except InputError:
            return [1.0]
    points = draw_box_sample(len(names), prior.reach, _POINTS)
    pairs = torch.stack([torch.cat([points, points[:-1]]), torch.cat([points, points[1:]])], dim=1)
    with torch.no_grad():
        matrix = prior.make_kernel()(points).to_dense()
    ours = torch.cat([matrix.diagonal(), matrix.diagonal(1)]).numpy()
    name = prior.base.tuned_parameter
    parameter = None if name is None else float(getattr(prior.base, name))
    anchors = prior.to_kernel_inputs(prior.box.encode(old[names])).numpy()
    reference = extended(job.kernel, parameter, anchors, old["y"].to_numpy(), prior.lam, pairs.numpy())
    mean = reference.values[:_POINTS].mean()
    features = 0 if len(prior.alpha) else len(prior.fit.to_arrays()["weights"])
    error = float(np.abs(ours - reference.values).max() / mean)
    return [0.0, prior.lam, float(len(prior.alpha)), float(features), error, reference.error]


STUDY = Study("dual", DualJob, compare, "python -m benchmarks dual")


def tables(results: pd.DataFrame) -> dict[str, str]:
    """A row for each case, in the order of the list."""
    rows = {}
    for number, job in enumerate(CASES, 1):
        own = results.query(
            "problem == @job.problem and rows == @job.rows and kernel == @job.kernel and noise == @job.noise"
        ).sort_values("step")["value"]
        if own.empty:
            continue
        case = [job.problem, inputs_of(job.problem), f"{job.rows:,}", job.kernel, f"{job.noise:g}"]
        if own.iloc[0]:
            rows[number] = [*case, "", "refused", "", ""]
        else:
            lam, alphas, features, error, bound = own.iloc[1:]
            by = f"{int(alphas):,} α" if alphas else f"{int(features):,} features"
            rows[number] = [*case, f"{lam:.1e}", by, f"{error:.0e}", f"{bound:.0e}"]
    heads = ["function", "inputs", "rows", "kernel", "noise", "λ", "by", "error", "reference"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=heads)
    return {"dual": markdown(table.rename_axis("case"))}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    add_storing(parser, "the two quickest cases, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    jobs = [CASES[0], CASES[4]] if arguments.smoke else list(CASES)
    results, docs = places(arguments)
    found = tables(read_results(STUDY.name, results or RESULTS) if arguments.tables else run_all(STUDY, jobs, results))
    print(found["dual"])
    if not arguments.smoke:
        write_tables(docs / "reliability.md", found)
