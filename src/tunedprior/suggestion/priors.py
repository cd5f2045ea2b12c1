"""Make the model that the name of a prior stands for: the average over beliefs, a single belief, or no old data."""

from collections.abc import Mapping

from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.goals.goal import Goal
from tunedprior.model_averaging.average import Average
from tunedprior.model_averaging.source_fits import fit_sources
from tunedprior.models.surrogate import CachingSurrogate, Surrogate
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.suggestion.config import AS_PRINTED, AVERAGE, UNINFORMED, CampaignConfig, TransferConfig
from tunedprior.weight_prior.pretraining import check_weight_prior, pretrain_or_warn
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.sources import LoadedSource, find_reversed_sources, make_common_box
from tunedprior.weight_prior.tuned_prior import TunedPrior


def make_plain_surrogate(space: Space, box: Box | None = None) -> CachingSurrogate:
    """The process without old data, in a box that holds the search space: by default the box around it."""
    box = Box.enclose(space) if box is None else box
    return Average(box, (), axes=box.make_kernel_axes(space))


def make_surrogate(
    transfer: TransferConfig,
    old: Mapping[str, LoadedSource],
    space: Space,
    *,
    seed: int = 0,
    direction: Goal = "maximize",
    within: Box | None = None,
) -> Surrogate:
    """Make the model that learns from old data as configured; without usable old data, the process without.

    Args:
        transfer: How old data is used.
        old: Old data sets by name, as `read_sources` gives them.
        space: The search space.
        seed: The seed of random choices of rows.
        direction: "maximize", "minimize", or a target.
        within: The box of the model; the one around the space and this old data, when left out.
    """
    prior, kernel = transfer.prior, transfer.kernel
    plain = make_plain_surrogate(space, within)
    if not old or prior == UNINFORMED:
        return plain
    as_printed, reversed_sources = prior == AS_PRINTED, find_reversed_sources(old, direction)
    # Algorithm 1 with one kernel and one λ; without a kernel of their own, many are averaged over.
    alone = prior == ReweightedBelief.name and (
        transfer.ard or any(isinstance(one, WeightPrior) for one in old.values())
    )
    if as_printed or alone or kernel is not None:
        one = _get_only_set(old, prior, kernel is not None)
        if isinstance(one, WeightPrior):
            learnt = check_weight_prior(one, space)
        else:
            learnt = pretrain_or_warn(one, space, kernel=kernel, ard=transfer.ard, as_printed=as_printed, seed=seed)
        if learnt is None:
            return plain
        if as_printed or prior == ReweightedBelief.name:  # with a kernel of its own
            return TunedPrior(learnt, as_printed=as_printed)
        old = {next(iter(old)): learnt}
    box, known = fit_sources(old, space, seed, transfer.relations, direction, within, reversed_sources)
    if not known:
        return plain
    axes = box.make_kernel_axes(space)
    return Average(box, known, axes=axes) if prior == AVERAGE else Average(box, known, (prior,), True, axes)


def make_surrogates(
    config: CampaignConfig, old: Mapping[str, Mapping[str, LoadedSource]], within: Box | None = None
) -> dict[str, Surrogate]:
    """A model for each response, by name; several of them share one box (see `make_surrogate`)."""
    if within is None and len(config.goals.responses) > 1:
        within = make_common_box(old.values(), config.space)
    return {
        one.name: make_surrogate(
            config.transfer, old[one.name], config.space, seed=config.seed, direction=one.direction, within=within
        )
        for one in config.goals.responses
    }


def _get_only_set(old: Mapping[str, LoadedSource], prior: str, own_kernel: bool) -> LoadedSource:
    if len(old) > 1:
        what = "A kernel of your own" if own_kernel else f"prior={prior!r}"
        raise InputError(
            f"{what} learns from one old data set; got {len(old)} ({format_list(old)}). "
            "Join them into one table, or use prior='average' without kernel=."
        )
    return next(iter(old.values()))
