"""Kernels of beliefs pass GPyTorch's own suite for kernels, by all anchors and by explicit features.

They differ from GPyTorch's in two things by design, and the suite's tests of those say what holds instead. A belief is
held about one kernel, so there is no batch of parameters: whatever batch shape the suite asks for, the one kernel
serves all of it. And nothing is learnable or rounded: all stays in float64 wherever the kernel is moved.
"""

import unittest
from abc import abstractmethod

import pytest
import torch
from gpytorch.kernels import Kernel

from support.builders import belief_kernel
from support.cases import table
from support.contract import InsideTheBox
from support.features import random_indices
from tunedprior.beliefs import AlignedFeatureKernel
from tunedprior.errors import InputError
from tunedprior.kernels import SquaredExponential
from tunedprior.kernels.explicit_features import FeatureKernel


class OfABelief(InsideTheBox):
    """The suite, where a belief's kernel is made from a base kernel for so many inputs."""

    @abstractmethod
    def make(self, base: SquaredExponential, num_inputs: int, active_dims: list[int] | None) -> Kernel:
        """The kernel; with columns to pick, `num_inputs` is how many are picked."""

    def create_kernel_no_ard(
        self,
        batch_shape: torch.Size | None = None,  # noqa: ARG002  # see above
        active_dims: list[int] | None = None,
    ) -> Kernel:
        # The suite passes 4 columns to one test, 6 to another and 2 to the rest; anchors must be as wide.
        num_inputs = {"test_active_dims_list": 4, "test_active_dims_range": 6}.get(self._testMethodName, 2)
        return self.make(SquaredExponential(0.6, active_dims=active_dims), num_inputs, active_dims)

    def create_kernel_ard(self, num_dims: int, batch_shape: torch.Size | None = None) -> Kernel:  # noqa: ARG002
        return self.make(SquaredExponential([0.6 + 0.2 * d for d in range(num_dims)]), num_dims, None)

    def test_a_batch_of_kernels_is_one_and_the_same(self) -> None:
        kernel = self.create_kernel_no_ard()
        assert kernel.batch_shape == torch.Size([])
        assert kernel[0] is kernel
        with pytest.raises(InputError, match=r"about one kernel; got a batch of them, of shape \(2,\)"):
            self.make(SquaredExponential(0.6, batch_shape=torch.Size([2])), 2, None)

    def test_kernel_dtype_device(self) -> None:
        """Overridden: the suite wants the dtype to follow `to`, and rounding α would change which features matter."""
        kernel, x = self.create_kernel_no_ard(), self.create_data_no_batch()[:, :2].double()
        exact = kernel(x).to_dense()
        assert kernel.dtype == torch.float64
        assert kernel.device == torch.device("cpu")
        kernel.to(dtype=torch.float32)
        assert kernel.dtype == torch.float64
        assert torch.equal(kernel(x).to_dense(), exact)
        assert kernel(x.float()).to_dense().dtype == torch.float32  # answers come in the dtype of the question
        assert not any(parameter.requires_grad for parameter in kernel.parameters())
        kernel.register_parameter("foo", torch.nn.Parameter(torch.zeros(1, dtype=torch.float32)))
        with pytest.raises(RuntimeError, match="parameters have multiple dtypes"):
            _ = kernel.dtype


class OfAnchors(OfABelief):
    """By the sum over all anchors."""

    name: str
    by_features = False

    def make(self, base: SquaredExponential, num_inputs: int, active_dims: list[int] | None) -> Kernel:
        anchors, alpha = self.anchors(num_inputs, active_dims)
        kernel = belief_kernel(self.name, base, anchors, alpha, by_features=self.by_features)
        assert kernel.by_features == self.by_features
        return kernel

    def anchors(self, num_inputs: int, active_dims: list[int] | None) -> tuple[torch.Tensor, torch.Tensor]:
        """Anchors as wide as the table that columns are picked from, the same in those columns."""
        narrow, alpha = table(4, num_inputs, seed=3), torch.tensor([0.5, -1.0, 0.8, 0.3])
        if active_dims is None:
            return narrow, alpha
        wide = table(4, 10, seed=4)
        wide[:, active_dims] = narrow
        return wide, alpha


class OfFeatures(OfAnchors):
    """By explicit features, which a kernel that picks columns has none of."""

    by_features = True

    def picked_columns_are_refused(self, active_dims: list[int]) -> None:
        """The suite's test of `active_dims` cannot apply; without `by_features` the sum over anchors does it all."""
        with pytest.raises(InputError, match="leave by_features out"):
            self.create_kernel_no_ard(active_dims=active_dims)

    def test_active_dims_list(self) -> None:
        self.picked_columns_are_refused([0, 2, 4, 6])

    def test_active_dims_range(self) -> None:
        self.picked_columns_are_refused(list(range(3, 9)))


class TestAlignedByAnchors(unittest.TestCase, OfAnchors):
    name = "aligned"


class TestMatchedByAnchors(unittest.TestCase, OfAnchors):
    name = "matched"


class TestUncertainByAnchors(unittest.TestCase, OfAnchors):
    name = "uncertain"


class TestFixedReweightedByAnchors(unittest.TestCase, OfAnchors):
    name = "reweighted"


class TestAlignedByFeatures(unittest.TestCase, OfFeatures):
    name = "aligned"


class TestMatchedByFeatures(unittest.TestCase, OfFeatures):
    name = "matched"


class TestUncertainByFeatures(unittest.TestCase, OfFeatures):
    name = "uncertain"


class TestFixedReweightedByFeatures(unittest.TestCase, OfFeatures):
    name = "reweighted"


class TestAlignedFeatures(unittest.TestCase, OfABelief):
    def make(self, base: SquaredExponential, num_inputs: int, active_dims: list[int] | None) -> Kernel:  # noqa: ARG002
        indices = random_indices(num_inputs, 6, seed=2, highest=3)
        return AlignedFeatureKernel(base, indices, table(6, seed=3), table(6, 2, seed=4) / 4, 0.7)


class TestExplicit(unittest.TestCase, OfABelief):
    def make(self, base: SquaredExponential, num_inputs: int, active_dims: list[int] | None) -> Kernel:  # noqa: ARG002
        return FeatureKernel(base, random_indices(num_inputs, 6, seed=2, highest=3), 0.1 + table(6, seed=7).abs(), 0.3)
