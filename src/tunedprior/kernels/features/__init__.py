"""Explicit features of free kernels: the selection of those that matter, and sums over them."""
