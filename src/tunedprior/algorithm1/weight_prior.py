"""What Algorithm 1 learns from old data, as a value that can be inspected, saved, and turned into a kernel."""

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from os import PathLike

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1 import storage
from tunedprior.algorithm1.anonymous import ANONYMOUS, distil_prior
from tunedprior.algorithm1.lessons_of_priors import summarise_weight_prior
from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.checks import check_flag
from tunedprior.kernels import FreeKernel
from tunedprior.lessons.carriers import WITHHELD
from tunedprior.lessons.domains import Domain
from tunedprior.lessons.taught import PriorExplanation
from tunedprior.machines.fit import AlphaFit, Fit
from tunedprior.problem.box import Box

#: A kernel whose mean variance at the old settings is below this counts as zero.
_VANISHING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class WeightPrior:
    """K^A₂(x, x') = Σ_jk α_j α_k K₄(a_j, a_k, x, x'), and all that is needed to use it on new settings.

    Attributes:
        fit: g, with a coefficient for each old setting or for each feature.
        anchors: Old settings as kernel inputs in [-1, 1], `a x d`; a subset, where there are too many for α.
        machine: The name of the machine that learnt it.
        error: Its leave-one-out error on the old data, in the units of the scaled response.
        box: The map from settings to kernel inputs.
        reach: The box is scaled onto [-reach, reach]; below 1 for kernels undefined at ±1.
        response_shift: Subtracted from the old responses before training.
        response_scale: The divisor of the old responses, after the shift.
        places: Where the rows of each anchor stand in their source; empty if that is not known, as after `load`.
    """

    fit: Fit
    anchors: Float[Tensor, "a d"]
    machine: str
    error: float
    box: Box
    reach: float = 1.0
    response_shift: float = 0.0
    response_scale: float = 1.0
    places: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kernel = type(self.base).__name__
        names = ", ".join(self.box.names)
        vanishing = ", which vanishes" if self.vanishes else ""
        rows = "old rows that were left out" if self.is_anonymous else f"{len(self.anchors)} old settings"
        return (
            f"<WeightPrior for {names}: {kernel} re-weighted by {rows}{vanishing}; "
            f"{self.machine}, λ = {self.lam:.3g}, leave-one-out error {self.error:.3g}>"
        )

    @property
    def base(self) -> FreeKernel:
        """The free kernel K_m, its parameters chosen."""
        kernel = self.fit.kernel
        assert isinstance(kernel, FreeKernel)  # `select` saw to it
        return kernel

    @property
    def alpha(self) -> Float[Tensor, " _"]:
        """α, one for each anchor; empty where g has a coefficient for each feature instead."""
        return self.fit.alpha if isinstance(self.fit, AlphaFit) else self.anchors.new_zeros(0)

    @property
    def lam(self) -> float:
        """The regularisation λ that g was learnt with."""
        return self.fit.lam

    def make_kernel(self) -> Kernel:
        """The re-weighted kernel K^A₂, a GPyTorch kernel on `inputs` without learnable parameters."""
        return deepcopy(self._kernel)  # a copy: moving it to a GPU leaves the prior where it is

    @cached_property
    def _kernel(self) -> Kernel:
        return ReweightedBelief().make_kernel(self.fit)

    def to_kernel_inputs(self, codes: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch d"]:
        """Kernel inputs in [-reach, reach], from the codes of settings."""
        return self.reach * self.box.to_kernel_inputs(codes)

    @cached_property
    def vanishes(self) -> bool:
        """Whether the kernel is numerically zero at the old settings, as it is if g is flat."""
        with torch.no_grad():
            return float(self.make_kernel()(self.anchors, diag=True).mean()) < _VANISHING

    @property
    def is_anonymous(self) -> bool:
        """Whether the rows that it was learnt from were left out: its anchors are points that anybody could list."""
        return self.machine == ANONYMOUS

    @property
    def row_places(self) -> tuple[str, ...]:
        """`places`; of an anonymous prior, whose anchors are no rows, `WITHHELD` for each."""
        return (WITHHELD,) * len(self.alpha) if self.is_anonymous else self.places

    def explain(self) -> PriorExplanation:
        """What the old data taught: inputs and their directions, interactions, features, and the rows that carry it.

        Shares are over the whole box, evenly on the scale of each parameter. See docs/explaining.md.
        """
        return PriorExplanation.from_summaries([summarise_weight_prior(self, Domain.from_box(self.box))])

    def drop_rows(self) -> "WeightPrior":
        """What was learnt, without the rows it was learnt from; docs/sharing.md says what it still reveals.

        g is learnt again from its own rounded values at points that do not depend on the old data, with fewer degrees
        of freedom than there were rows, and all other numbers are rounded.
        """
        return self if self.is_anonymous else WeightPrior(**distil_prior(self))

    def save(self, path: str | PathLike[str], anonymous: bool = False) -> None:
        """Write everything into one file: a zip archive of plain arrays and a JSON header.

        Args:
            path: Of the file.
            anonymous: Whether to save it `drop_rows`, to be shared with people who may not see the old data.
        """
        storage.write(self.drop_rows() if check_flag(anonymous, "anonymous") else self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "WeightPrior":
        """The prior that `save` wrote into this file; a `FileFormatError` if it holds none that can be used."""
        prior = cls(**storage.read(path))
        storage.refuse_unusable(prior, path)
        return prior
