"""Where an acquisition function is largest, among the settings that are allowed."""

from functools import partial

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.optim import optimize_acqf, optimize_acqf_discrete_local_search, optimize_acqf_mixed_alternating
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from botorch.optim.initializers import initialize_q_batch
from botorch.utils.sampling import draw_sobol_samples
from jaxtyping import Bool, Float, Float64
from numpy import ndarray
from torch import Tensor

from tunedprior.acquisition.constrained_search import maximize_feasible
from tunedprior.acquisition.evaluation import evaluate_acquisition, get_batch_size, is_near, mask_preferred
from tunedprior.acquisition.lattice import EncodedSpace
from tunedprior.average.acquisition import MixtureAcquisition
from tunedprior.numerics.isolation import ENDED_EARLY, NEGATIVE_VARIANCE, OwnGenerator, silence_warnings

_RESTARTS = 8
_RAW_SAMPLES = 256
_MOST_VALUES = 1_000  # of a discrete parameter, that are tried one by one
_MOST_STEPS = 2000
_TRIES = 4  # with more raw samples each, before a flat acquisition function is taken for one


def maximize(
    acquisition: AcquisitionFunction,
    lattice: EncodedSpace,
    avoid: Float[Tensor, "n k"],
    seed: int,
    choices: Float[Tensor, "c k"] | None = None,
    pending: Float[Tensor, "p k"] | None = None,
) -> Float[Tensor, " k"]:
    """Codes with the largest acquisition value that are, while there are such, neither known nor near a pending one.

    Known are those to avoid. Near is a setting within 1 % of every parameter's range.

    From the given choices; or exhaustively, when the space has up to 10,000 settings; or by local search, when it has
    more; or by multi-start gradient ascent, alternating with local search if some parameters are discrete. With
    constraints, from settings that satisfy them.
    """
    choices = lattice.list_settings() if choices is None else choices
    pending = avoid[:0] if pending is None else pending
    by_hand = MixtureAcquisition.from_botorch(acquisition)
    if choices is None and lattice.constrained is not None:
        prefer = partial(mask_preferred, lattice=lattice, avoid=avoid, pending=pending)
        if by_hand is not None:
            return maximize_feasible(by_hand, lattice, prefer, seed)
        with silence_warnings(ENDED_EARLY, NEGATIVE_VARIANCE), OwnGenerator(seed):
            return maximize_feasible(acquisition, lattice, prefer, seed)
    if by_hand is not None and (choices is not None or not lattice.discrete):
        # Neither process-wide settings nor BoTorch's random numbers: any number of threads at once.
        if choices is None:
            return _climb_with_gradients(by_hand, lattice, seed, pending)
        return _choose_best(by_hand, choices, mask_preferred(choices, lattice, avoid, pending))
    acquisition = acquisition if by_hand is None else by_hand
    with silence_warnings(ENDED_EARLY, NEGATIVE_VARIANCE), OwnGenerator(seed):
        if choices is None:
            return _search_with_botorch(acquisition, lattice, avoid, pending)
        return _choose_best(acquisition, choices, mask_preferred(choices, lattice, avoid, pending))


def _choose_best(
    acquisition: AcquisitionFunction, choices: Float[Tensor, "c k"], among: Bool[Tensor, " c"]
) -> Float[Tensor, " k"]:
    """The choice with the largest value."""
    choices = choices[among]
    return choices[int(evaluate_acquisition(acquisition, choices[:, None]).argmax())]


def _search_with_botorch(
    acquisition: AcquisitionFunction, lattice: EncodedSpace, avoid: Float[Tensor, "n k"], pending: Float[Tensor, "p k"]
) -> Float[Tensor, " k"]:
    """The maximiser that BoTorch's routines find in a space with continuous parameters or too many settings to list."""
    fixed, lists = lattice.fixed or None, lattice.list_values()
    at_once = get_batch_size(acquisition)
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
        return _choose_best_apart(ends.squeeze(-2), values, pending, lattice)
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


def _climb_with_gradients(
    acquisition: MixtureAcquisition, lattice: EncodedSpace, seed: int, pending: Float[Tensor, "p k"]
) -> Float[Tensor, " k"]:
    """What `optimize_acqf` finds, from the same starts by the same algorithm, with the acquisition's own gradients."""

    def evaluate_negative_acquisition(
        codes: Float64[ndarray, "b k"],
    ) -> tuple[Float64[ndarray, " b"], Float64[ndarray, "b k"]]:
        values, gradients = acquisition.evaluate_with_gradients(torch.from_numpy(codes))
        return -values.numpy(), -gradients.numpy()

    starts = _draw_starts(acquisition, lattice, seed).squeeze(-2).numpy()
    ends, values, _ = fmin_l_bfgs_b_batched(  # type: ignore[no-untyped-call]  # BoTorch has no types for it
        evaluate_negative_acquisition, starts, lattice.bounds.T.tolist(), maxiter=_MOST_STEPS
    )
    low, high = lattice.bounds
    return _choose_best_apart(torch.from_numpy(ends).clamp(low, high), -torch.as_tensor(values), pending, lattice)


def _choose_best_apart(
    found: Float[Tensor, "r k"], values: Float[Tensor, " r"], pending: Float[Tensor, "p k"], lattice: EncodedSpace
) -> Float[Tensor, " k"]:
    """Of several maxima the largest that is not near a pending setting; the largest, if all are near one."""
    values = values.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
    near = is_near(found, pending, lattice)
    return found[int((values if near.all() else values.masked_fill(near, -torch.inf)).argmax())]


def _draw_starts(acquisition: AcquisitionFunction, lattice: EncodedSpace, seed: int) -> Float[Tensor, "r 1 k"]:
    """What BoTorch's `gen_batch_initial_conditions` draws with this seed, without its changes to warning filters."""
    with OwnGenerator(seed):
        for factor in range(1, _TRIES + 1):
            samples = draw_sobol_samples(lattice.bounds, n=_RAW_SAMPLES * factor, q=1)
            for column, code in lattice.fixed.items():
                samples[..., column] = code
            values = evaluate_acquisition(acquisition, samples)
            if values.std() != 0:
                return initialize_q_batch(samples, values, _RESTARTS)[0]
        return samples[torch.randperm(len(samples))[:_RESTARTS]]
