"""How good the average's prior is on a corpus of measured pairs: its evidence, and how well it predicts other results.

    python -m benchmarks evidence --corpus DIR [--kept DIR] [--seeds LO-HI] [--families NAME …] [--workers N] [--smoke]
    python -m benchmarks evidence --tables

For each pair 150 old rows and a pool of at most 160 settings are drawn by the seed. Results are a random part of the
pool (6, 12, 24 of them), or what a campaign gathers there (24, 40): six at random, then by expected improvement under
the plain process, without old data. For each arm, a variant of the average:

- evidence: log Σ_h p(h) p(D | h) over the number of results, in nats for each result of a standardised response;
- ahead: the mean of log p(y | D) over all other settings of the pool, one at a time;
- ahead, best: the same over the best tenth of these.

An arm is masses of beliefs and a prior of a belief's share; hypotheses that differ in these alone are computed once.
`--kept` keeps them in a folder, so that another arm takes seconds. The corpus is not part of the project: its folders
`FAMILY__NAME` are as `--pairs` of `python -m benchmarks beliefs` has them.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import log, nan, pi
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from benchmarks.problems.pairs import Pair, read_any_pair, subsample
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, run_all
from benchmarks.studies.beliefs import seeds_between
from benchmarks.tables import markdown
from tunedprior import Optimizer
from tunedprior.beliefs import get_belief
from tunedprior.beliefs.aligned import AlignedKernel
from tunedprior.beliefs.registry import KernelBelief
from tunedprior.beliefs.reweighted import FixedReweightedKernel
from tunedprior.beliefs.uninformed import UninformedBelief
from tunedprior.errors import InputError
from tunedprior.kernels import StationarySquaredExponential
from tunedprior.machines import AlphaFit
from tunedprior.model_averaging.average import Average
from tunedprior.model_averaging.hypotheses import DEFAULT_SHARES, Hypotheses, SharePrior, build_hypotheses
from tunedprior.numerics.linalg import cholesky, compute_log_evidence
from tunedprior.numerics.stationary import compute_matern_and_slope, compute_squared_differences

#: Families that priors may be chosen on; all others check the choice.
CHOSEN_ON = (
    "taskset",
    "gpuconvolution",
    "gpudedispersion",
    "gpuktpnpoly",
    "gpugemm",
    "storm",
    "stormresp",
    "sysresp",
    "lig",
)
CHECKED_ON = ("buchwald", "arylation", "reizman", "liquid", "liquid7", "oer", "photo")
#: Families that are not independent of each other.
GROUPS = {
    "storm": ("storm", "stormresp"),
    "sysresp": ("sysresp",),
    "gpu": ("gpuconvolution", "gpudedispersion", "gpuktpnpoly", "gpugemm"),
    "taskset": ("taskset",),
    "lig": ("lig",),
    "liquid": ("liquid", "liquid7"),
    "reactions": ("buchwald", "arylation", "reizman"),
    "catalysts": ("oer", "photo"),
}
#: How results were drawn, and how many there are.
RESULT_SETS = (("random", 6), ("random", 12), ("random", 24), ("gathered", 24), ("gathered", 40))
MEASURES = ("evidence", "ahead", "ahead, best")
SEEDS = range(3)
_COMMAND = "python -m benchmarks evidence"
_POOL, _FIRST, _LEAST_HELD_OUT = 160, 6, 12
#: Shares that some arm has; 1 is a belief without a remainder.
_ALL_SHARES = SharePrior(0.5, (0.03, 0.1, 0.3, 0.5, 0.6, 0.9, 0.99))


class PlacesBelief(KernelBelief):
    """Σ_jk α_jα_k K₄(a_j, a_k, x, x') of `StationarySquaredExponential`: f varies where the old response did."""

    name = "places"

    def make_kernel_from_alpha(self, fit: AlphaFit) -> FixedReweightedKernel:
        """The kernel at the length-scales of the fit, whose K₂ is the same."""
        base = StationarySquaredExponential(fit.kernel.lengthscale.detach().squeeze(0))
        return FixedReweightedKernel(base, fit.anchors, fit.alpha, by_features=False)


class VaryingKernel(Kernel):
    """ĝĝ' M₅/₂(x, x') + s_f² (K₂ - kᵀMk): the objective is ρ(x)·g, with ρ of twice the length-scales of g."""

    def __init__(self, fit: AlphaFit) -> None:
        super().__init__()
        self.fit = fit
        self.aligned = AlignedKernel(fit.kernel, fit.anchors, fit.alpha, fit.lam, by_features=False)
        self.precision = (2 * fit.kernel.lengthscale.detach().expand(1, fit.anchors.shape[1])) ** -2

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **_: Any) -> Tensor:
        """K(x1, x2), or its diagonal."""
        whole = self.aligned.forward(x1, x2, diag=diag)
        if diag:
            return whole
        alike = compute_matern_and_slope(self.precision, compute_squared_differences(x1, x2))[0][0]
        return whole - (1 - alike) * self.fit(x1)[..., :, None] * self.fit(x2)[..., None, :]


class VaryingBelief(KernelBelief):
    """The objective is ρ(x)·g, with ρ unknown and smooth."""

    name = "varying"

    def make_kernel_from_alpha(self, fit: AlphaFit) -> VaryingKernel:
        """The kernel of one fit."""
        return VaryingKernel(fit)


_TRIED = {
    FixedReweightedKernel: PlacesBelief.name,
    VaryingKernel: VaryingBelief.name,
}


#: Kinds of remainders: at fixed length-scales, at those of old data, at the most probable ones given the results.
FIXED, SHAPE, FITTED = "fixed", "shape", "fitted"
ALL_REMAINDERS = {FIXED: 0.6, SHAPE: 0.2, FITTED: 0.2}
_UNFITTED = {FIXED: 0.75, SHAPE: 0.25}


@dataclass(frozen=True)
class Arm:
    """A variant of the average.

    Attributes:
        masses: The probability of each belief.
        shares: The prior of a belief's share in the variance.
        remainders: The probability of each kind of remainder, where there is one.
    """

    masses: Mapping[str, float]
    shares: SharePrior = DEFAULT_SHARES
    remainders: Mapping[str, float] = field(default_factory=lambda: ALL_REMAINDERS)

    def compute_log_masses(self, groups: Sequence["Group"]) -> Float[np.ndarray, " g"]:
        """The log prior probability of each group; -∞ where the arm does not have it."""
        each = {share: (1 - self.shares.pure) / len(self.shares.shares) for share in self.shares.shares}
        each[1.0] = self.shares.pure
        found = [
            self.masses.get(one.belief, 0.0)
            * (each.get(one.share, 0.0) if one.has_remainder else 1.0)
            * (self.remainders.get(one.remainder, 0.0) if one.remainder else 1.0)
            for one in groups
        ]
        with np.errstate(divide="ignore"):
            return np.log(np.array(found) / sum(found))


@dataclass(frozen=True)
class Group:
    """Hypotheses that no arm tells apart: those of one belief at one share, with one kind of remainder ("": none)."""

    belief: str
    share: float = 1.0
    remainder: str = ""

    @property
    def has_remainder(self) -> bool:
        """Whether the belief also enters the average with a remainder."""
        return self.belief in ("aligned", *_TRIED.values())


_DEFAULT = {"aligned": 0.45, "shape": 0.1, "uninformed": 0.45}
_SHARED = {"aligned": 0.225, PlacesBelief.name: 0.225, "shape": 0.1, "uninformed": 0.45}
_SOME = {"aligned": 0.35, PlacesBelief.name: 0.1, "shape": 0.1, "uninformed": 0.45}
_VARYING = {"aligned": 0.225, VaryingBelief.name: 0.225, "shape": 0.1, "uninformed": 0.45}
_LOWER = SharePrior(0.3, (0.1, 0.3, 0.6, 0.9, 0.99))
_LOWEST = SharePrior(0.3, (0.03, 0.1, 0.3, 0.6, 0.9, 0.99))
DEFAULT, PLACES, NO_OLD_DATA = "default", "with places", "no old data"
ARMS = {
    DEFAULT: Arm(_DEFAULT),
    PLACES: Arm(_SHARED),
    "with some places": Arm(_SOME),
    "with varying": Arm(_VARYING),
    "lower shares": Arm(_DEFAULT, _LOWER),
    "lowest shares": Arm(_DEFAULT, _LOWEST),
    "no fitted remainder": Arm(_DEFAULT, remainders=_UNFITTED),
    "lower shares, no fitted remainder": Arm(_DEFAULT, _LOWER, _UNFITTED),
    "with varying, no fitted remainder": Arm(_VARYING, remainders=_UNFITTED),
    NO_OLD_DATA: Arm({"uninformed": 1.0}),
}


@dataclass(frozen=True)
class EvidenceJob:
    """A pair of the corpus, the seed of its rows and results, and an arm."""

    problem: str
    seed: int
    arm: str


@dataclass(frozen=True, eq=False)
class Weighed:
    """log p(D | g) of each group of hypotheses, and log p(y, D | g) for each held-out y, for one set of results."""

    count: int
    evidence: Float[np.ndarray, " g"]
    joint: Float[np.ndarray, "g m"]
    best: Float[np.ndarray, " m"]

    def measure(self, log_masses: Float[np.ndarray, " g"]) -> list[float]:
        """The measures under these log prior probabilities of groups."""
        if self.joint.shape[1] < _LEAST_HELD_OUT:
            return [nan] * len(MEASURES)
        evidence = np.logaddexp.reduce(log_masses + self.evidence)
        ahead = np.logaddexp.reduce(log_masses[:, None] + self.joint) - evidence
        return [float(evidence / self.count), float(ahead.mean()), float(ahead[self.best.astype(bool)].mean())]


def compute_measures(corpus: str, kept: str | None, job: EvidenceJob) -> list[float]:
    """The measures for each set of results, in the order of `RESULT_SETS`."""
    groups, sets = _weigh_kept(corpus, kept, job.problem, job.seed)
    log_masses = ARMS[job.arm].compute_log_masses(groups)
    return [value for one in sets for value in one.measure(log_masses)]


@lru_cache(maxsize=2)
def _weigh_kept(corpus: str, kept: str | None, name: str, seed: int) -> tuple[tuple[Group, ...], tuple[Weighed, ...]]:
    """What `weigh_pair` gives, from the folder where it is kept if it is there."""
    path = None if kept is None else Path(kept) / f"{name}.{seed}.npz"
    if path is None or not path.exists():
        groups, sets = weigh_pair(read_any_pair(Path(corpus), name), seed)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            parts = {f"{field}{row}": value for row, one in enumerate(sets) for field, value in vars(one).items()}
            np.savez(path, groups=np.array([f"{one.belief} {one.share} {one.remainder}" for one in groups]), **parts)
        return groups, sets
    with np.load(path) as found:
        named = [text.split(" ") for text in found["groups"].tolist()]
        rows = range(len(RESULT_SETS))
        sets = tuple(
            Weighed(int(found[f"count{row}"]), *(found[f"{field}{row}"] for field in ("evidence", "joint", "best")))
            for row in rows
        )
    return tuple(Group(belief, float(share), remainder) for belief, share, remainder in named), sets


@torch.no_grad()
def weigh_pair(pair: Pair, seed: int) -> tuple[tuple[Group, ...], tuple[Weighed, ...]]:
    """The evidence of every group, and the joint density with each other result, for all sets of results."""
    pair = subsample(pair, seed, _POOL)
    average = Optimizer(pair.space, pair.old, direction=pair.direction, seed=seed).surrogate
    assert isinstance(average, Average)
    assert average.axes is not None
    beliefs = [get_belief("aligned"), get_belief("shape"), get_belief("uninformed")]
    beliefs += [PlacesBelief(), VaryingBelief()]
    hypotheses = build_hypotheses(average.sources, average.axes, beliefs, share_prior=_ALL_SHARES)
    rows = group_hypotheses(hypotheses)
    x = average.box.to_kernel_inputs(average.box.encode(pair.pool))
    y = torch.tensor(pair.responses if pair.direction == "maximize" else -pair.responses)
    order = torch.as_tensor(np.random.default_rng(seed).permutation(len(x)))
    most = max(count for _, count in RESULT_SETS)
    seen = {"random": order[:most], "gathered": gather_results(hypotheses, x, y, order[:_FIRST], most)}
    sets = []
    for design, count in RESULT_SETS:
        some = seen[design][:count]
        others = torch.ones(len(x), dtype=torch.bool).index_fill(0, some, value=False).nonzero().flatten()
        evidence, joint = weigh_groups(hypotheses, list(rows.values()), x, y, some, others)
        best = y[others] >= y[others].quantile(0.9)
        sets.append(Weighed(len(some), evidence.numpy(), joint.numpy(), best.double().numpy()))
    return tuple(rows), tuple(sets)


def group_hypotheses(hypotheses: Hypotheses) -> dict[Group, Float[Tensor, " k"]]:
    """The numbers of the hypotheses of each group, by belief and share."""
    kernels, top = hypotheses.processes.kernels, int(hypotheses.fitted_rows[-1])
    count = len(kernels.lengthscales)
    kind_of = {top: FITTED} | dict.fromkeys(range(top + 1, top + 4), FIXED)  # the rest are of old data's length-scales
    found: dict[Group, list[int]] = {}
    for row, (label, shares) in enumerate(zip(hypotheses.labels, hypotheses.processes.shares, strict=True)):
        learnt, share = shares[count:], round(float(shares[count:].sum()), 6)
        group = Group(label.belief)
        if share:  # aligned is labelled uninformed where old data is taken for noise
            belief = _TRIED.get(type(kernels.others[int(learnt.argmax())]), "aligned")
            kind = kind_of.get(int(shares[:count].argmax()), SHAPE) if share < 1 else ""
            group = Group(belief, share, kind)
        found.setdefault(group, []).append(row)
    return {group: torch.tensor(rows) for group, rows in found.items()}


def weigh_groups(
    hypotheses: Hypotheses,
    groups: Sequence[Tensor],
    x: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    some: Tensor,
    others: Tensor,
) -> tuple[Float[Tensor, " g"], Float[Tensor, "g m"]]:
    """log p(D | g) for D the standardised results `some`, and log p(y, D | g) for each of the `others`.

    Amplitudes are integrated out: y | D, h is Student-t. Within a group hypotheses have their prior probabilities.
    """
    shift, scale = y[some].mean(), y[some].std().clamp_min(1e-12)
    y = (y - shift) / scale
    fitted = hypotheses.fit_lengthscales(x[some], y[some])
    stack, x_both = fitted.processes.kernels, torch.cat([x[some], x[others]])
    cross, variance = stack.evaluate_matrices(x_both, x[some]), stack.evaluate_variances(x_both[len(some) :])
    evidence, joint = [], []
    for rows in groups:
        processes = fitted.processes.select(rows)
        used = (processes.shares != 0).any(0).nonzero().flatten()
        part = torch.tensordot(processes.shares[:, used], cross[used], dims=1) + processes.constant
        at_others = processes.shares[:, used] @ variance[used] + processes.constant + processes.noise[:, None]
        factor = cholesky(processes.add_noise_(part[:, : len(some)].clone()))
        white = torch.linalg.solve_triangular(factor, y[some].expand(len(rows), -1)[..., None], upper=False)
        known = torch.linalg.solve_triangular(factor, part[:, len(some) :].mT, upper=False)
        certainty = fitted.certainty[rows]
        each = compute_log_evidence(factor.diagonal(dim1=-2, dim2=-1), white, certainty) - len(some) / 2 * log(2 * pi)
        freedom = 2 * certainty + len(some)
        squared = (2 * certainty + white.square().sum((-2, -1))) / freedom
        spread = (squared[:, None] * (at_others - known.square().sum(-2)).clamp_min(1e-12)).sqrt()
        student = torch.distributions.StudentT(freedom[:, None], (known.mT @ white)[..., 0], spread)
        log_prior = fitted.log_prior[rows]
        is_drawn = fitted.from_prior[rows] | fitted.near_top[rows]
        # Draws of the plain process have importance weights, which need not add up to 1.
        log_prior = log_prior - (log(UninformedBelief.mass) if bool(is_drawn.any()) else torch.logsumexp(log_prior, 0))
        evidence.append(torch.logsumexp(log_prior + each, 0))
        joint.append(torch.logsumexp((log_prior + each)[:, None] + student.log_prob(y[others]), 0))
    return torch.stack(evidence), torch.stack(joint)


def gather_results(
    hypotheses: Hypotheses, x: Float[Tensor, "n d"], y: Float[Tensor, " n"], first: Tensor, most: int
) -> Tensor:
    """The rows of the pool that a campaign chooses: the first ones, then by expected improvement of the plain process.

    The plain process is its draws from the prior, weighed by their evidence. It ends at half the pool.
    """
    plain = hypotheses.processes.take(hypotheses.from_prior.nonzero().flatten())
    certainty, log_prior = hypotheses.certainty[hypotheses.from_prior], hypotheses.log_prior[hypotheses.from_prior]
    covariance, normal = plain.compute_covariance(x, x), torch.distributions.Normal(0.0, 1.0)
    seen = first
    while len(seen) < min(most, len(x) // 2):
        told = (y[seen] - y[seen].mean()) / y[seen].std().clamp_min(1e-12)
        factor = cholesky(plain.add_noise_(covariance[:, seen[:, None], seen]))
        white = torch.linalg.solve_triangular(factor, told.expand(len(plain), -1)[..., None], upper=False)
        known = torch.linalg.solve_triangular(factor, covariance[:, seen], upper=False)
        score = log_prior + compute_log_evidence(factor.diagonal(dim1=-2, dim2=-1), white, certainty)
        amplitude = (certainty + white.square().sum((-2, -1)) / 2) / (certainty + len(seen) / 2)
        left = covariance.diagonal(dim1=-2, dim2=-1) - known.square().sum(-2)
        deviation = (amplitude[:, None] * left.clamp_min(1e-12)).sqrt()
        ahead = ((known.mT @ white)[..., 0] - told.max()) / deviation
        improvement = deviation * (normal.log_prob(ahead).exp() + ahead * normal.cdf(ahead))
        expected = score.softmax(0) @ improvement
        expected[seen] = -1.0
        seen = torch.cat([seen, expected.argmax()[None]])
    return seen


def make_study(corpus: str, kept: str | None) -> Study[EvidenceJob]:
    """The study of the pairs in a folder; where they are is part of no result."""
    return Study("evidence", EvidenceJob, partial(compute_measures, corpus, kept), f"{_COMMAND} --corpus DIR")


def arrange(results: pd.DataFrame) -> pd.DataFrame:
    """A row for each pair, seed and set of results, with the family; a column for each measure and arm."""
    kinds = [(f"{design} {count}", measure) for design, count in RESULT_SETS for measure in MEASURES]
    named = results.assign(
        family=results["problem"].str.partition("__")[0],
        results=[kinds[step - 1][0] for step in results["step"]],
        measure=[kinds[step - 1][1] for step in results["step"]],
    )
    index = ["family", "problem", "seed", "results"]
    return named.pivot(index=index, columns=["measure", "arm"], values="value")


def compare(table: pd.DataFrame, arm: str, measure: str, against: str = DEFAULT) -> pd.DataFrame:
    """How much better than another an arm is, by family and set of results: the mean over pairs and seeds."""
    gain = table[measure, arm] - table[measure, against]
    return gain.groupby(["family", "results"]).mean().unstack("results")


def tables(results: pd.DataFrame) -> dict[str, str]:
    """What each arm gains over the default: every measure over families, and evidence by family and by group."""
    table = arrange(results)
    arms = [arm for arm in ARMS if arm in results["arm"].unique() and arm != DEFAULT]
    there = table.index.get_level_values("family").unique()
    sets = [f"{design} {count}" for design, count in RESULT_SETS]
    found = {}
    for measure in MEASURES:
        rows = {}
        for arm in arms:
            gains = compare(table, arm, measure)
            for what, families in (("chosen on", CHOSEN_ON), ("checked on", CHECKED_ON)):
                some = gains.loc[[one for one in families if one in there], sets]
                if len(some):
                    rows[arm, what] = [*some.mean(), some.mean(axis=None)]
        columns = [*sets, "mean"]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns).round(3)
        frame.index = pd.Index([f"{arm}; {what}" for arm, what in rows], name="arm; families")
        found[f"evidence {measure.replace(', ', ' ')}"] = markdown(frame.map(lambda value: f"{value:+.3f}"))
    by_family = pd.DataFrame({arm: compare(table, arm, "evidence")[sets].mean(axis=1) for arm in arms})
    group_of = {family: group for group, families in GROUPS.items() for family in families}
    for kind, frame in (("families", by_family), ("groups", by_family.groupby(by_family.index.map(group_of)).mean())):
        found[f"evidence {kind}"] = markdown(frame.map(lambda value: f"{value:+.3f}"))
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--corpus", metavar="DIR", help="a folder of pairs named FAMILY__NAME")
    parser.add_argument("--kept", metavar="DIR", help="where to keep what all arms share, and look for it")
    parser.add_argument("--seeds", metavar="LO-HI", type=seeds_between, default=SEEDS, help="only these")
    parser.add_argument("--families", metavar="NAME", nargs="+", help="only these")
    parser.add_argument("--workers", type=int, metavar="N", help="pairs at a time; one for each core by default")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where results go, instead of into the project")
    parser.add_argument("--smoke", action="store_true", help="one pair, one seed, nothing stored")
    parser.add_argument("--tables", action="store_true", help="run nothing; tables of all that is stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and print the tables."""
    if arguments.tables:
        results = read_results("evidence", arguments.out)
    else:
        if arguments.corpus is None:
            raise InputError("Give --corpus, a folder of pairs, or --tables for what is stored.")
        wanted = arguments.families or [*CHECKED_ON, *CHOSEN_ON]
        names = [path.name for family in wanted for path in sorted(Path(arguments.corpus).glob(f"{family}__*"))]
        if not names:
            raise InputError(f"{arguments.corpus} has no folder FAMILY__NAME of the families {', '.join(wanted)}.")
        seeds = range(1) if arguments.smoke else arguments.seeds
        names = names[:1] if arguments.smoke else names
        jobs = [EvidenceJob(name, seed, arm) for seed in seeds for name in names for arm in ARMS]
        study = make_study(arguments.corpus, arguments.kept)
        results = run_all(study, jobs, None if arguments.smoke else arguments.out, arguments.workers)
        results = results if arguments.smoke else read_results("evidence", arguments.out)
    print("\n\n".join(f"{name}\n\n{table}" for name, table in tables(results).items()))
