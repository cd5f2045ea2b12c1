"""What old data taught the models of a campaign, and what these expect by now."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.lessons_of_priors import LEFT_OUT, TOO_MANY_ROWS, summarise_weight_prior
from tunedprior.algorithm1.tuned_prior import TunedPrior
from tunedprior.average.mixture import MixtureOfProcesses
from tunedprior.average.old_sets import SourceData
from tunedprior.average.surrogate import Average
from tunedprior.lessons.carriers import are_withheld, rank_influential_rows
from tunedprior.lessons.domains import Domain
from tunedprior.lessons.lesson import FunctionSummary
from tunedprior.lessons.monomials import rank_monomials
from tunedprior.lessons.sensitivity import compute_sensitivity
from tunedprior.machines.fit import get_lengthscales
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.problem.box import Box

# A length-scale, in half-widths of the box, along which nothing changes: old data lacks that column.
_WITHOUT_END = 300.0


def summarise_sources(surrogate: Surrogate, domain: Domain, target: str) -> list[FunctionSummary]:
    """What each old data set taught that the surrogate knows; none for a plain one."""
    if isinstance(surrogate, TunedPrior):
        return [summarise_weight_prior(surrogate.prior, domain, target=target)]
    if not isinstance(surrogate, Average):
        return []
    return [_summarise_source(one, surrogate.box, domain, target) for one in surrogate.sources]


def _summarise_source(old: SourceData, box: Box, domain: Domain, target: str) -> FunctionSummary:
    first = 0 if len(old.fits) == 1 else len(old.fits) // 2 * (old.units[0] != old.units[-1])
    unit, inputs = old.units[0], box.to_kernel_inputs(domain.sample)

    def predict_old_response(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return old.middle + unit * old.predict(box.to_kernel_inputs(codes))

    with isolate_computation():
        found = compute_sensitivity(predict_old_response, domain)
        fits = [(fit, old.get_fit_weight(number)) for number, fit in enumerate(old.fits)]
        rows = rank_influential_rows(fits, inputs, box, middle=old.middle, unit=old.units[-1])
        return FunctionSummary(
            old.name,
            f"the old {target}",
            target,
            found,
            unit,
            rank_monomials(old.fits[first], box),
            [] if are_withheld(old.places) else rows,
            old.places if len(old.places) == len(rows) else (),
            LEFT_OUT if are_withheld(old.places) else TOO_MANY_ROWS,
            _list_absent_inputs(old, box),
        )


def _list_absent_inputs(old: SourceData, box: Box) -> list[str]:
    """The parameters along which no reading changes."""
    lengths = [get_lengthscales(fit, box.num_inputs) for fit in old.fits]
    found, start = [], 0
    for axis in box.axes:
        own = slice(start, start + axis.width)
        start += axis.width
        if axis.width and all(one is not None and bool((one[own] > _WITHOUT_END).all()) for one in lengths):
            found.append(axis.name)
    return found


def summarise_model(
    expected: Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]],
    domain: Domain,
    target: str,
    unit: float,
    results: int,
) -> FunctionSummary:
    """What the model of so many results expects of a response, over a domain."""
    with isolate_computation():
        return FunctionSummary("", target, target, compute_sensitivity(expected, domain), unit, results=results)


def make_posterior_mean(model: MixtureOfProcesses) -> Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]]:
    """The posterior mean of a mixture at codes; faster at many settings than its posterior."""
    solved = torch.linalg.solve_triangular(model.factor.mT, model.whitened, upper=True)
    weighted, processes = model.weights[:, None, None] * solved, model.processes

    def predict_mean(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        covariance = processes.compute_covariance(model.x, model.box.to_kernel_inputs(codes))
        found: Tensor = (covariance * weighted).sum((0, 1))
        return found

    return predict_mean
