"""Whole optimisers that are asked for settings and learn several responses: ours, BoTorch's and Optuna's."""
