from tunedprior.integrations.optuna import TunedPriorSampler


__all__ = ["TunedPriorSampler"]
