"""Use old data in BoTorch: a Gaussian process with the learnt kernel, and the model average as an ensemble."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models import SingleTaskGP
from botorch.models.model import FantasizeMixin, Model
from botorch.models.transforms.input import InputTransform
from botorch.models.transforms.outcome import OutcomeTransform
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from botorch.utils.datasets import SupervisedDataset
from botorch.utils.types import DEFAULT
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import GaussianLikelihood, Likelihood
from gpytorch.means import Mean
from jaxtyping import Float
from linear_operator import to_linear_operator
from torch import Tensor

from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.checks import Numbers, check_flag, check_responses, check_table, refuse_nonfinite_rows
from tunedprior.errors import InputError
from tunedprior.goals.observations import Observations
from tunedprior.integrations import pathwise  # noqa: F401 (registers the features of our kernels with BoTorch)
from tunedprior.integrations.tensors import (
    RESPONSE,
    KernelInputMap,
    SettingKernel,
    SourceKernelSum,
    SourcePoints,
    infer_bounds,
    learn_belief_kernel,
    make_numbered_space,
    make_old_table,
    parse_sources,
    pretrain_on_tensors,
    refuse_vector,
)
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.models.gaussian_process import add_amplitude
from tunedprior.models.surrogate import CachingSurrogate
from tunedprior.source_data.matching import UNNAMED, read_old_data
from tunedprior.space.encoding import Box
from tunedprior.suggestion.config import TransferConfig
from tunedprior.suggestion.priors import make_surrogate
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.sources import UNKNOWN, LoadedSource, parse_relations


@dataclass(frozen=True, eq=False)
class ModelUnitData:
    """Old data sets, and the bounds of all settings that the model will be used for.

    Attributes:
        old: Settings and responses of each set, or what was learnt from it.
        edges: The lower ends and the upper ends; they hold the training data too.
    """

    old: list[SourcePoints]
    edges: Float[Tensor, "2 d"]


class FrozenTransform(torch.nn.Module):
    """An input transform in evaluation mode, whatever the mode of the model around it."""

    def __init__(self, transform: InputTransform) -> None:
        super().__init__()
        self.transform = deepcopy(transform).eval()

    def train(self, mode: bool = True) -> "FrozenTransform":  # noqa: ARG002  # part of PyTorch's signature
        """Ignore the mode."""
        return super().train(False)

    def forward(self, X: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d2"]:
        """Apply the transform."""
        seen: Tensor = self.transform(X)
        return seen


def convert_to_model_units(
    train_X: Float[Tensor, "*batch n d"], old: Any, bounds: Numbers | None, transform: InputTransform | None
) -> ModelUnitData:
    """Apply the input transform to the training settings, old settings and bounds."""
    sets = parse_sources(old)
    if transform is not None:
        _refuse_transform(sets, transform)
    trained = _apply_transform(transform, train_X.detach(), learning=True).flatten(0, -2)
    changed: list[SourcePoints] = []
    for one in sets:
        if not isinstance(one, WeightPrior):
            X = check_table(one[0], "X_old", num_inputs=train_X.shape[-1]).to(train_X.device)
            one = _apply_transform(transform, X).cpu(), check_responses(one[1], X, "y_old").cpu()
        changed.append(one)
    if bounds is not None:
        ends = infer_bounds([train_X.detach().flatten(0, -2)], bounds).to(train_X)
        bounds = _apply_transform(transform, ends).sort(0).values.cpu()
    learnt = [_list_box_ends(one.box).to(trained) for one in changed if isinstance(one, WeightPrior)]
    for ends in learnt:
        if ends.shape[1] != trained.shape[1]:
            raise InputError(
                f"The WeightPrior was learnt for {ends.shape[1]} inputs; train_X has {trained.shape[1]} columns. Give "
                "the columns that the old data has, in its order."
            )
    edges = infer_bounds([trained, *learnt, *(one[0] for one in changed if isinstance(one, tuple))], bounds)
    inside = torch.cat([one.cpu().double() for one in (trained, *learnt)])
    if bounds is None and transform is not None:  # transforms bring search spaces onto the unit cube
        inside = torch.cat([inside, torch.zeros_like(edges[:1]), torch.ones_like(edges[:1])])
    every = torch.cat([edges, inside])
    return ModelUnitData(changed, torch.stack([every.amin(0), every.amax(0)]))


def _list_box_ends(box: Box) -> Float[Tensor, "2 d"]:
    """The lower and the upper ends of a box in the user's units; a category is its position among the choices."""
    ends = [
        (axis.decode(-1.0), axis.decode(1.0)) if axis.choices is None else (0.0, len(axis.choices) - 1.0)
        for axis in box.axes
    ]
    return torch.tensor(ends, dtype=torch.float64).T


def _apply_transform(
    transform: InputTransform | None, X: Float[Tensor, "*batch n d"], learning: bool = False
) -> Float[Tensor, "*batch n d2"]:
    """X as the model computes with it; `learning` lets the transform take its ranges from X, as from training data."""
    if transform is None:
        return X
    with torch.no_grad():
        seen: Tensor = transform.to(X).train()(X) if learning else transform.preprocess_transform(X)
    return seen


def _refuse_transform(sets: list[SourcePoints], transform: InputTransform) -> None:
    if any(isinstance(one, WeightPrior) for one in sets):
        raise InputError(
            "A WeightPrior scales settings itself, in the units it was learnt in; got an input transform too. Leave "
            "input_transform out, or give the old data as (X_old, y_old)."
        )
    if any(parameter.requires_grad for parameter in transform.parameters()):
        raise InputError(
            f"What old data taught holds for fixed inputs; got the input transform {type(transform).__name__}, which "
            "learns from observations. Use one without parameters, such as Normalize."
        )


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
        mixture, _ = average.fit(observations)
        assert isinstance(mixture, MixtureOfProcesses)
        self.mixture = mixture

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
        encoded: Tensor = self.settings.encode(X if self.transform is None else self.transform(X))
        return encoded


def _make_average(given: ModelUnitData, relation: str, seed: int) -> CachingSurrogate:
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
    average = make_surrogate(TransferConfig(relations=parse_relations(relation, sets)), sets, space, seed=seed)
    assert isinstance(average, CachingSurrogate)
    return average


__all__ = ["TunedPriorEnsemble", "TunedPriorGP", "pretrain_on_tensors"]


class TunedPriorGP(SingleTaskGP):
    """f ~ GP(m, σ_g² K_A + σ_r² K_r): BoTorch's `SingleTaskGP`, with the kernel K_A that old data A taught.

    K_r is BoTorch's default kernel: a remainder, by which observations can overrule old data.
    `prior="reweighted", remainder=False` is the paper's Algorithm 1. Of several old data sets the kernel is a sum,
    with an amplitude for each.

    It is a `SingleTaskGP` in all respects, so that whatever takes one takes this: it is made from tensors in the user's
    units, fitted with `fit_gpytorch_mll` (what old data taught stays as it is), conditioned, fantasised, listed in a
    `ModelListGP`, sampled by paths. That is why the average over beliefs, the default of `Optimizer`, is a class of its
    own: a mixture of many processes has no marginal likelihood to fit and no single kernel, and is a BoTorch ensemble
    instead. Take `TunedPriorEnsemble` where an ensemble will do.

    Args:
        train_X: Settings, `n x d` (or a batch of these), in any units.
        train_Y: Observations, `n x 1`, in any units: they are standardised, as `SingleTaskGP` does.
        train_Yvar: The variances of the observations' noise, where they are known.
        old: `(X_old, y_old)`, a `WeightPrior`, or a list of these. X_old has the columns and units of train_X, y_old is
            any response that may be related. A `WeightPrior` scales settings itself, so it goes without
            `input_transform`.
        bounds: The search space, `2 x d`. The model is defined in the box that holds these bounds, train_X and X_old.
            When left out, the bounds are the unit cube if that holds all settings, otherwise their range.
        prior: The belief about old data, by name: "aligned" (the objective is ρ·g, with ρ of either sign, plus what old
            data left open), "reweighted" (the paper's), or any other that is one kernel.
        remainder: Whether the kernel has the part K_r.
        likelihood: As for `SingleTaskGP`.
        mean_module: As for `SingleTaskGP`.
        outcome_transform: As for `SingleTaskGP`: `Standardize` when left out.
        input_transform: As for `SingleTaskGP`; old settings go through it too. It must have nothing to learn.
        seed: The seed of random choices among many old rows.
    """

    def __init__(
        self,
        train_X: Float[Tensor, "*batch n d"],
        train_Y: Tensor,  # `*batch n 1`, left open: people pass vectors
        train_Yvar: Float[Tensor, "*batch n m"] | None = None,
        likelihood: Likelihood | None = None,
        mean_module: Mean | None = None,
        outcome_transform: OutcomeTransform | Any | None = DEFAULT,
        input_transform: InputTransform | None = None,
        *,
        old: Any,
        bounds: Numbers | None = None,
        prior: str = AlignedBelief.name,
        remainder: bool = True,
        seed: int = 0,
    ) -> None:
        refuse_vector(train_Y, train_X)
        if train_Y.shape[-1] != 1:
            raise InputError(
                f"Old data is of one response, so train_Y must have one column; got {train_Y.shape[-1]}. Make a model "
                "for each response, and put them into a ModelListGP."
            )
        given = convert_to_model_units(train_X, old, bounds, input_transform)
        batch_shape, plain = train_X.shape[:-2], _make_default_kernel(given.edges, train_X.shape[:-2])
        parts: list[Kernel] = [
            add_amplitude(kernel, batch_shape) for kernel in _make_source_kernels(given, prior, seed)
        ]
        if parts and check_flag(remainder, "remainder"):
            parts.append(add_amplitude(plain, batch_shape))
        covariance = SourceKernelSum(*parts) if len(parts) > 1 else parts[0] if parts else plain
        super().__init__(
            train_X,
            train_Y,
            train_Yvar,
            likelihood=likelihood,
            covar_module=covariance,
            mean_module=mean_module,
            outcome_transform=outcome_transform,
            input_transform=input_transform,
        )
        self._subset_batch_dict: dict[str, int] = {}  # one output: `subset_output` has nothing to choose from

    def _get_test_prior_mean_and_covariances(self, train_inputs: Any, test_inputs: Any, **kwargs: Any) -> Any:
        """K(x, x) and K(x, D) for a batch of settings x, with D as it is: GPyTorch repeats D for each member of it."""
        (trained,), (x,) = train_inputs, test_inputs
        if kwargs or trained.ndim > 2:
            return super()._get_test_prior_mean_and_covariances(train_inputs, test_inputs, **kwargs)
        prior = self.forward(x)
        cross = self.covar_module(x, trained).evaluate_kernel()
        within = prior.lazy_covariance_matrix.evaluate_kernel()
        return prior.loc, within, cross, prior.batch_shape, prior.event_shape, type(prior)

    @classmethod
    def construct_inputs(cls, training_data: SupervisedDataset, **options: Any) -> dict[str, Any]:
        """Arguments of the model, from a data set and options such as `old`: Ax makes models by this."""
        return {**super().construct_inputs(training_data), **options}


def _make_source_kernels(given: ModelUnitData, name: str, seed: int) -> list[Kernel]:
    """The learnt kernel of each old data set; those that teach nothing are left out, with a warning."""

    def learn_kernel(old: SourcePoints) -> Kernel | None:
        def learn() -> WeightPrior:
            return old if isinstance(old, WeightPrior) else pretrain_on_tensors(*old, given.edges, seed)

        return learn_belief_kernel(learn, name, "Going on without it.")

    return [kernel for kernel in map(learn_kernel, given.old) if kernel is not None]


def _make_default_kernel(edges: Float[Tensor, "2 d"], batch_shape: torch.Size) -> Kernel:
    """BoTorch's default kernel, on the unit cube that its priors are made for."""
    box = Box.enclose(make_numbered_space(edges))
    plain = get_covar_module_with_dim_scaled_prior(ard_num_dims=box.num_inputs, batch_shape=batch_shape)
    return SettingKernel(plain, box, reach=0.5)  # a cube of width 1: the kernel is stationary
