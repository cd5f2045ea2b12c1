"""Pictures of a campaign: progress, effects, interactions, trust, the front, and what the old data taught."""

from tunedprior.plots.drawing import effects, front, interactions, old_data, progress, trust

__all__ = ["effects", "front", "interactions", "old_data", "progress", "trust"]
