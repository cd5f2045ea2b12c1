"""The learnt kernel inside BayBE, which is an extra."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("baybe")

from baybe import Campaign
from baybe.objectives import SingleTargetObjective
from baybe.parameters import CategoricalParameter, NumericalDiscreteParameter, TaskParameter
from baybe.recommenders import BotorchRecommender
from baybe.searchspace import SearchSpace
from baybe.surrogates import GaussianProcessSurrogate
from baybe.targets import NumericalTarget

from tunedprior.errors import InputError, OldDataWarning
from tunedprior.integrations.baybe import TunedPriorKernelFactory

#: BayBE's own affairs.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

SPACE = SearchSpace.from_product(
    [
        NumericalDiscreteParameter("T", np.linspace(20, 80, 7)),
        NumericalDiscreteParameter("c", np.linspace(0, 1, 5)),
        CategoricalParameter("solvent", ["water", "ethanol", "dmso"], encoding="OHE"),
    ]
)
OBJECTIVE = SingleTargetObjective(NumericalTarget("yield"))


def response(settings: pd.DataFrame) -> pd.Series:
    bonus = settings["solvent"].map({"water": 0.0, "ethanol": 0.3, "dmso": 0.1})
    return np.exp(-(((settings["T"] - 55) / 15) ** 2)) * (1 - (settings["c"] - 0.6) ** 2) + bonus


def rows(count: int, seed: int) -> pd.DataFrame:
    return SPACE.discrete.exp_rep.sample(count, random_state=seed).reset_index(drop=True)


def old_table() -> pd.DataFrame:
    settings = rows(40, seed=0)
    return settings.assign(y=3 - 7 * response(settings))


MEASURED = rows(6, seed=1)
MEASURED = MEASURED.assign(**{"yield": response(MEASURED)})


def surrogate(factory: TunedPriorKernelFactory | None = None) -> GaussianProcessSurrogate:
    return GaussianProcessSurrogate(**({} if factory is None else {"kernel_or_factory": factory}))


def error(model: GaussianProcessSurrogate) -> float:
    model.fit(SPACE, OBJECTIVE, MEASURED)
    everything = SPACE.discrete.exp_rep
    mean = model.posterior(everything).mean.detach().numpy()[:, 0]
    return float(np.sqrt(np.mean((mean - response(everything)) ** 2)))


def test_old_data_pays_off() -> None:
    assert error(surrogate(TunedPriorKernelFactory(old_table()))) < 0.75 * error(surrogate())


def test_a_factory_survives_json() -> None:
    factory = TunedPriorKernelFactory(old_table(), prior="reweighted", remainder=False)
    again = TunedPriorKernelFactory.from_json(factory.to_json())
    assert again == factory
    assert error(surrogate(again)) == pytest.approx(error(surrogate(factory)))


def test_a_campaign_survives_json() -> None:
    recommender = BotorchRecommender(surrogate_model=surrogate(TunedPriorKernelFactory(old_table())))
    campaign = Campaign(SPACE, OBJECTIVE, recommender)
    campaign.add_measurements(MEASURED)
    again = Campaign.from_json(campaign.to_json())
    held = [json.loads(one.to_json())["recommender"] for one in (campaign, again)]
    assert held[0] == held[1]
    assert "TunedPriorKernelFactory" in json.dumps(held)
    pd.testing.assert_frame_equal(again.recommend(1), campaign.recommend(1))


def test_old_data_that_says_nothing_leaves_their_kernel() -> None:
    flat = TunedPriorKernelFactory(old_table().assign(y=1.0))
    with pytest.warns(OldDataWarning, match="Going on without old data"):
        found = error(surrogate(flat))
    assert found == pytest.approx(error(surrogate()), rel=1e-3)


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InputError, match="solvent is missing"):
        error(surrogate(TunedPriorKernelFactory(old_table().drop(columns="solvent"))))
    with pytest.raises(InputError, match="prior must be one of"):
        error(surrogate(TunedPriorKernelFactory(old_table(), prior="average")))
    tasks = SearchSpace.from_product([NumericalDiscreteParameter("T", [1, 2]), TaskParameter("task", ["a", "b"])])
    with pytest.raises(InputError, match="task parameter"):
        TunedPriorKernelFactory(old_table())(tasks, OBJECTIVE, MEASURED)
