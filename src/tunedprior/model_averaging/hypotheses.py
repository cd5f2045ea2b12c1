"""Hypotheses: the Gaussian processes that the average is over, with shared kernels and prior probabilities."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from math import inf, log, sqrt
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tunedprior.beliefs.registry import Belief, PriorCovariance
from tunedprior.beliefs.uninformed import CONSTANT, UninformedBelief, make_plain_prior
from tunedprior.kernels.sections import KernelStack
from tunedprior.numerics.hyperparameters import draw_hyperparameters
from tunedprior.numerics.stationary import Axes
from tunedprior.weight_prior.sources import SourceData


@dataclass(frozen=True, eq=False)
class Processes:
    """f_s ~ GP(0, a_s (c + Σ_r h_sr K_r)), observed with noise of variance a_s η_s, for every process s.

    Attributes:
        kernels: K_1, …, K_r.
        shares: h, the share of each kernel in each process.
        noise: η, the noise variance relative to the amplitude.
        constant: c, the prior variance of the constant mean, relative to the amplitude.
    """

    kernels: KernelStack
    shares: Float[Tensor, "s r"]
    noise: Float[Tensor, " s"]
    constant: float

    def __len__(self) -> int:
        return len(self.shares)

    def select(self, which: Int[Tensor, " k"] | Bool[Tensor, " s"]) -> "Processes":
        """The subset `which` of the processes, with all kernels."""
        return replace(self, shares=self.shares[which], noise=self.noise[which])

    def take(self, which: Int[Tensor, " k"]) -> "Processes":
        """The subset `which` of the processes, with only the kernels that they have a share in."""
        some = self.select(which)
        used = (some.shares != 0).any(0).nonzero().flatten()
        return replace(some, kernels=self.kernels.take(used), shares=some.shares[:, used])

    def compute_covariance(
        self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"]
    ) -> Float[Tensor, "*batch s n k"]:
        """cov(f_s(x1), f_s(x2))/a_s."""
        return self.mix_kernels(self.kernels.evaluate_matrices(x1, x2), dims=2)

    def compute_variance(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch s n"]:
        """var(f_s(x))/a_s."""
        return self.mix_kernels(self.kernels.evaluate_variances(x), dims=1)

    def add_noise_(
        self, covariance: Float[Tensor, "*batch s n n"], relative_noise: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, "*batch s n n"]:
        """cov(y)/a_s, the covariance of noisy observations, from cov(f_s)/a_s, in place.

        With `relative_noise`, the noise variance of each observation is that multiple of η.
        """
        noise = self.noise[:, None]
        covariance.diagonal(dim1=-2, dim2=-1).add_(noise if relative_noise is None else noise * relative_noise)
        return covariance

    def mix_kernels(self, parts: Float[Tensor, "..."], dims: int) -> Float[Tensor, "..."]:
        """c + Σ_r h_sr K_r, from the kernels' matrices (`dims` 2) or diagonals (1)."""
        mixed: Tensor = torch.tensordot(self.shares, parts, dims=1).add_(self.constant)
        return mixed.movedim(0, -1 - dims)


# -- the prior, as probabilities and grids; docs/beliefs.md says how they were chosen -----------------
# Length-scales of remainders, for two parameters; for g of them they grow with √g, as distances in the box do.
_REMAINDERS = (0.25, 0.6, 1.7)
#: Noise variances, relative to the amplitude: from none to dominant.
NOISES = (1e-4, 5e-3, 0.1, 0.5, 1.5)
# Draws of the plain process near its most probable length-scales and noise, and how much wider than these are known.
_DRAWS_NEAR, _WIDENED = 48, 1.3


@dataclass(frozen=True)
class SharePrior:
    """The prior of h, the share that a belief has in the variance; a remainder has the rest.

    Attributes:
        pure: The probability of h = 1, without a remainder.
        shares: The other values of h, which divide 1 - `pure` equally.
    """

    pure: float = 0.5
    shares: tuple[float, ...] = (0.5, 0.9, 0.99)


DEFAULT_SHARES = SharePrior()


@dataclass(frozen=True)
class Label:
    """The names of a hypothesis' belief and of its old data set, if any."""

    belief: str
    old: str = ""


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Gaussian processes with a prior probability each.

    Attributes:
        processes: One process for each hypothesis.
        log_prior: The logarithms of their prior probabilities (up to a constant).
        labels: The belief and the old data set of each.
        slopes: The prior variance of ρ over the amplitude, for each, where the objective is ρ·ĝ + …; 0 without ρ.
        fit_indices: The number of the fit of old data that is ĝ, for each; -1 for none.
        certainty: c of each amplitude's prior inverse gamma(c, c) (see `evidence.compute_log_evidence`).
        from_prior: Whether a hypothesis is a draw of the plain process from its prior.
        near_top: Whether its length-scales are drawn near the most probable ones, once there are observations.
        fitted_rows: The numbers of the kernels whose length-scales depend on the observations: first those drawn near
            the most probable ones, last the most probable ones themselves, one of the remainders.
        axes: The parameters, and the units of length-scales that do not come from old data.
    """

    processes: Processes
    log_prior: Float[Tensor, " c"]
    labels: tuple[Label, ...]
    slopes: Float[Tensor, " c"]
    fit_indices: tuple[int, ...]
    certainty: Float[Tensor, " c"]
    from_prior: Bool[Tensor, " c"]
    near_top: Bool[Tensor, " c"]
    fitted_rows: Int[Tensor, " r"]
    axes: Axes

    def __len__(self) -> int:
        return len(self.log_prior)

    @property
    def uses_fitted(self) -> Bool[Tensor, " c"]:
        """Whether a hypothesis has a share in a kernel whose length-scales depend on the observations."""
        return (self.processes.shares[:, self.fitted_rows] != 0).any(-1)

    def drop_noise_variants(self) -> "Hypotheses":
        """Keep one of the hypotheses that differ only in their noise variance, for data whose noise is known.

        It is the one with the least variance of the grid, which the caller replaces. Draws of the plain process have no
        such variants, and all are kept.
        """
        once = (self.processes.noise == NOISES[0]) | self.from_prior | self.near_top
        return replace(
            self,
            processes=self.processes.select(once),
            log_prior=self.log_prior[once],
            labels=tuple(compress(self.labels, once)),
            slopes=self.slopes[once],
            fit_indices=tuple(compress(self.fit_indices, once)),
            certainty=self.certainty[once],
            from_prior=self.from_prior[once],
            near_top=self.near_top[once],
        )

    def fit_lengthscales(
        self, x: Float[Tensor, "n d"], y: Float[Tensor, " n"], noise_variance: float | None = None
    ) -> "Hypotheses":
        """Add draws of the plain process near its most probable length-scales and noise, given y at x.

        The prior probabilities of all its draws become importance weights (see `hyperparameters.draw_hyperparameters`),
        so that their evidence is that of a plain process with unknown length-scales: fitting is no advantage over other
        hypotheses.
        """
        prior = make_plain_prior(len(self.axes))
        drawn = prior.sample(int(self.from_prior.sum()))
        if noise_variance is not None:
            prior = prior.fix_noise(noise_variance)
            drawn[:, -1] = prior.mean[-1]
        found = draw_hyperparameters(
            prior, drawn, self.axes.compute_squared_distances(x, x), y, int(self.near_top.sum()), _WIDENED
        )
        near = found.theta[len(drawn) :]
        lengths = torch.cat([near, found.most_probable[None]])[:, :-1].exp()
        kernels = self.processes.kernels
        fitted = kernels.lengthscales.index_put((self.fitted_rows,), self.axes.expand_lengthscales(lengths))
        kernels = replace(kernels, lengthscales=fitted)
        noise = self.processes.noise.masked_scatter(self.near_top, near[:, -1].exp())
        weights = found.log_weight + log(UninformedBelief.mass)
        log_prior = self.log_prior.masked_scatter(self.from_prior | self.near_top, weights)
        return replace(self, processes=replace(self.processes, kernels=kernels, noise=noise), log_prior=log_prior)


@dataclass(frozen=True)
class _Row:
    """One hypothesis: its shares of the kernels, and its entries of `Hypotheses`."""

    shares: dict[PriorCovariance, float]
    noise: float | None
    log_prior: float
    label: Label
    certainty: float
    slope: float = 0.0
    fit_index: int = -1
    from_prior: bool = False
    near_top: bool = False


def build_hypotheses(
    sources: Sequence[SourceData],
    axes: Axes,
    beliefs: Sequence[Belief],
    alone: bool = False,
    share_prior: SharePrior = DEFAULT_SHARES,
) -> Hypotheses:
    """Build all hypotheses: each belief's versions for each old data set, with and without remainders, at each noise.

    Args:
        sources: The old data sets.
        axes: The parameters, and the units of length-scales that do not come from old data.
        beliefs: The beliefs to average over, besides uninformed.
        alone: Whether to use these beliefs alone: without uninformed and remainders, and whatever they cost.
        share_prior: The prior of a belief's share in the variance.
    """
    uninformed, lengths = UninformedBelief(), torch.ones(len(axes), dtype=torch.float64)
    drawn = uninformed.make_prior_covariances((), axes)
    unknown = axes.expand_lengthscales(lengths)  # until there are observations
    near = [PriorCovariance(unknown, -inf, noise=1.0) for _ in range(_DRAWS_NEAR)]
    top = PriorCovariance(unknown, -inf)
    spread = sqrt(len(axes) / 2)
    common = [PriorCovariance(axes.expand_lengthscales(spread * length * lengths), 0.0) for length in _REMAINDERS]
    rows = [
        _Row({one: 1.0}, one.noise, one.log_prior, Label(uninformed.name), uninformed.certainty, **kind)
        for some, kind in ((drawn, {"from_prior": True}), (near, {"near_top": True}))
        for one in some
    ]
    independent = []
    for one in beliefs:
        if not one.uses_old_data and one.name != uninformed.name:
            for version in one.make_prior_covariances((), axes):
                independent.append(version)
                rows += _make_noise_variants({version: 1.0}, version.log_prior, Label(one.name), one.certainty)
    informed, remainders = [], {old.name: [*common, top] for old in sources}
    without = list(_list_versions(sources, axes, [one for one in beliefs if not one.has_remainder], alone))
    for one, old, version in without:
        if version.is_remainder:
            remainders[old.name].append(version)
        prior = version.log_prior - log(len(sources))
        informed += _make_noise_variants({version: 1.0}, prior, Label(one.name, old.name), one.certainty)
    with_remainder = [one for one in beliefs if one.has_remainder and one.uses_old_data]
    every = list(_list_versions(sources, axes, with_remainder, alone))
    for one, old, version in every:
        among = [other for belief, set_, other in every if belief is one and set_ is old]
        likely = old.get_fit_weight(version.fit_index) / sum(old.get_fit_weight(other.fit_index) for other in among)
        prior = version.log_prior + log(likely / (len(sources) * len(with_remainder)))
        label = Label(one.name, old.name) if version.is_informative else Label(uninformed.name)
        for shares, log_prior, part in _mix_with_remainders(
            version, prior, [] if alone else remainders[old.name], share_prior
        ):
            slope = part * version.slope_variance
            informed += _make_noise_variants(
                shares, log_prior, label, one.certainty, slope=slope, fit_index=version.fit_index
            )
    covariances = [*drawn, *near, *independent, top, *common, *(version for _, _, version in [*without, *every])]
    return _collect_rows(informed if alone else rows + informed, covariances, [*near, top], axes)


def _list_versions(
    sources: Sequence[SourceData], axes: Axes, beliefs: Sequence[Belief], whatever_the_cost: bool
) -> Iterator[tuple[Belief, SourceData, PriorCovariance]]:
    """List all versions of the beliefs that depend on old data, for each old data set."""
    for old in sources:
        for one in beliefs:
            if one.uses_old_data:
                for version in one.make_prior_covariances(old.fits, axes, whatever_the_cost):
                    yield one, old, version


def _mix_with_remainders(
    version: PriorCovariance, log_prior: float, remainders: Sequence[PriorCovariance], prior: SharePrior
) -> Iterator[tuple[dict[PriorCovariance, float], float, float]]:
    """A belief without and with each remainder: shares of kernels, log prior probability, the belief's own share."""
    yield {version: 1.0}, log_prior + log(prior.pure), 1.0
    rest = log_prior + log((1 - prior.pure) / (len(prior.shares) * max(1, len(remainders))))
    for share in prior.shares:
        for remainder in remainders:
            yield {version: share, remainder: 1 - share}, rest, share


def _make_noise_variants(
    shares: dict[PriorCovariance, float], log_prior: float, label: Label, certainty: float, **more: Any
) -> list[_Row]:
    """One hypothesis for each noise variance; they divide its prior probability."""
    return [_Row(shares, noise, log_prior - log(len(NOISES)), label, certainty, **more) for noise in NOISES]


def _collect_rows(
    rows: Sequence[_Row], covariances: Sequence[PriorCovariance], fitted: Sequence[PriorCovariance], axes: Axes
) -> Hypotheses:
    """The hypotheses on a stack of all kernels: Matérn kernels first, then all others."""
    others = [one for one in covariances if isinstance(one.covariance, Kernel)]
    materns = [one for one in covariances if not isinstance(one.covariance, Kernel)]
    kernels = KernelStack(
        torch.stack([one.covariance for one in materns]),
        tuple(one.covariance for one in others),
        tuple(one.mean_variance for one in others),
    )
    number = {one: row for row, one in enumerate([*materns, *others])}
    shares = torch.zeros(len(rows), len(kernels), dtype=torch.float64)
    for position, row in enumerate(rows):
        for one, share in row.shares.items():
            shares[position, number[one]] = share
    noise = torch.tensor([row.noise for row in rows], dtype=torch.float64)
    return Hypotheses(
        Processes(kernels, shares, noise, CONSTANT),
        torch.tensor([row.log_prior for row in rows], dtype=torch.float64),
        tuple(row.label for row in rows),
        torch.tensor([row.slope for row in rows], dtype=torch.float64),
        tuple(row.fit_index for row in rows),
        torch.tensor([row.certainty for row in rows], dtype=torch.float64),
        torch.tensor([row.from_prior for row in rows]),
        torch.tensor([row.near_top for row in rows]),
        torch.tensor([number[one] for one in fitted]),
        axes,
    )
