"""The process inside Ax, which is an extra."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("ax")

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from botorch.models import SingleTaskGP

from tunedprior.errors import InputError
from tunedprior.integrations.ax import generation_strategy, model_config
from tunedprior.integrations.botorch import TunedPriorGP

#: Ax's own affairs.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*AxParameterWarning.*"),
]

PARAMETERS = [
    RangeParameterConfig(name="share", bounds=(0.0, 1.0), parameter_type="float"),
    RangeParameterConfig(name="rate", bounds=(1e-4, 1.0), parameter_type="float", scaling="log"),
]


def loss(share: float, rate: float) -> float:
    return (share - 0.7) ** 2 + 0.3 * np.sin(2 * np.log10(rate))


def old_table() -> pd.DataFrame:
    draws = np.random.default_rng(0).random((30, 2))
    share, rate = draws[:, 0], 10 ** (4 * draws[:, 1] - 4)
    return pd.DataFrame({"rate": rate, "share": share, "y": 1 - 5 * loss(share, rate)})


def client(**options) -> Client:
    made = Client(random_seed=0)
    made.configure_experiment(parameters=PARAMETERS)
    made.configure_optimization(objective="-loss")
    made.set_generation_strategy(generation_strategy(old_table(), PARAMETERS, initial=2, seed=0, **options))
    return made


def run(of: Client, count: int) -> list[dict]:
    found = []
    for _ in range(count):
        for number, setting in of.get_next_trials(1).items():
            of.complete_trial(number, {"loss": float(loss(**setting))})
            found.append(setting)
    return found


def test_old_settings_are_in_the_units_of_the_models() -> None:
    X, y = model_config(old_table(), PARAMETERS).model_options["old"]
    np.testing.assert_allclose(X.numpy(), np.stack([old_table()["share"], np.log10(old_table()["rate"])], axis=1))
    np.testing.assert_allclose(y.numpy()[:, 0], old_table()["y"])


def test_a_client_goes_on_from_its_file(tmp_path: Path) -> None:
    straight = client()
    run(straight, 3)
    path = tmp_path / "client.json"
    straight.save_to_json_file(str(path))
    assert "TunedPriorGP" in json.dumps(json.loads(path.read_text()))
    resumed = Client.load_from_json_file(str(path))
    before, after = (_model_of(one) for one in (straight, resumed))
    assert isinstance(before, SingleTaskGP)
    assert isinstance(after, TunedPriorGP)
    best = min(loss(**setting) for setting in run(resumed, 2))
    assert best < -0.28  # the least there is: -0.3


def _model_of(of: Client):
    of.get_next_trials(1)
    return of._generation_strategy.adapter.generator.surrogate.model


def test_what_cannot_be_used_is_refused() -> None:
    choice = ChoiceParameterConfig(name="gas", values=["air", "argon"], parameter_type="str")
    with pytest.raises(InputError, match="gas is none"):
        model_config(old_table(), [*PARAMETERS, choice])
    with pytest.raises(InputError, match="rate is missing"):
        model_config(old_table().drop(columns="rate"), PARAMETERS)
    with pytest.raises(InputError, match="above 0"):
        model_config(old_table().assign(rate=0.0), PARAMETERS)
    with pytest.raises(InputError, match="must be numbers"):
        model_config(old_table().assign(share="much"), PARAMETERS)
