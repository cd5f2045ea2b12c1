"""Where an acquisition function is largest, among the settings that are allowed."""

import torch
from botorch.acquisition import AcquisitionFunction, AnalyticAcquisitionFunction
from botorch.optim import optimize_acqf, optimize_acqf_discrete_local_search, optimize_acqf_mixed_alternating
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from botorch.optim.initializers import initialize_q_batch
from botorch.utils.sampling import draw_sobol_samples
from jaxtyping import Bool, Float, Float64
from numpy import ndarray
from torch import Tensor

from tunedprior.acquisition.lattice import Lattice
from tunedprior.average.acquisition import MixtureAcquisition
from tunedprior.numerics.isolation import ENDED_EARLY, NEGATIVE_VARIANCE, OwnGenerator, quietly

_RESTARTS = 8
_RAW_SAMPLES = 256
_MOST_VALUES = 1_000  # of a discrete parameter, that are tried one by one
_EVALUATED_AT_ONCE = 1024
_MOST_STEPS = 2000
_TRIES = 4  # with more raw samples each, before a flat acquisition function is taken for one
_SAME = 1e-9  # codes closer than this are the same setting
#: Settings of a batch differ by more than this share of the search space's range in some parameter.
APART = 0.01
# Acquisition functions that look at a mean and a variance; others may have samples or fantasies of every member.
_CHEAP = (AnalyticAcquisitionFunction, MixtureAcquisition)


def maximize(
    acquisition: AcquisitionFunction,
    lattice: Lattice,
    avoid: Float[Tensor, "n k"],
    seed: int,
    choices: Float[Tensor, "c k"] | None = None,
    pending: Float[Tensor, "p k"] | None = None,
) -> Float[Tensor, " k"]:
    """Codes with the largest acquisition value that are, while there are such, neither known nor near a pending one.

    Known are those to avoid. Near is a setting within 1 % of every parameter's range.

    From the given choices; or exhaustively, when the space has up to 10,000 settings; or by local search, when it has
    more; or by multi-start gradient ascent, alternating with local search if some parameters are discrete.
    """
    choices = lattice.every() if choices is None else choices
    pending = avoid[:0] if pending is None else pending
    by_hand = MixtureAcquisition.of(acquisition)
    if by_hand is not None and (choices is not None or not lattice.discrete):
        # Neither process-wide settings nor BoTorch's random numbers: any number of threads at once.
        if choices is None:
            return _climbed(by_hand, lattice, seed, pending)
        return _best_of(by_hand, choices, _preferred(choices, lattice, avoid, pending))
    acquisition = acquisition if by_hand is None else by_hand
    with quietly(ENDED_EARLY, NEGATIVE_VARIANCE), OwnGenerator(seed):
        if choices is None:
            return _searched(acquisition, lattice, avoid, pending)
        return _best_of(acquisition, choices, _preferred(choices, lattice, avoid, pending))


def _preferred(
    choices: Float[Tensor, "c k"], lattice: Lattice, avoid: Float[Tensor, "n k"], pending: Float[Tensor, "p k"]
) -> Bool[Tensor, " c"]:
    """Which choices are neither known nor near a pending one; if none, those not known; if none, all."""
    fresh = ~is_among(choices, avoid)
    apart = fresh & ~is_near(choices, pending, lattice)
    return apart if apart.any() else fresh if fresh.any() else ~fresh


def _best_of(
    acquisition: AcquisitionFunction, choices: Float[Tensor, "c k"], among: Bool[Tensor, " c"]
) -> Float[Tensor, " k"]:
    """The choice with the largest value."""
    choices = choices[among]
    return choices[int(_values(acquisition, choices[:, None]).argmax())]


def _searched(
    acquisition: AcquisitionFunction, lattice: Lattice, avoid: Float[Tensor, "n k"], pending: Float[Tensor, "p k"]
) -> Float[Tensor, " k"]:
    """The maximiser that BoTorch's routines find in a space with continuous parameters or too many settings to list."""
    fixed, lists = lattice.fixed or None, lattice.lists()
    at_once = _EVALUATED_AT_ONCE if isinstance(acquisition, _CHEAP) else 2 * _RESTARTS
    if lists is not None:
        found, _ = optimize_acqf_discrete_local_search(
            acquisition, lists, q=1, num_restarts=_RESTARTS, raw_samples=_RAW_SAMPLES, X_avoid=avoid
        )
    elif not lattice.discrete:
        ends, values = optimize_acqf(
            acquisition, lattice.bounds, q=1, num_restarts=_RESTARTS, raw_samples=_RAW_SAMPLES, fixed_features=fixed,
            options={"batch_limit": _RESTARTS, "init_batch_limit": at_once}, return_best_only=False,
        )  # fmt: skip
        assert values is not None  # None is for sequential optimisation of several points
        return _largest_apart(ends.squeeze(-2), values, pending, lattice)
    else:
        found, _ = optimize_acqf_mixed_alternating(
            acquisition,
            lattice.bounds,
            discrete_dims=lattice.values,
            cat_dims=lattice.categories,
            fixed_features=fixed,
            num_restarts=_RESTARTS,
            raw_samples=_RAW_SAMPLES,
            options={
                "init_batch_limit": at_once,
                "max_discrete_values": _MOST_VALUES,
                "maxiter_alternating": 16,
            },
        )
    return found[0]


def _climbed(
    acquisition: MixtureAcquisition, lattice: Lattice, seed: int, pending: Float[Tensor, "p k"]
) -> Float[Tensor, " k"]:
    """What `optimize_acqf` finds, from the same starts by the same algorithm, with the acquisition's own gradients."""

    def badness(codes: Float64[ndarray, "b k"]) -> tuple[Float64[ndarray, " b"], Float64[ndarray, "b k"]]:
        values, gradients = acquisition.values_and_gradients(torch.from_numpy(codes))
        return -values.numpy(), -gradients.numpy()

    starts = _starts(acquisition, lattice, seed).squeeze(-2).numpy()
    ends, values, _ = fmin_l_bfgs_b_batched(  # type: ignore[no-untyped-call]  # BoTorch has no types for it
        badness, starts, lattice.bounds.T.tolist(), maxiter=_MOST_STEPS
    )
    low, high = lattice.bounds
    return _largest_apart(torch.from_numpy(ends).clamp(low, high), -torch.as_tensor(values), pending, lattice)


def _largest_apart(
    found: Float[Tensor, "r k"], values: Float[Tensor, " r"], pending: Float[Tensor, "p k"], lattice: Lattice
) -> Float[Tensor, " k"]:
    """Of several maxima the largest that is not near a pending setting; the largest, if all are near one."""
    values = values.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
    near = is_near(found, pending, lattice)
    return found[int((values if near.all() else values.masked_fill(near, -torch.inf)).argmax())]


def _starts(acquisition: AcquisitionFunction, lattice: Lattice, seed: int) -> Float[Tensor, "r 1 k"]:
    """What BoTorch's `gen_batch_initial_conditions` draws with this seed, without its changes to warning filters."""
    with OwnGenerator(seed):
        for factor in range(1, _TRIES + 1):
            samples = draw_sobol_samples(lattice.bounds, n=_RAW_SAMPLES * factor, q=1)
            for column, code in lattice.fixed.items():
                samples[..., column] = code
            values = _values(acquisition, samples)
            if values.std() != 0:
                return initialize_q_batch(samples, values, _RESTARTS)[0]
        return samples[torch.randperm(len(samples))[:_RESTARTS]]


@torch.no_grad()
def _values(acquisition: AcquisitionFunction, codes: Float[Tensor, "n 1 k"]) -> Float[Tensor, " n"]:
    at_once = _EVALUATED_AT_ONCE if isinstance(acquisition, _CHEAP) else 2 * _RESTARTS
    return torch.cat([acquisition(some) for some in codes.split(at_once)])


def is_near(codes: Float[Tensor, "n k"], others: Float[Tensor, "m k"], lattice: Lattice) -> Bool[Tensor, " n"]:
    """For each row of codes, whether it is within 1 % of every range (and has the same categories) as one of others."""
    low, high = lattice.bounds
    reach = APART * (high - low)
    reach[list(lattice.categories)] = 0.0
    near: Tensor = ((codes[:, None] - others).abs() <= reach + _SAME).all(-1).any(-1)
    return near


def is_among(codes: Float[Tensor, "n k"], others: Float[Tensor, "m k"]) -> Bool[Tensor, " n"]:
    """For each row of codes, whether it is among the others up to rounding."""
    return ((codes[:, None] - others).abs() <= _SAME).all(-1).any(-1)
