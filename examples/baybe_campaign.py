"""Old data in a BayBE campaign: its Gaussian process with the learnt kernel, interrupted and taken up from JSON.

It needs BayBE: pip install "tunedprior[baybe]". Run it with: python examples/baybe_campaign.py
"""

import numpy as np
import torch
from baybe import Campaign
from baybe.objectives import SingleTargetObjective
from baybe.parameters import CategoricalParameter, NumericalDiscreteParameter
from baybe.recommenders import BotorchRecommender
from baybe.searchspace import SearchSpace
from baybe.surrogates import GaussianProcessSurrogate
from baybe.targets import NumericalTarget

from tunedprior.integrations.baybe import TunedPriorKernelFactory

space = SearchSpace.from_product(
    [
        NumericalDiscreteParameter("temperature", np.linspace(20, 80, 13)),
        NumericalDiscreteParameter("concentration", np.linspace(0, 1, 9)),
        CategoricalParameter("solvent", ["water", "ethanol", "dmso"], encoding="OHE"),
    ]
)


def measured_yield(settings, best_temperature=55):
    """What is measured today."""
    bonus = settings["solvent"].map({"water": 0, "ethanol": 30, "dmso": 10})
    peak = np.exp(-(((settings["temperature"] - best_temperature) / 15) ** 2))
    return 60 * peak * (1 - (settings["concentration"] - 0.6) ** 2) + bonus


everything = space.discrete.exp_rep
old = everything.sample(60, random_state=0).reset_index(drop=True)
old["impurity"] = 9 - measured_yield(old, best_temperature=52) / 10  # another response, which runs backwards

process = GaussianProcessSurrogate(kernel_or_factory=TunedPriorKernelFactory(old, target="impurity"))
campaign = Campaign(space, SingleTargetObjective(NumericalTarget("yield")), BotorchRecommender(surrogate_model=process))
first = everything.sample(3, random_state=3)
campaign.add_measurements(first.assign(**{"yield": measured_yield(first)}))

for step in range(4):
    torch.manual_seed(step)
    batch = campaign.recommend(batch_size=1)
    batch["yield"] = measured_yield(batch)
    campaign.add_measurements(batch)
    if step == 1:
        campaign = Campaign.from_json(campaign.to_json())  # as it would be after a night on disk

best = campaign.measurements["yield"].max()
print(f"best of {len(campaign.measurements)} runs: {best:.1f}, of {measured_yield(everything).max():.1f}")
