"""Tuning of scikit-learn's models as a pool: -log(cross-validated log loss) of settings, on five bundled data sets.

The scores are stored (`tuning_tables/MODEL.csv`, made by `python -m benchmarks tuning-tables`), so a trial costs
nothing. A problem is one model on one data set; its old data is the same model on another. Pool and old settings are
two Sobol samples; an old setting that happens to be in the pool too is left out.
"""

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn import datasets
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.problems.pairs import Pair, subsample
from tunedprior.errors import InputError
from tunedprior.space.search_space import Setting, Space

TABLES = Path(__file__).parent / "tuning_tables"
#: What may be set of each model.
TUNED: dict[str, dict[str, BaseDistribution]] = {
    "support_vectors": {
        "C": FloatDistribution(1e-2, 1e3, log=True),
        "gamma": FloatDistribution(1e-5, 1.0, log=True),
        "coef0": FloatDistribution(0.0, 1.0),
        "kernel": CategoricalDistribution(["poly", "rbf", "sigmoid"]),
    },
    "extra_trees": {
        "max_features": FloatDistribution(0.05, 1.0),
        "min_samples_leaf": IntDistribution(1, 32, log=True),
        "max_depth": IntDistribution(1, 12),
        "criterion": CategoricalDistribution(["entropy", "gini"]),
    },
    "boosting": {
        "learning_rate": FloatDistribution(3e-2, 1.0, log=True),
        "n_estimators": IntDistribution(2, 16, log=True),
        "max_depth": IntDistribution(1, 6),
        "subsample": FloatDistribution(0.3, 1.0),
    },
    "perceptron": {
        "alpha": FloatDistribution(1e-4, 1e2, log=True),
        "learning_rate_init": FloatDistribution(1e-4, 0.3, log=True),
        "width": IntDistribution(4, 64, log=True),
        "activation": CategoricalDistribution(["logistic", "relu", "tanh"]),
    },
}
DATA_SETS = ("breast_cancer", "diabetes", "digits", "iris", "wine")
#: Model, data set, and that of the old data; rank correlations of their scores run from 0.15 (boosting on diabetes) to
#: 0.91 (perceptron on breast cancer).
TUNING = (
    ("support_vectors", "wine", "breast_cancer"),
    ("support_vectors", "digits", "diabetes"),
    ("extra_trees", "digits", "breast_cancer"),
    ("extra_trees", "diabetes", "iris"),
    ("boosting", "breast_cancer", "digits"),
    ("boosting", "diabetes", "wine"),
    ("perceptron", "breast_cancer", "wine"),
    ("perceptron", "diabetes", "digits"),
)
#: The same with two sets of old data.
TUNING_SEVERAL = (
    ("boosting", "breast_cancer", ("digits", "wine")),
    ("perceptron", "diabetes", ("digits", "iris")),
)
#: Which sample a row of a table belongs to, and the seed that draws it.
POOL, OLD = "pool", "old"
SAMPLE_SEEDS = {POOL: 1, OLD: 2}
SAMPLE_SIZES = {POOL: 300, OLD: 200}
_FOLDS = 2
_DIGITS = 400  # rows; all 1797 would take most of the time
_DIGITS_KEPT = 4  # significant digits of settings, rounded before they are used


def tuning_problem(model: str, target: str, source: str, rows: int | None = None, seed: int = 0) -> Pair:
    """Tuning a model on one data set, with scores on another as old data.

    Args:
        model: One of `TUNED`.
        target: The data set whose scores the pool has; one of `DATA_SETS`.
        source: The data set whose scores the old data has.
        rows: How many rows of old data, drawn by the seed; None: all.
        seed: Draws them.
    """
    told = (("model", model, TUNED), ("data set", target, DATA_SETS), ("data set", source, DATA_SETS))
    for what, name, names in told:
        if name not in names:
            raise InputError(f"A {what} must be one of {', '.join(names)}; got {name!r}.")
    table = pd.read_csv(TABLES / f"{model}.csv")
    inputs = list(TUNED[model])
    old, new = (table[table["sample"] == sample].reset_index(drop=True) for sample in (OLD, POOL))
    known = set(map(tuple, new[inputs].to_numpy()))
    old = old[[tuple(row) not in known for row in old[inputs].to_numpy()]].reset_index(drop=True)
    pair = Pair(
        name=f"{model}_{source}_{target}",
        space={name: _continuous(given) for name, given in TUNED[model].items()},
        old=old[[*inputs, source]].rename(columns={source: "y"}),
        pool=new[inputs],
        responses=new[target].to_numpy(),
        direction="maximize",
        origin="scores of scikit-learn's models on the data sets that it brings",
        licence="MIT",
    )
    return pair if rows is None else subsample(pair, seed, rows=rows)


def settings(model: str, sample: str) -> list[Setting]:
    """The settings of one of the two samples, with the digits that the table keeps."""
    drawn = Space.parse(TUNED[model]).sobol(SAMPLE_SIZES[sample], SAMPLE_SEEDS[sample])
    return [{name: _rounded(value) for name, value in setting.items()} for setting in drawn]


def score(model: str, setting: Setting, data_set: str) -> float:
    """-log(log loss) of held-out rows, inputs standardised; larger is better.

    Support vectors give no probabilities: theirs are softmax(t · decision values), with the one number t that suits the
    held-out rows best.
    """
    inputs, classes = _data(data_set)
    method = "decision_function" if model == "support_vectors" else "predict_proba"
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few epochs are meant: settings that learn slowly lose
        estimator = make_pipeline(StandardScaler(), _MODELS[model](**setting))
        found = cross_val_predict(estimator, inputs, classes, cv=folds, method=method)
    probabilities = found if method == "predict_proba" else _as_probabilities(found, classes)
    return -float(np.log(log_loss(classes, probabilities)))


def _as_probabilities(decisions: np.ndarray, classes: np.ndarray) -> np.ndarray:
    columns = np.column_stack([np.zeros(len(decisions)), decisions]) if decisions.ndim == 1 else decisions

    def loss(log_scale: float) -> float:
        return -float(log_softmax(np.exp(log_scale) * columns, axis=1)[np.arange(len(classes)), classes].mean())

    return softmax(np.exp(minimize_scalar(loss, bounds=(-10.0, 10.0), method="bounded").x) * columns, axis=1)


def _perceptron(width: int, **others: Any) -> MLPClassifier:
    return MLPClassifier((width,), max_iter=20, random_state=0, **others)


_MODELS: dict[str, Callable[..., Any]] = {
    "support_vectors": lambda **setting: SVC(max_iter=3000, **setting),
    "extra_trees": lambda **setting: ExtraTreesClassifier(10, random_state=0, **setting),
    "boosting": lambda **setting: GradientBoostingClassifier(random_state=0, **setting),
    "perceptron": _perceptron,
}


@cache
def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and classes; of digits some rows, even against odd; diabetes above its median against below."""
    inputs, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":
        kept = np.random.default_rng(0).choice(len(inputs), _DIGITS, replace=False)
        inputs, classes = inputs[kept], classes[kept] % 2
    if name == "diabetes":
        classes = classes > np.median(classes)
    return inputs, classes.astype(int)


def _rounded(value: Any) -> Any:
    return float(f"{value:.{_DIGITS_KEPT}g}") if isinstance(value, float) else value


def _continuous(given: BaseDistribution) -> BaseDistribution:
    """Whole numbers as numbers: the pool has whole ones alone, so nothing needs to be rounded."""
    if isinstance(given, IntDistribution):
        return FloatDistribution(given.low, given.high, log=given.log)
    return given
