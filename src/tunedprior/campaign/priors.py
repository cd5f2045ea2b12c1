"""From the name of a prior and old data to a model: the average over beliefs, one of them, or none."""

from collections.abc import Mapping

from tunedprior.algorithm1.pretraining import pretrain_or_warn, usable_or_warn
from tunedprior.algorithm1.tuned_prior import TunedPrior
from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.average.old_sets import Read, common_box, learn, turned_round
from tunedprior.average.surrogate import Average
from tunedprior.beliefs import UninformedBelief, beliefs
from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.checks import listed, shown
from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel
from tunedprior.kernels.free_kernel import refuse_other_kernels
from tunedprior.models.surrogate import Surrogate
from tunedprior.problem.aims import Aims
from tunedprior.problem.box import Box
from tunedprior.problem.goals import Goal
from tunedprior.problem.space import Space

AVERAGE, UNINFORMED = "average", UninformedBelief.name
#: The paper's Algorithm 1 to the letter; "reweighted" is the same with the changes that docs/algorithm1.md lists.
AS_PRINTED = "as printed"


def prior_names() -> tuple[str, ...]:
    """What `Optimizer(prior=…)` takes."""
    return (AVERAGE, *(one.name for one in beliefs() if one.stands_alone), AS_PRINTED)


def surrogate_for(
    prior: str,
    old: Mapping[str, Read],
    space: Space,
    *,
    kernel: FreeKernel | None = None,
    ard: bool = False,
    seed: int = 0,
    relations: Mapping[str, str] | None = None,
    direction: Goal = "maximize",
    within: Box | None = None,
) -> Surrogate:
    """The model that the prior stands for; the plain process where there is no old data, or none that says anything.

    Args:
        prior: One of `prior_names()`.
        old: Old data sets by name, as `read_all` gives them.
        space: What may be set on the new device.
        kernel: The free kernel that learns; None: `SquaredExponential`, for the average at several length-scales.
        ard: Whether the kernel of "reweighted" (or "as printed") has one length-scale per input. The average always
            tries both.
        seed: Of random choices of rows.
        relations: What the user knows of each old data set (see `relations_of`).
        direction: Which way is better, or a target.
        within: The box of the model; the one around the space and this old data, when left out.
    """
    if not isinstance(prior, str) or prior not in prior_names():
        raise InputError(f"prior must be one of {', '.join(prior_names())}; got {shown(prior)}.")
    if kernel is not None:
        refuse_other_kernels(kernel)
    plain = Average.plain(space) if within is None else Average(within, (), axes=within.kernel_axes(space))
    if not old or prior == UNINFORMED:
        return plain
    as_printed, turned = prior == AS_PRINTED, turned_round(old, direction)
    if as_printed or prior == ReweightedBelief.name or kernel is not None:
        one = _the_only(old, prior, kernel is not None)
        if isinstance(one, WeightPrior):
            learnt = usable_or_warn(one, space)
        else:
            learnt = pretrain_or_warn(one, space, kernel=kernel, ard=ard, as_printed=as_printed, seed=seed)
        if learnt is None:
            return plain
        if as_printed or prior == ReweightedBelief.name:
            return TunedPrior(learnt, as_printed=as_printed)
        old = {next(iter(old)): learnt}
    box, known = learn(old, space, seed, relations, direction, within, turned)
    if not known:
        return plain
    axes = box.kernel_axes(space)
    return Average(box, known, axes=axes) if prior == AVERAGE else Average(box, known, (prior,), True, axes)


def surrogates_for(
    aims: Aims,
    prior: str,
    old: Mapping[str, Mapping[str, Read]],
    space: Space,
    *,
    kernel: FreeKernel | None = None,
    ard: bool = False,
    seed: int = 0,
    relations: Mapping[str, str] | None = None,
    within: Box | None = None,
) -> dict[str, Surrogate]:
    """A model for each response, by name; several of them share one box (see `surrogate_for`)."""
    if within is None and len(aims.responses) > 1:
        within = common_box(old.values(), space)
    return {
        one.target: surrogate_for(
            prior,
            old[one.target],
            space,
            kernel=kernel,
            ard=ard,
            seed=seed,
            relations=relations,
            direction=one.direction,
            within=within,
        )
        for one in aims.responses
    }


def _the_only(old: Mapping[str, Read], prior: str, own_kernel: bool) -> Read:
    if len(old) > 1:
        what = "A kernel of your own" if own_kernel else f"prior={prior!r}"
        raise InputError(
            f"{what} learns from one old data set; got {len(old)} ({listed(old)}). "
            "Join them into one table, or use prior='average' without kernel=."
        )
    return next(iter(old.values()))
