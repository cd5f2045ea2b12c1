"""Use old data in BayBE: the learnt kernel as a kernel factory of its Gaussian process, stored in its JSON files."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from gpytorch.kernels import Kernel

from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.checks import import_optional
from tunedprior.errors import InputError
from tunedprior.integrations.tensors import learn_belief_kernel, pretrain_on_tensors, refuse_missing_columns
from tunedprior.models.gaussian_process import add_amplitude
from tunedprior.tables.reading import read_table

import_optional("baybe", "baybe")

from attrs import define, field  # noqa: E402 (after the check, whose message names the extra)
from baybe.objectives.base import Objective  # noqa: E402
from baybe.searchspace import SearchSpace  # noqa: E402
from baybe.serialization.mixin import SerialMixin  # noqa: E402
from baybe.surrogates.gaussian_process.components.kernel import KernelFactoryProtocol  # noqa: E402
from baybe.surrogates.gaussian_process.presets.baybe import BayBEKernelFactory  # noqa: E402


def _convert_columns(old: Any) -> dict[str, list[bool | int | float | str]]:
    """A table as plain lists, which JSON can hold."""
    if isinstance(old, Mapping) and all(isinstance(column, list) for column in old.values()):
        return dict(old)
    columns = read_table(old, [], "Old data").table.to_dict("list")
    return {str(name): cells for name, cells in columns.items()}


@define(slots=False)  # with slots, a class of the same name is left until garbage is collected, and BayBE finds that
class TunedPriorKernelFactory(KernelFactoryProtocol, SerialMixin):
    """σ_g² K_A + σ_b² K_B: the kernel that old data A taught, plus the one that BayBE would use without.

    For `GaussianProcessSurrogate(kernel_or_factory=…)`. Old settings are encoded as BayBE encodes those of the
    campaign. The factory survives `to_json` and `from_json` with the old data in it; import this module before reading
    a campaign that holds one.

    Args:
        old: A table with a column for each parameter of the search space, and the response.
        target: The column of the old response, whatever the campaign's target is called.
        prior: The belief about old data, by name: "aligned", "reweighted" (the paper's), or any other that is one
            kernel.
        remainder: Whether K_B, by which observations can overrule old data, is part of the kernel.
    """

    old: dict[str, list[bool | int | float | str]] = field(converter=_convert_columns)
    target: str = "y"
    prior: str = AlignedBelief.name
    remainder: bool = True

    def __call__(self, searchspace: SearchSpace, objective: Objective, measurements: pd.DataFrame) -> Kernel:
        """The kernel on BayBE's encoding of settings, scaled as its Gaussian process scales it."""
        plain: Any = BayBEKernelFactory()(searchspace, objective, measurements)
        plain = plain if isinstance(plain, Kernel) else plain.to_gpytorch(searchspace)
        if searchspace.task_idx is not None:
            raise InputError(
                "Old data is either in the kernel or a task of its own; the search space has a task parameter. Leave "
                "that out, or use BayBE's own kernels."
            )
        kernel = learn_belief_kernel(lambda: self._pretrain(searchspace), self.prior, "Going on without old data.")
        if kernel is None:
            return plain
        return add_amplitude(kernel) + add_amplitude(plain) if self.remainder else add_amplitude(kernel)

    def _pretrain(self, searchspace: SearchSpace) -> Any:
        rows, names = pd.DataFrame(self.old), list(searchspace.parameter_names)
        refuse_missing_columns(rows, [*names, self.target])
        rows = rows.dropna(subset=[*names, self.target]).reset_index(drop=True)
        encoded = searchspace.transform(rows[names])[list(searchspace.comp_rep_columns)].to_numpy(dtype=np.float64)
        low, high = searchspace.scaling_bounds[list(searchspace.comp_rep_columns)].to_numpy(dtype=np.float64)
        inputs = (encoded - low) / np.where(high > low, high - low, 1.0)
        unit = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, inputs.shape[1])
        return pretrain_on_tensors(inputs, rows[self.target].to_numpy(dtype=np.float64), unit)
