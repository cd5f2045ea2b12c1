"""Weigh the hypotheses: p(h | D) ∝ p(h) p(D | h), and the posterior of ρ where the objective is ρ·ĝ + ….

All hypotheses are weighed as long as their covariance matrices fit into a budget. With more observations, hypotheses
that are negligible after half of these are left out, and as many more as it takes for the rest to fit again: memory is
bounded, and time does not grow with the cube of the observations times the number of hypotheses.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.kernels.sections import StackSection
from tunedprior.model_averaging.hypotheses import Hypotheses, Processes
from tunedprior.model_averaging.incremental import Factors, FixedLengthscales, GramMatrices
from tunedprior.numerics.linalg import compute_amplitude, compute_log_evidence
from tunedprior.weight_prior.sources import SourceData

# Upper bound on the entries of the covariance matrices of all hypotheses together.
_BUDGET = 2**25
_FEWEST = 16  # hypotheses that are kept at any number of observations
# The probability that hypotheses left out half-way may have together. In trials it never came to more than 1e-11 with
# all observations.
_NEGLIGIBLE = 1e-12
_AT_ONCE = 2**22  # entries that are factorised at once
_NOISE_ITERATIONS = 5

PartOfFactors = tuple[Int[Tensor, " _"], Factors]  # the numbers of hypotheses, and their factors


@dataclass(frozen=True, eq=False)
class Cache:
    """Work on earlier observations that the next call reuses; it changes the time and nothing else.

    Attributes:
        gram_matrices: Gram matrices and factors at the first observations.
        fixed_lengthscales: The hypotheses with length-scales fitted to observations; None if none were.
    """

    gram_matrices: GramMatrices
    fixed_lengthscales: FixedLengthscales | None = None

    def __len__(self) -> int:
        return len(self.gram_matrices)


@dataclass(frozen=True, eq=False)
class WeightedHypotheses:
    """Hypotheses with their posterior probabilities, given observations.

    Attributes:
        hypotheses: The hypotheses, with length-scales and noise as fitted to the observations.
        weights: The posterior probability of each; 0 for those left out half-way.
        amplitude: The posterior estimate 1/E[1/a | D] of each amplitude.
        factors: Cholesky factors of the observations' covariance, for all not left out; empty without observations.
    """

    hypotheses: Hypotheses
    weights: Float[Tensor, " c"]
    amplitude: Float[Tensor, " c"]
    factors: tuple[PartOfFactors, ...] = ()

    @classmethod
    def from_prior_probabilities(cls, hypotheses: Hypotheses) -> "WeightedHypotheses":
        """The hypotheses with their prior probabilities, without observations."""
        return cls(hypotheses, hypotheses.log_prior.softmax(0), torch.ones_like(hypotheses.log_prior))

    def build_dense_factors(self, which: Int[Tensor, " k"]) -> Float[Tensor, "k n n"]:
        """The Cholesky factors L of the subset `which` of the hypotheses, none of which may have been left out."""
        count = len(self.factors[0][1])
        found = self.weights.new_zeros(len(which), count, count)
        for rows, factors in self.factors:
            wanted, place = (which[:, None] == rows).nonzero(as_tuple=True)
            if len(wanted):
                found[wanted] = factors.to_dense(place)
        return found


@torch.no_grad()
def weigh_hypotheses(
    hypotheses: Hypotheses,
    x: Float[Tensor, "n d"],
    y: Float[Tensor, "n 1"],
    noise_variance: float | None = None,
    fit_lengthscales: bool = True,
    cache: Cache | None = None,
    relative_noise: Float[Tensor, " n"] | None = None,
) -> tuple[WeightedHypotheses, Cache]:
    """p(h | D) ∝ p(h) p(D | h), where p(D | h) = ∫ N(y; 0, a R_h) p(a) da, for every h; and a cache for the next call.

    Args:
        hypotheses: The hypotheses to weigh.
        x: The observed points, as kernel inputs.
        y: The observations.
        noise_variance: The variance of the noise in y, where it is known.
        fit_lengthscales: Whether some hypotheses have the length-scales that maximise the observations' evidence.
        cache: The cache returned for fewer observations; it saves time if x begins with them.
        relative_noise: The noise variance of each observation, over `noise_variance`; the same for all, when left out.
    """
    among = hypotheses if noise_variance is None else hypotheses.drop_noise_variants()
    stages = _list_stages(len(y), len(among))
    reusable = _get_matching_cache(hypotheses, among, noise_variance is None, cache)
    gram_matrices, fixed = reusable.gram_matrices.extend_to(x[: stages[0]]), None
    # Equal responses, such as those of failed runs, bear out whatever is flat: no reason to believe in anything.
    varies = bool((y != y[0]).any())
    if fit_lengthscales and varies:
        fixed = FixedLengthscales.fit(among, x, y, noise_variance, reusable.fixed_lengthscales)
        if gram_matrices.factors is not None and fixed.gram_matrices is not None:
            fixed = replace(fixed, gram_matrices=fixed.gram_matrices.extend_to(x[: stages[0]]))
        among = fixed.hypotheses
    which, score = torch.arange(len(among)), among.log_prior
    for stage, count in enumerate(stages):
        if stage:
            which = which[_select_probable(score, most=max(_FEWEST, _BUDGET // count**2))]
            processes = among.processes.take(which)
            gram = StackSection.from_stack(processes.kernels, x[:count]).evaluate(x[:count]).cross
            part = _HypothesisSubset(processes, among.certainty[which], gram)
        else:
            part = _make_first_subset(among, x[:count], gram_matrices, fixed)
        if relative_noise is not None:
            part = replace(part, relative_noise=relative_noise[:count])
        if noise_variance is not None:
            part = _apply_known_noise(part, y[:count], noise_variance)
        factors = tuple(part.compute_factors())
        evidence, amplitudes = part.compute_log_evidence(factors, y[:count])
        score = among.log_prior[which] + (evidence if varies else 0.0)
    weights, every = torch.zeros_like(among.log_prior), torch.ones_like(among.log_prior)
    noise = among.processes.noise.index_put((which,), part.processes.noise)
    held = tuple((which[rows], some) for rows, some in factors)
    weights, amplitude = weights.index_put((which,), score.softmax(0)), every.index_put((which,), amplitudes)
    among = replace(among, processes=replace(among.processes, noise=noise))
    return WeightedHypotheses(among, weights, amplitude, held), Cache(gram_matrices, fixed)


def _list_stages(count: int, num_hypotheses: int) -> list[int]:
    """The numbers of observations to weigh by, stage by stage: about twice as many each time, in the end all.

    In the first stage the covariance matrices of all hypotheses fit into the budget; before each later one the least
    probable hypotheses are left out, as many as necessary.
    """
    stages = [count]
    while stages[0] ** 2 * num_hypotheses > _BUDGET and stages[0] > 1:
        stages.insert(0, (stages[0] + 1) // 2)
    return stages


def _select_probable(score: Float[Tensor, " k"], most: int) -> Int[Tensor, " m"]:
    """The numbers of the most probable hypotheses: all but a negligible part, at most `most`."""
    order = score.argsort(descending=True, stable=True)
    enough = int((score.softmax(0)[order].cumsum(0) < 1 - _NEGLIGIBLE).sum()) + 1
    return order[: min(most, max(_FEWEST, enough))].sort().values


def _get_matching_cache(hypotheses: Hypotheses, among: Hypotheses, factorised: bool, cache: Cache | None) -> Cache:
    """The cache, if it is of these hypotheses and factorised as required; otherwise an empty one."""
    of_these = cache is not None and cache.gram_matrices.processes.kernels is hypotheses.processes.kernels
    if cache is not None and of_these and (cache.gram_matrices.factors is not None) == factorised:
        return cache
    # Known noise changes with the amplitudes, and factors with it: then only the Gram matrices are worth keeping.
    fixed = among.processes.select(~among.uses_fitted) if factorised else among.processes
    return Cache(GramMatrices.make_empty(fixed, factorised))


@dataclass(frozen=True, eq=False)
class _HypothesisSubset:
    """A subset of the hypotheses, with the Gram matrices of their kernels.

    Attributes:
        processes: The processes of the subset.
        certainty: c of each amplitude's prior inverse gamma(c, c).
        gram: K_r(D, D).
        known: The numbers of those that are factorised already, and their factors, part by part.
        relative_noise: The noise variance of each observation, over the process's own; None if they are the same.
    """

    processes: Processes
    certainty: Float[Tensor, " k"]
    gram: Float[Tensor, "r n n"]
    known: tuple[PartOfFactors, ...] = ()
    relative_noise: Float[Tensor, " n"] | None = None

    def compute_factors(self) -> Iterator[PartOfFactors]:
        """Cholesky factors of the observations' covariance, in batches of hypotheses."""
        left = torch.ones(len(self.processes), dtype=torch.bool)
        for rows, factors in self.known:
            left[rows] = False
            yield rows, factors
        for some in left.nonzero().flatten().split(max(1, _AT_ONCE // self.gram.shape[-1] ** 2)):
            processes = self.processes.select(some)
            covariance = processes.add_noise_(processes.mix_kernels(self.gram, dims=2), self.relative_noise)
            yield some, Factors.from_covariance(covariance)

    def compute_log_evidence(
        self, factors: Iterable[PartOfFactors], y: Float[Tensor, "n 1"]
    ) -> tuple[Float[Tensor, " k"], Float[Tensor, " k"]]:
        """log p(D | h) up to a constant, and the estimate of the amplitude a, for each hypothesis."""
        evidence, amplitudes = torch.empty_like(self.certainty), torch.empty_like(self.certainty)
        for some, part in factors:
            white, certainty = part.solve(y.expand(len(some), *y.shape)), self.certainty[some]
            evidence[some] = compute_log_evidence(part.get_diagonal(), white, certainty)
            amplitudes[some] = compute_amplitude(white, certainty)
        return evidence, amplitudes


def _make_first_subset(
    among: Hypotheses, x: Float[Tensor, "n d"], gram_matrices: GramMatrices, fixed: FixedLengthscales | None
) -> _HypothesisSubset:
    """All hypotheses, with the matrices and factors at x that are known already."""
    uses_fitted, known = among.uses_fitted, list[PartOfFactors]()
    if gram_matrices.factors is not None:
        known.append(((~uses_fitted).nonzero().flatten(), gram_matrices.factors))
        kept = None if fixed is None or fixed.gram_matrices is None else fixed.gram_matrices.factors
        if kept is not None:
            known.append((uses_fitted.nonzero().flatten(), kept))
            return _HypothesisSubset(among.processes, among.certainty, gram_matrices.gram, tuple(known))
    rows = among.fitted_rows
    fitted = among.processes.kernels.take(rows)
    gram = gram_matrices.gram.index_put((rows,), StackSection.from_stack(fitted, x).evaluate(x).cross)
    return _HypothesisSubset(among.processes, among.certainty, gram, tuple(known))


def _apply_known_noise(part: _HypothesisSubset, y: Float[Tensor, "n 1"], variance: float) -> _HypothesisSubset:
    """Set a known noise variance, by iteration: it is relative to the amplitudes, which depend on it."""
    amplitudes = torch.ones_like(part.certainty)
    for _ in range(_NOISE_ITERATIONS):
        part = replace(part, processes=replace(part.processes, noise=variance / amplitudes))
        _, amplitudes = part.compute_log_evidence(part.compute_factors(), y)
    return replace(part, processes=replace(part.processes, noise=variance / amplitudes))


# The probability that a user who says which way an old response runs is right.
_RIGHT = 0.98
# Hypotheses with less than this share of the weight of all that have a ρ change no digit that is shown.
_LEAST_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class Slopes:
    """ρ | D ~ N(mean, deviation²) for some hypotheses about one old data set, in standardised units.

    Attributes:
        rows: The numbers of the hypotheses.
        mean: E[ρ | D] of each.
        deviation: Its standard deviation.
        factor: The Cholesky factor of the observations' covariance R over the amplitude, of each.
        solved: R⁻¹y of each.
    """

    rows: Int[Tensor, " k"]
    mean: Float[Tensor, " k"]
    deviation: Float[Tensor, " k"]
    factor: Float[Tensor, "k n n"]
    solved: Float[Tensor, "k n 1"]

    @property
    def positive(self) -> Float[Tensor, " k"]:
        """P(ρ > 0 | D) of each."""
        probability: Tensor = torch.special.ndtr(self.mean / self.deviation)
        return probability


def compute_slopes(
    old: SourceData, weighed: WeightedHypotheses, x: Float[Tensor, "n d"], y: Float[Tensor, "n 1"]
) -> Slopes:
    """ρ | D ~ N(s ĝᵀR⁻¹y, a (s - s² ĝᵀR⁻¹ĝ)) for ρ ~ N(0, a·s) a priori and observations of covariance a·R."""
    among = weighed.hypotheses
    of_it = torch.tensor([label.old == old.name for label in among.labels]) & (among.slopes > 0)
    rows = (of_it & (weighed.weights > _LEAST_SHARE * (weighed.weights * of_it).sum())).nonzero().flatten()
    every = torch.stack([fit(x) for fit in old.fits])
    expected = every[torch.tensor(among.fit_indices)[rows], :, None]
    factor = weighed.build_dense_factors(rows)
    solved = torch.cholesky_solve(torch.cat([expected, y.expand(len(rows), *y.shape)], dim=-1), factor)
    with_itself, with_y = (expected.mT @ solved)[:, 0].unbind(-1)
    share = among.slopes[rows]
    variance = weighed.amplitude[rows] * (share - share**2 * with_itself)
    return Slopes(rows, share * with_y, variance.clamp_min(1e-300).sqrt(), factor, solved[..., 1:])


def apply_known_signs(
    weighed: WeightedHypotheses, known: tuple[SourceData, ...], x: Float[Tensor, "n d"], y: Float[Tensor, "n 1"]
) -> WeightedHypotheses:
    """p(h | D) P(ρ has the sign that the user named | D, h), for old data sets with a known relation.

    The user may be wrong: a share of the probability is kept for the other sign.
    """
    factor = torch.ones_like(weighed.weights)
    for old in known:
        if old.sign:
            slopes = compute_slopes(old, weighed, x, y)
            right = slopes.positive if old.sign > 0 else 1 - slopes.positive
            factor[slopes.rows] = (1 - _RIGHT) + (2 * _RIGHT - 1) * right
    weights = weighed.weights * factor
    return replace(weighed, weights=weights / weights.sum())
