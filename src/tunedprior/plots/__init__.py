"""Pictures of a campaign: progress, effects, interactions, trust, Pareto front, and what was learnt from old data."""

from tunedprior.plots.drawing import effects, front, interactions, old_data, progress, trust

__all__ = ["effects", "front", "interactions", "old_data", "progress", "trust"]
