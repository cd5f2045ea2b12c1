"""Acquisition functions of several responses by BoTorch's Monte-Carlo objectives, for models without a closed form.

log a(x) = log E[improvement(u(f(x))) Π_r 1(requirement r holds)], from samples of the posterior; the improvement is on
the best so far, of one utility, of a weighted sum, or of the hypervolume that the front dominates.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.acquisition.logei import qLogExpectedImprovement, qLogProbabilityOfFeasibility
from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.objective import GenericMCMultiOutputObjective
from botorch.acquisition.objective import GenericMCObjective
from botorch.models import ModelList
from botorch.models.model import Model
from botorch.sampling.base import MCSampler
from botorch.sampling.get_sampler import get_sampler
from botorch.utils import get_outcome_constraint_transforms
from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.closed_form import ScaledGoal
from tunedprior.errors import InputError

_SAMPLES = 256


@dataclass(frozen=True)
class ScaledRequirement:
    """low ≤ f ≤ high of one response, in units of its observations.

    Attributes:
        response: Its name.
        low: The least that is allowed; -∞ if there is no such end.
        high: The most.
        labels: Whether the response was told as passed or failed.
    """

    response: str
    low: float
    high: float
    labels: bool = False


@dataclass(frozen=True, eq=False)
class SampledResponses:
    """The models of several responses, sampled together.

    Attributes:
        models: A BoTorch model of one output for each response.
        example: A point, at which the kind of their posteriors is found out.
        seed: The seed of the samples.
        pending: Pending points, which are sampled jointly with a candidate.
    """

    models: Mapping[str, Model]
    example: Float[Tensor, "1 k"]
    seed: int
    pending: Float[Tensor, "p k"]

    def make_improvement(
        self, goals: Sequence[ScaledGoal], worths: Sequence[float], best: float, required: Sequence[ScaledRequirement]
    ) -> AcquisitionFunction:
        """log E[(Σ_r ω_r u_r(f_r) - best)₊ Π 1(…)]; a single goal has the worth 1."""
        compute_utilities = self._make_utility_function(goals)
        return qLogExpectedImprovement(
            self._join_models(),
            best,
            self._make_sampler(),
            GenericMCObjective(lambda samples, X: compute_utilities(samples, X) @ samples.new_tensor(worths)),
            X_pending=self.pending if len(self.pending) else None,
            constraints=self._make_constraints(required) or None,
        )

    def make_hypervolume_improvement(
        self,
        goals: Sequence[ScaledGoal],
        front: Float[Tensor, "n m"],
        reference: Float[Tensor, " m"],
        required: Sequence[ScaledRequirement],
    ) -> AcquisitionFunction:
        """log E[hypervolume that u(f) adds to what the front dominates, above the reference point, Π 1(…)]."""
        return qLogExpectedHypervolumeImprovement(
            self._join_models(),
            reference,
            FastNondominatedPartitioning(reference, front),  # type: ignore[arg-type]  # BoTorch's type is too narrow
            self._make_sampler(),
            GenericMCMultiOutputObjective(self._make_utility_function(goals)),
            X_pending=self.pending if len(self.pending) else None,
            constraints=self._make_constraints(required) or None,
        )

    def make_probability(self, required: Sequence[ScaledRequirement]) -> AcquisitionFunction:
        """log P(every requirement holds)."""
        return qLogProbabilityOfFeasibility(self._join_models(), self._make_constraints(required), self._make_sampler())

    def _make_utility_function(self, goals: Sequence[ScaledGoal]) -> Callable[[Tensor, Tensor | None], Tensor]:
        """A function from samples of all responses to u_r(f_r) of each goal, along the last axis."""
        places = [(one, self._find_place(one.response)) for one in goals]

        def compute_utilities(samples: Float[Tensor, "... m"], X: Tensor | None) -> Float[Tensor, "... g"]:  # noqa: ARG001 (BoTorch gives it)
            return torch.stack([one.compute_utility(samples[..., place]) for one, place in places], -1)

        return compute_utilities

    def _find_place(self, response: str) -> int:
        return list(self.models).index(response)

    def _join_models(self) -> ModelList:
        return ModelList(*self.models.values())

    def _make_sampler(self) -> MCSampler:
        with torch.no_grad():
            posterior: Any = self._join_models().posterior(self.example[None])
        try:
            return get_sampler(posterior, torch.Size([_SAMPLES]), seed=self.seed)
        except NotImplementedError as error:
            kinds = ", ".join(sorted({type(one).__name__ for one in posterior.posteriors}))
            raise InputError(
                f"BoTorch knows no sampler for the posterior of this model ({kinds}). Register one with "
                "botorch.sampling.get_sampler.GetSampler, or give a model with a Gaussian posterior."
            ) from error

    def _make_constraints(self, required: Sequence[ScaledRequirement]) -> list[Callable[[Tensor], Tensor]]:
        """Functions of samples that are negative where A f < b, with ±1 in the columns of required responses."""
        ends = [(one.response, -1.0, one.low) for one in required if one.low > -torch.inf]
        ends += [(one.response, 1.0, one.high) for one in required if one.high < torch.inf]
        A, b = self.example.new_zeros(len(ends), len(self.models)), self.example.new_zeros(len(ends), 1)
        for row, (response, sign, end) in enumerate(ends):
            A[row, self._find_place(response)], b[row] = sign, sign * end
        return get_outcome_constraint_transforms((A, b)) or []


class SumOfLogarithms(AcquisitionFunction):
    """log a(x) + log b(x) + …: the logarithm of a product of factors that are independent of each other."""

    def __init__(self, each: Sequence[AcquisitionFunction]) -> None:
        super().__init__(each[0].model)
        self.each = torch.nn.ModuleList(each)

    def forward(self, X: Float[Tensor, "*b 1 k"]) -> Float[Tensor, "*b"]:
        """The sum at a batch of points."""
        return torch.stack([one(X) for one in self.each]).sum(0)
