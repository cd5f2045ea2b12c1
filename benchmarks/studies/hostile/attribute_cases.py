"""What other workers may keep with trials and studies, by mistake or on purpose, and whether a sampler goes on."""

import warnings
from math import nan
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState, create_trial

from tunedprior.integrations.optuna.sampler import TunedPriorSampler
from tunedprior.storage.databases import get_storage, get_storage_id, set_study_attribute
from tunedprior.storage.study_trials import CHOSEN

SPACE = {"x": FloatDistribution(0.0, 1.0), "gas": CategoricalDistribution(("air", "argon"))}
_DEEP = "[" * 5000
#: Where (a trial that has finished, one that runs, the study), the attribute's name, and what it holds.
ATTRIBUTES: list[tuple[str, str, Any]] = [
    *[
        (where, CHOSEN, value)
        for where in ("running", "finished")
        for value in (
            5,
            None,
            [],
            {"x": 1},
            "no JSON",
            _DEEP,
            '["x"]',
            '{"x": "abc", "gas": 0}',
            '{"x": null, "gas": 0}',
            '{"x": NaN, "gas": 0}',
            '{"x": 1e999, "gas": 0}',
            '{"x": 0.5, "gas": 17}',
            '{"x": 0.5, "gas": -5}',
            '{"x": 0.5, "gas": "air"}',
            '{"x": {"a": 1}, "gas": 0}',
        )
    ],
    *[
        ("running", "fixed_params", value)
        for value in (
            5,
            "abc",
            ["x"],
            {"x": "abc", "gas": "air"},
            {"x": None, "gas": "air"},
            {"x": nan, "gas": "air"},
            {"x": 0.5, "gas": "xenon"},
        )
    ],
    *[("finished", "constraints", value) for value in (5, "abc", ["a"], [None], [[1.0]], {"a": 1.0}, [10**400])],
    ("finished", "constraints:0", "abc"),
    ("study", "tunedprior:learnt:", 5),
    ("study", "tunedprior:learnt:", {"about": 5}),
    ("study", "tunedprior:learnt:", {"about": {}, "digest": 5, "pieces": 10**9}),
    ("study", "study:metric_names", 5),
    ("study", "study:metric_names", ["a", "b", "c"]),
]


def goes_on(number: int) -> bool:
    """Whether a sampler suggests a setting that is allowed, with an attribute in its study that makes no sense.

    Whatever it raises instead is raised.
    """
    where, name, value = ATTRIBUTES[number]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    old = {"x": [0.0, 0.3, 0.6, 0.9], "gas": ["air", "argon"] * 2, "y": [0.1, 0.5, 0.4, 0.2]}
    study = optuna.create_study(storage=InMemoryStorage(), sampler=TunedPriorSampler(old, seed=0, search_space=SPACE))
    for k in range(4):
        chosen = {"x": 0.2 * k, "gas": "air"}
        study.add_trial(create_trial(params=chosen, distributions=SPACE, value=float(k)))
    if where == "finished":
        hostile = create_trial(
            params={"x": 0.7, "gas": "argon"}, distributions=SPACE, value=1.0, system_attrs={name: value}
        )
        study.add_trial(hostile)
    elif where == "running":
        study.add_trial(create_trial(state=TrialState.RUNNING, system_attrs={name: value}))
    elif name.endswith(":"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _suggest(study)  # keeps what was learnt, which is then spoilt
        for kept in get_storage(study).get_study_system_attrs(get_storage_id(study)):
            if kept.startswith(name):
                set_study_attribute(study, kept, value)
        study.sampler = TunedPriorSampler(old, seed=0, search_space=SPACE)
    else:
        set_study_attribute(study, name, value)
    return _suggest(study) and _suggest(study)  # another worker's turn after that


def _suggest(study: optuna.Study) -> bool:
    trial = study.ask()
    x, gas = trial.suggest_float("x", 0.0, 1.0), trial.suggest_categorical("gas", ["air", "argon"])
    return 0.0 <= x <= 1.0 and gas in ("air", "argon") and set(trial.relative_params) == {"x", "gas"}
