"""The average over beliefs as a BoTorch model on tensors in the user's units."""

from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import FantasizeMixin, Model
from botorch.models.transforms.input import InputTransform
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import GaussianLikelihood
from jaxtyping import Float
from linear_operator import to_linear_operator
from torch import Tensor

from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.average.old_sets import UNKNOWN, LoadedSource, parse_relations
from tunedprior.average.surrogate import Average
from tunedprior.campaign.priors import AVERAGE, make_surrogate
from tunedprior.checks import Numbers, refuse_nonfinite_rows
from tunedprior.errors import InputError
from tunedprior.integrations.model_units import FrozenTransform, ModelUnitData, convert_to_model_units
from tunedprior.integrations.old_tensors import RESPONSE, make_numbered_space, make_old_table, refuse_vector
from tunedprior.integrations.on_settings import KernelInputMap
from tunedprior.problem.observations import Observations
from tunedprior.problem.old_data import UNNAMED, read_old_data

# Observations whose noise is below this share of the largest one count as that exact.
_LEAST_RELATIVE_NOISE = 1e-6


class TunedPriorEnsemble(Model, FantasizeMixin):
    """p(f | D) = (1/m) Σ_s GP_s(f | D): the average over beliefs about old data, as a BoTorch ensemble.

    The processes are weighed by their evidence when the model is made, so there is nothing to fit: use it as it is.
    Acquisition functions average over its members, as over those of BoTorch's fully Bayesian models.

    Args:
        train_X: Settings, `n x d`, in any units.
        train_Y: Observations, `n x 1`, in any units: they are standardised.
        train_Yvar: The variances of the observations' noise, where they are known.
        old: `(X_old, y_old)`, or a list of these for several data sets.
        bounds: As for `TunedPriorGP`.
        relation: Whether the response is known to rise with the old one ("same") or to fall ("opposite").
        input_transform: An input transform without anything to learn; old settings go through it too.
        seed: The seed of random choices among many old rows.
    """

    num_outputs = 1
    _is_ensemble = True
    X: Tensor
    shift: Tensor
    scale: Tensor

    def __init__(
        self,
        train_X: Float[Tensor, "n d"],
        train_Y: Tensor,  # `n 1`, left open: people pass vectors
        train_Yvar: Float[Tensor, "n 1"] | None = None,
        *,
        old: Any,
        bounds: Numbers | None = None,
        relation: str = UNKNOWN,
        input_transform: InputTransform | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        refuse_vector(train_Y, train_X)
        refuse_nonfinite_rows(train_Y, "train_Y")
        average = _make_average(convert_to_model_units(train_X, old, bounds, input_transform), relation, seed)
        self.transform = None if input_transform is None else FrozenTransform(input_transform)
        self.settings = KernelInputMap(average.box)
        y = train_Y.detach().double()
        spread = y.std(correction=0)
        self.register_buffer("X", train_X)
        self.register_buffer("shift", y.mean())
        self.register_buffer("scale", torch.where(spread > 0, spread, torch.ones_like(spread)))
        noise_std, relative = self._scale_noise(train_Yvar)
        y = (y - self.shift) / self.scale
        observations = Observations(
            self._encode(train_X.detach()), y, noise_std, float(self.shift), float(self.scale), relative
        )
        self.mixture = average.fit(observations)[0]

    def _scale_noise(self, variances: Float[Tensor, "n 1"] | None) -> tuple[float | None, Float[Tensor, " n"] | None]:
        """The largest standard deviation in units of the standardised response, and variances relative to its square.

        None, where these are not known, or all the same.
        """
        if variances is None:
            return None, None
        relative = variances.detach().double().squeeze(-1) / self.scale**2
        largest = float(relative.max())
        if largest <= 0 or bool((relative == largest).all()):
            return max(largest, 0.0) ** 0.5, None
        return largest**0.5, (relative / largest).clamp_min(_LEAST_RELATIVE_NOISE)

    @property
    def likelihood(self) -> GaussianLikelihood:
        """The members' noise, in units of the standardised response."""
        return self.mixture.likelihood

    @property
    def train_inputs(self) -> tuple[Float[Tensor, "..."]]:
        """The observed settings, in the user's units."""
        return (self.X,)

    @property
    def train_targets(self) -> Float[Tensor, "..."]:
        """The standardised observations."""
        return self.mixture.train_targets

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape of fantasies, if any, then the number of members."""
        return self.mixture.batch_shape

    def posterior(  # type: ignore[override]  # BoTorch's Model and its FantasizeMixin differ; this is the Model's
        self,
        X: Float[Tensor, "*batch q d"],
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> GaussianMixturePosterior:
        """The posterior of all members at the settings X, in the user's units of the response.

        As in BoTorch's models, noise that is given as a tensor is in units of the standardised response.
        """
        found = self.mixture.posterior(self._encode(X), output_indices, observation_noise).distribution
        mean = (found.mean * self.scale + self.shift).to(X)
        # As an operator, which is factorised only if need be, and then with jitter: single precision may need that.
        covariance = to_linear_operator((found.covariance_matrix * self.scale**2).to(X))
        posterior = GaussianMixturePosterior(MultivariateNormal(mean, covariance))
        if posterior_transform is None:
            return posterior
        transformed: Any = posterior_transform(posterior=posterior, X=X)
        return GaussianMixturePosterior(transformed.distribution)

    def condition_on_observations(
        self, X: Float[Tensor, "*batch p d"], Y: Float[Tensor, "*batch2 p 1"], **kwargs: Any
    ) -> "TunedPriorEnsemble":
        """The model with more observations, in the user's units; the weights of the members are kept.

        Args:
            X: Their settings.
            Y: The observations: the same for all members, or a row for each (`... m p 1`).
            **kwargs: `noise`, the variance of each in units of the standardised response.
        """
        conditioned = TunedPriorEnsemble.__new__(TunedPriorEnsemble)
        Model.__init__(conditioned)
        conditioned.settings, conditioned.transform = self.settings, self.transform
        y = (Y.double() - self.shift) / self.scale
        conditioned.mixture = self.mixture.condition_on_observations(self._encode(X), y, **kwargs)
        batch = torch.broadcast_shapes(self.X.shape[:-2], X.shape[:-2])
        both = [part.expand(*batch, *part.shape[-2:]) for part in (self.X, X)]
        conditioned.register_buffer("X", torch.cat(both, dim=-2))
        conditioned.register_buffer("shift", self.shift)
        conditioned.register_buffer("scale", self.scale)
        return conditioned

    def subset_output(self, idcs: list[int]) -> "TunedPriorEnsemble":
        """The model itself, which has one output: number 0."""
        self.mixture.subset_output(idcs)
        return self

    def _encode(self, X: Float[Tensor, "*batch q d"]) -> Float[Tensor, "*batch q k"]:
        codes: Tensor = self.settings.encode(X if self.transform is None else self.transform(X))
        return codes


def _make_average(given: ModelUnitData, relation: str, seed: int) -> Average:
    """The average over beliefs about the old data; the plain process, with a warning, if it teaches nothing."""
    space, sets = make_numbered_space(given.edges), dict[str, LoadedSource]()
    for number, one in enumerate(given.old, start=1):
        if isinstance(one, WeightPrior):
            raise InputError(
                "The average fits old data in several ways, so it needs (X_old, y_old); got a WeightPrior, which is "
                "one fit. Give the old data, or use TunedPriorGP."
            )
        name = UNNAMED if len(given.old) == 1 else f"{UNNAMED} {number}"
        sets[name] = read_old_data(make_old_table(*one), space, RESPONSE, name=name)
    average = make_surrogate(AVERAGE, sets, space, seed=seed, relations=parse_relations(relation, sets))
    assert isinstance(average, Average)
    return average
