"""Make the model that the name of a prior stands for: the average over beliefs, a single belief, or no old data."""

from collections.abc import Mapping

from tunedprior.beliefs import UninformedBelief, list_beliefs
from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.goals.goal import Goal
from tunedprior.goals.goals import Goals
from tunedprior.kernels import FreeKernel
from tunedprior.kernels.free_kernel import refuse_other_kernels
from tunedprior.model_averaging.average import Average
from tunedprior.model_averaging.source_fits import fit_sources
from tunedprior.models.surrogate import CachingSurrogate, Surrogate
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.pretraining import check_weight_prior, pretrain_or_warn
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.sources import LoadedSource, find_reversed_sources, make_common_box
from tunedprior.weight_prior.tuned_prior import TunedPrior

AVERAGE, UNINFORMED = "average", UninformedBelief.name
#: The paper's Algorithm 1 to the letter; "reweighted" is the same with the changes that docs/algorithm1.md lists.
AS_PRINTED = "as printed"


def list_prior_names() -> tuple[str, ...]:
    """The names that `Optimizer(prior=…)` accepts."""
    return (AVERAGE, *(one.name for one in list_beliefs() if one.stands_alone), AS_PRINTED)


def make_plain_surrogate(space: Space, box: Box | None = None) -> CachingSurrogate:
    """The process without old data, in a box that holds the search space: by default the box around it."""
    box = Box.enclose(space) if box is None else box
    return Average(box, (), axes=box.make_kernel_axes(space))


def make_surrogate(
    prior: str,
    old: Mapping[str, LoadedSource],
    space: Space,
    *,
    kernel: FreeKernel | None = None,
    ard: bool = False,
    seed: int = 0,
    relations: Mapping[str, str] | None = None,
    direction: Goal = "maximize",
    within: Box | None = None,
) -> Surrogate:
    """Make the model for the name of a prior; without usable old data, the process without old data.

    Args:
        prior: One of `list_prior_names()`.
        old: Old data sets by name, as `read_sources` gives them.
        space: The search space.
        kernel: The free kernel that learns; None: `SquaredExponential`, for the average at several length-scales.
        ard: Whether the kernel of "reweighted" (or "as printed") has one length-scale per input. The average always
            tries both.
        seed: The seed of random choices of rows.
        relations: The user's knowledge of each old data set (see `parse_relations`).
        direction: "maximize", "minimize", or a target.
        within: The box of the model; the one around the space and this old data, when left out.
    """
    if not isinstance(prior, str) or prior not in list_prior_names():
        raise InputError(f"prior must be one of {', '.join(list_prior_names())}; got {format_value(prior)}.")
    if kernel is not None:
        refuse_other_kernels(kernel)
    plain = make_plain_surrogate(space, within)
    if not old or prior == UNINFORMED:
        return plain
    as_printed, reversed_sources = prior == AS_PRINTED, find_reversed_sources(old, direction)
    if as_printed or prior == ReweightedBelief.name or kernel is not None:
        one = _get_only_set(old, prior, kernel is not None)
        if isinstance(one, WeightPrior):
            learnt = check_weight_prior(one, space)
        else:
            learnt = pretrain_or_warn(one, space, kernel=kernel, ard=ard, as_printed=as_printed, seed=seed)
        if learnt is None:
            return plain
        if as_printed or prior == ReweightedBelief.name:
            return TunedPrior(learnt, as_printed=as_printed)
        old = {next(iter(old)): learnt}
    box, known = fit_sources(old, space, seed, relations, direction, within, reversed_sources)
    if not known:
        return plain
    axes = box.make_kernel_axes(space)
    return Average(box, known, axes=axes) if prior == AVERAGE else Average(box, known, (prior,), True, axes)


def make_surrogates(
    goals: Goals,
    prior: str,
    old: Mapping[str, Mapping[str, LoadedSource]],
    space: Space,
    *,
    kernel: FreeKernel | None = None,
    ard: bool = False,
    seed: int = 0,
    relations: Mapping[str, str] | None = None,
    within: Box | None = None,
) -> dict[str, Surrogate]:
    """A model for each response, by name; several of them share one box (see `make_surrogate`)."""
    if within is None and len(goals.responses) > 1:
        within = make_common_box(old.values(), space)
    return {
        one.name: make_surrogate(
            prior,
            old[one.name],
            space,
            kernel=kernel,
            ard=ard,
            seed=seed,
            relations=relations,
            direction=one.direction,
            within=within,
        )
        for one in goals.responses
    }


def _get_only_set(old: Mapping[str, LoadedSource], prior: str, own_kernel: bool) -> LoadedSource:
    if len(old) > 1:
        what = "A kernel of your own" if own_kernel else f"prior={prior!r}"
        raise InputError(
            f"{what} learns from one old data set; got {len(old)} ({format_list(old)}). "
            "Join them into one table, or use prior='average' without kernel=."
        )
    return next(iter(old.values()))
