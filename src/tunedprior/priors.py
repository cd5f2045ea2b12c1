"""From the name of a prior and old data to a model: the average over beliefs, one of them, or none."""

from collections.abc import Mapping

from tunedprior.average import AVERAGED, Average
from tunedprior.box import Box
from tunedprior.candidates import UNINFORMED
from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel
from tunedprior.knowledge import OldData, learn
from tunedprior.old_fits import BELIEFS
from tunedprior.pretrain import pretrain_or_warn, usable_or_warn
from tunedprior.space import Space
from tunedprior.surrogates import Standard, Surrogate, TunedPrior
from tunedprior.validation import listed
from tunedprior.weight_prior import WeightPrior

AVERAGE, REWEIGHTED = "average", "reweighted"
#: What `Optimizer(prior=…)` takes.
PRIORS = (AVERAGE, *BELIEFS, UNINFORMED)


def make_surrogate(
    prior: str,
    old: Mapping[str, OldData],
    space: Space,
    *,
    kernel: FreeKernel | None = None,
    ard: bool = False,
    target: str = "y",
    direction: str = "maximize",
    seed: int = 0,
) -> Surrogate:
    """The model that the prior stands for; the standard process where there is no old data, or none that says anything.

    Args:
        prior: One of `PRIORS`.
        old: Old data sets by name.
        space: What may be set on the new device.
        kernel: The free kernel that learns; None: `SquaredExponential`, for the average at several length-scales.
        ard: Whether the kernel of "reweighted" has one length-scale per input. The average always tries both.
        target: The column that holds the response.
        direction: Which way is better.
        seed: Of random choices of rows.
    """
    if prior not in PRIORS:
        raise InputError(f"prior must be one of {', '.join(PRIORS)}; got {prior!r}.")
    if not old or prior == UNINFORMED:
        return Standard(Box.around(space))
    if prior == REWEIGHTED or kernel is not None:
        weight_prior = _the_only(old, space, prior, kernel, ard, target, direction, seed)
        if weight_prior is None:
            return Standard(Box.around(space))
        if prior == REWEIGHTED:
            return TunedPrior(weight_prior)
        old = {next(iter(old)): weight_prior}
    box, known = learn(old, space, target, direction, seed)
    if not known:
        return Standard(Box.around(space))
    return Average(box, known, AVERAGED) if prior == AVERAGE else Average(box, known, (prior,), alone=True)


def _the_only(
    old: Mapping[str, OldData],
    space: Space,
    prior: str,
    kernel: FreeKernel | None,
    ard: bool,
    target: str,
    direction: str,
    seed: int,
) -> WeightPrior | None:
    if len(old) > 1:
        what = f"prior={prior!r}" if kernel is None else "A kernel of your own"
        raise InputError(
            f"{what} learns from one old data set; got {len(old)} ({listed(old)}). "
            "Join them into one table, or use prior='average' without kernel=."
        )
    ((_, only),) = old.items()
    if isinstance(only, WeightPrior):
        return usable_or_warn(only, space)
    return pretrain_or_warn(only, space, kernel, ard, target, direction, seed)
