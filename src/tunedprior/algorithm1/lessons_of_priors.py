"""What a weight prior was taught by old data."""

from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from tunedprior.lessons.carriers import are_withheld, carriers_of
from tunedprior.lessons.domains import Domain
from tunedprior.lessons.lesson import Lesson
from tunedprior.lessons.monomials import largest
from tunedprior.lessons.sensitivity import sensitivity_of
from tunedprior.machines import LeastSquares
from tunedprior.numerics.isolation import computing
from tunedprior.problem.old_data import UNNAMED

if TYPE_CHECKING:
    from tunedprior.algorithm1.weight_prior import WeightPrior

#: Why no row is named.
LEFT_OUT = "The rows that it was learnt from were left out when it was saved."
TOO_MANY_ROWS = "It was learnt from so many rows that none has a coefficient of its own, so none is named."


def lesson_of(prior: "WeightPrior", domain: Domain, old: str = UNNAMED, target: str = "response") -> Lesson:
    """What old data of this name taught about the response `target`, over a domain."""
    middle, unit, reach = prior.response_shift, prior.response_scale, prior.reach

    def learnt(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return middle + unit * prior.fit(prior.inputs(codes)).double()

    by_ridge = prior.machine == LeastSquares.__name__
    with computing():
        found = sensitivity_of(learnt, domain)
        rows = carriers_of(
            [(prior.fit, 1.0)],
            prior.inputs(domain.sample),
            prior.box,
            middle=middle,
            unit=unit,
            reach=reach,
            by_ridge=by_ridge,
        )
        return Lesson(
            old,
            f"the old {target}",
            target,
            found,
            unit,
            largest(prior.fit, prior.box, reach),
            [] if are_withheld(prior.row_places) else rows,
            prior.row_places if len(prior.row_places) == len(rows) else (),
            LEFT_OUT if are_withheld(prior.row_places) else TOO_MANY_ROWS,
            by_ridge=by_ridge,
        )
