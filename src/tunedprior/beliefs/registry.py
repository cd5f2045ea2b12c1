"""The base classes of beliefs and their registry: a new belief is one file, here or anywhere, that registers it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import ClassVar, TypeVar

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.kernels.anchors import draw_box_sample
from tunedprior.machines import AlphaFit, FeatureFit, Fit
from tunedprior.numerics.stationary import Axes

_LEAST_SIZE = 1e-12

BeliefT = TypeVar("BeliefT", bound="type[Belief]")


@dataclass(frozen=True, eq=False)
class PriorCovariance:
    """One prior covariance of a belief, with its prior probability.

    Attributes:
        covariance: A kernel, or the length-scales of a Matérn-5/2 kernel.
        log_prior: The logarithm of its prior probability, before an average divides that among old data sets and, for
            beliefs with a remainder, among their versions.
        mean_variance: The mean of K(x, x) over the box, by which the covariance is divided.
        slope_variance: The prior variance of ρ, where the objective is ρ·ĝ + …; 0 where the belief has no ρ.
        fit_index: The number of the fit of the old data that it is made from; -1 for none.
        is_informative: Whether its probability counts towards this belief, or (if ĝ is negligible) towards uninformed.
        noise: The noise variance relative to the amplitude that belongs to it; None: each of several.
        is_remainder: Whether it also serves as the remainder of beliefs about the same old data.
    """

    covariance: Kernel | Float[Tensor, " d"]
    log_prior: float
    mean_variance: float = 1.0
    slope_variance: float = 0.0
    fit_index: int = -1
    is_informative: bool = True
    noise: float | None = None
    is_remainder: bool = False


class Belief(ABC):
    """A relation between the objective and old data, as prior covariances of a Gaussian process.

    Gradients are those of the kernels: by their method `make_section`, if they have one (`kernels.sections`), by
    autograd otherwise.
    """

    #: The name that users select it by.
    name: ClassVar[str]
    #: Its prior probability in an average over beliefs.
    mass: ClassVar[float]
    #: c of the amplitude's prior inverse gamma(c, c) (see `numerics.evidence.compute_log_evidence`).
    certainty: ClassVar[float] = 2.0
    #: Whether it is part of the default average.
    in_default_average: ClassVar[bool] = False
    #: Whether it depends on old data; it then enters an average once for each old data set, and otherwise once.
    uses_old_data: ClassVar[bool] = True
    #: Whether it can be the whole prior: `Optimizer(prior=name)`.
    stands_alone: ClassVar[bool] = True
    #: Whether it also enters an average with a remainder: a plain process that makes up a share of the variance.
    has_remainder: ClassVar[bool] = True

    @abstractmethod
    def make_prior_covariances(
        self, fits: Sequence[Fit], axes: Axes, whatever_the_cost: bool = False
    ) -> list[PriorCovariance]:
        """All prior covariances of this belief.

        Args:
            fits: The fits of one old data set, the most probable first.
            axes: The parameters, as groups of kernel inputs.
            whatever_the_cost: Whether to include kernels that take longer than all others together.
        """


class KernelBelief(Belief):
    """A belief with one kernel for each fit of old data.

    Subclasses define `make_kernel`, or `make_kernel_from_alpha` and `make_kernel_from_features`.
    """

    mass = 0.45

    def make_kernel(self, fit: Fit) -> Kernel:
        """The prior covariance of the objective that this fit justifies."""
        if isinstance(fit, AlphaFit):
            return self.make_kernel_from_alpha(fit)
        if isinstance(fit, FeatureFit):
            return self.make_kernel_from_features(fit)
        raise InputError(f"A fit must be an AlphaFit or a FeatureFit; got {type(fit).__name__}.")

    def make_kernel_from_alpha(self, fit: AlphaFit) -> Kernel:
        """The kernel of a fit with a coefficient α_j for each old row."""
        raise NotImplementedError(
            f"{type(self).__name__} must define `make_kernel`, or `make_kernel_from_alpha` and "
            "`make_kernel_from_features`."
        )

    def make_kernel_from_features(self, fit: FeatureFit) -> Kernel:
        """The kernel of a fit with a weight for each feature."""
        raise NotImplementedError(
            f"{type(self).__name__} must define `make_kernel`, or `make_kernel_from_alpha` and "
            "`make_kernel_from_features`."
        )

    def compute_slope_variance(self, size: float) -> float:  # noqa: ARG002  # for overrides
        """The prior variance of ρ, where the objective is ρ·ĝ + … and the kernel is divided by `size`; 0 without ρ."""
        return 0.0

    def is_informative(self, fit: Fit, sample: Float[Tensor, "n d"], size: float) -> bool:  # noqa: ARG002  # for overrides
        """Whether the kernel, of mean variance `size`, depends enough on the old data to count as this belief."""
        return True

    def make_prior_covariances(
        self, fits: Sequence[Fit], axes: Axes, whatever_the_cost: bool = False
    ) -> list[PriorCovariance]:
        """One version for each fit whose kernel does not vanish and is cheap enough."""
        sample, found = axes.to_kernel_inputs(draw_box_sample(len(axes))), []
        for fit_index, fit in enumerate(fits):
            kernel = self.make_kernel(fit)
            if not whatever_the_cost and not getattr(kernel, "is_cheap", True):
                continue
            with torch.no_grad():
                size = float(kernel.forward(sample, sample, diag=True).mean())
            if size > _LEAST_SIZE:
                counts = self.is_informative(fit, sample, size)
                slope = self.compute_slope_variance(size) if counts else 0.0
                found.append(PriorCovariance(kernel, log(self.mass), size, slope, fit_index, counts))
        return found


_BELIEFS: dict[str, Belief] = {}


def register(kind: BeliefT) -> BeliefT:
    """Add a belief to the registry, under its name; a decorator for its class."""
    if kind.name in _BELIEFS and type(_BELIEFS[kind.name]).__qualname__ != kind.__qualname__:
        raise InputError(f"There is a belief {kind.name!r} already. Choose another name.")
    _BELIEFS[kind.name] = kind()
    return kind


def forget(name: str) -> None:
    """Remove a belief from the registry."""
    _BELIEFS.pop(get_belief(name).name)


def get_belief(name: str) -> Belief:
    """The registered belief of this name; an `InputError` lists all names if there is none."""
    if name not in _BELIEFS:
        raise InputError(f"There is no belief {name!r}; known are {format_list(_BELIEFS)}.")
    return _BELIEFS[name]


def list_beliefs() -> tuple[Belief, ...]:
    """All registered beliefs, in the order of registration."""
    return tuple(_BELIEFS.values())
