"""From one experiment to the next: `Suggester` is the pure function, `Optimizer` and `optimize` are fronts over it."""

from tunedprior.campaign.fitted import FittedModels
from tunedprior.campaign.loop import optimize
from tunedprior.campaign.optimizer import Optimizer
from tunedprior.campaign.shadow import BaselineSuggestion
from tunedprior.campaign.simulation import simulate
from tunedprior.campaign.suggester import Suggester
from tunedprior.campaign.telling import Suggestion

__all__ = ["BaselineSuggestion", "FittedModels", "Optimizer", "Suggester", "Suggestion", "optimize", "simulate"]
