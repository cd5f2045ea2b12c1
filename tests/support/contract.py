"""GPyTorch's own suite for kernels, on data where ours are defined."""

import torch
from gpytorch.test.base_kernel_test_case import BaseKernelTestCase


class InsideTheBox(BaseKernelTestCase):
    """GPyTorch's data, squeezed into (-1, 1), where all our kernels are defined."""

    def create_data_no_batch(self) -> torch.Tensor:
        return torch.tanh(super().create_data_no_batch())

    def create_data_single_batch(self) -> torch.Tensor:
        return torch.tanh(super().create_data_single_batch())

    def create_data_double_batch(self) -> torch.Tensor:
        return torch.tanh(super().create_data_double_batch()[:, :, :8])
