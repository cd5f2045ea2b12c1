"""An Optuna sampler that learns from old data, for studies of every kind."""

from tunedprior.integrations.optuna.sampler import TunedPriorSampler

__all__ = ["TunedPriorSampler"]
