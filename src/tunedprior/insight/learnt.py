"""What old data taught the models of a campaign, and what these expect by now."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.lessons_of_priors import LEFT_OUT, TOO_MANY_ROWS, lesson_of
from tunedprior.algorithm1.tuned_prior import TunedPrior
from tunedprior.average.mixture import MixtureOfProcesses
from tunedprior.average.old_sets import OldSet
from tunedprior.average.surrogate import Average
from tunedprior.lessons.carriers import are_withheld, carriers_of
from tunedprior.lessons.domains import Domain
from tunedprior.lessons.lesson import Lesson
from tunedprior.lessons.monomials import largest
from tunedprior.lessons.sensitivity import sensitivity_of
from tunedprior.machines.fit import lengthscale_of
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import computing
from tunedprior.problem.box import Box

# A length-scale, in half-widths of the box, along which nothing changes: old data lacks that column.
_WITHOUT_END = 300.0


def lessons_of(surrogate: Surrogate, domain: Domain, target: str) -> list[Lesson]:
    """What each old data set taught that the surrogate knows; none for a plain one."""
    if isinstance(surrogate, TunedPrior):
        return [lesson_of(surrogate.prior, domain, target=target)]
    if not isinstance(surrogate, Average):
        return []
    return [_lesson(one, surrogate.box, domain, target) for one in surrogate.known]


def _lesson(old: OldSet, box: Box, domain: Domain, target: str) -> Lesson:
    first = 0 if len(old.readings) == 1 else len(old.readings) // 2 * (old.units[0] != old.units[-1])
    unit, inputs = old.units[0], box.inputs(domain.sample)

    def learnt(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return old.middle + unit * old.expected(box.inputs(codes))

    with computing():
        found = sensitivity_of(learnt, domain)
        fits = [(fit, old.likelihood(number)) for number, fit in enumerate(old.readings)]
        rows = carriers_of(fits, inputs, box, middle=old.middle, unit=old.units[-1])
        return Lesson(
            old.name,
            f"the old {target}",
            target,
            found,
            unit,
            largest(old.readings[first], box),
            [] if are_withheld(old.places) else rows,
            old.places if len(old.places) == len(rows) else (),
            LEFT_OUT if are_withheld(old.places) else TOO_MANY_ROWS,
            _absent(old, box),
        )


def _absent(old: OldSet, box: Box) -> list[str]:
    """The parameters along which no reading changes."""
    lengths = [lengthscale_of(fit, box.num_inputs) for fit in old.readings]
    found, start = [], 0
    for axis in box.axes:
        own = slice(start, start + axis.width)
        start += axis.width
        if axis.width and all(one is not None and bool((one[own] > _WITHOUT_END).all()) for one in lengths):
            found.append(axis.name)
    return found


def lesson_of_model(
    expected: Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]],
    domain: Domain,
    target: str,
    unit: float,
    results: int,
) -> Lesson:
    """What the model of so many results expects of a response, over a domain."""
    with computing():
        return Lesson("", target, target, sensitivity_of(expected, domain), unit, results=results)


def mean_of(model: MixtureOfProcesses) -> Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]]:
    """The posterior mean of a mixture at codes; faster at many settings than its posterior."""
    solved = torch.linalg.solve_triangular(model.factor.mT, model.whitened, upper=True)
    weighted, processes = model.weights[:, None, None] * solved, model.processes

    def mean(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        covariance = processes.covariance(model.x, model.box.inputs(codes))
        found: Tensor = (covariance * weighted).sum((0, 1))
        return found

    return mean
