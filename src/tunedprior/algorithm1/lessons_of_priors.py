"""What a weight prior was taught by old data."""

from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from tunedprior.lessons.carriers import are_withheld, rank_influential_rows
from tunedprior.lessons.domains import Domain
from tunedprior.lessons.lesson import FunctionSummary
from tunedprior.lessons.monomials import rank_monomials
from tunedprior.lessons.sensitivity import compute_sensitivity
from tunedprior.machines import LeastSquares
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.problem.old_data import UNNAMED

if TYPE_CHECKING:
    from tunedprior.algorithm1.weight_prior import WeightPrior

#: Why no row is named.
LEFT_OUT = "The rows that it was learnt from were left out when it was saved."
TOO_MANY_ROWS = "It was learnt from so many rows that none has a coefficient of its own, so none is named."


def summarise_weight_prior(
    prior: "WeightPrior", domain: Domain, old: str = UNNAMED, target: str = "response"
) -> FunctionSummary:
    """What old data of this name taught about the response `target`, over a domain."""
    middle, unit, reach = prior.response_shift, prior.response_scale, prior.reach

    def predict_old_response(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return middle + unit * prior.fit(prior.to_kernel_inputs(codes)).double()

    by_ridge = prior.machine == LeastSquares.__name__
    with isolate_computation():
        found = compute_sensitivity(predict_old_response, domain)
        rows = rank_influential_rows(
            [(prior.fit, 1.0)],
            prior.to_kernel_inputs(domain.sample),
            prior.box,
            middle=middle,
            unit=unit,
            reach=reach,
            by_ridge=by_ridge,
        )
        return FunctionSummary(
            old,
            f"the old {target}",
            target,
            found,
            unit,
            rank_monomials(prior.fit, prior.box, reach),
            [] if are_withheld(prior.row_places) else rows,
            prior.row_places if len(prior.row_places) == len(rows) else (),
            LEFT_OUT if are_withheld(prior.row_places) else TOO_MANY_ROWS,
            by_ridge=by_ridge,
        )
