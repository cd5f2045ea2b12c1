"""Campaigns: `Optimizer` to ask and tell, `optimize` for a whole campaign in one call, and how results are recorded."""

from tunedprior.campaign.loop import optimize, simulate
from tunedprior.campaign.optimizer import Optimizer
from tunedprior.history.parsing import Suggestion
from tunedprior.suggestion.config import CampaignConfig, SearchConfig, TransferConfig
from tunedprior.suggestion.recommendation import BaselineSuggestion
from tunedprior.suggestion.response_models import FittedModels
from tunedprior.suggestion.suggester import Suggester

__all__ = [
    "BaselineSuggestion",
    "CampaignConfig",
    "FittedModels",
    "Optimizer",
    "SearchConfig",
    "Suggester",
    "Suggestion",
    "TransferConfig",
    "optimize",
    "simulate",
]
