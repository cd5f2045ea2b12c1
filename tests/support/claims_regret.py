"""Sentences about regret bounds, with figures from the stored terms."""

from functools import cache

import numpy as np
import pandas as pd

from support.measures import REGRET
from support.prose import Claim, Value
from support.stored import Estimate, curves

_TRIALS, _SETTINGS, _NOISE, _DELTA, _SHARE = 50, 512, 0.01, 0.1, 1 - 1 / np.e
_FUNCTIONS = ("Styblinski-Tang", "Hölder table", "Ackley (shifted)")


@cache
def terms() -> pd.DataFrame:
    """γ_T, κ, ‖h‖ and η of every job, and what follows."""
    steps = curves("regret_bounds").pivot(index=["kind", "prior", "problem", "seed"], columns="step", values="value")
    gain, largest, norm, miss = steps[3 + _TRIALS] / _SHARE, steps[1], steps[2], steps[3]
    width = norm + miss * (_TRIALS / _NOISE) ** 0.5 + np.sqrt(2 * gain + 2 * np.log(1 / _DELTA))
    size = np.sqrt(8 * largest * gain / np.log(1 + largest / _NOISE))
    beta = 2 * np.log(_SETTINGS * _TRIALS**2 * np.pi**2 / 6 / _DELTA)
    return pd.DataFrame(
        {
            "γ_T": gain, "κ": largest, "Bayesian bound": size * np.sqrt(beta / _TRIALS), "√β_T": width,
            "agnostic bound": size * width / np.sqrt(_TRIALS) + 2 * miss,
        }
    )  # fmt: skip


#: What a cell of the table has.
IN_A_CELL = ("γ_T", "Bayesian bound", "agnostic bound")


def relative(kind: str, prior: str, column: str) -> Estimate:
    """Over that of the plain kernel with right data: geometric mean over functions, and what it is on other seeds."""
    found = terms()[column]
    own, base = (
        np.array([found.loc[*which, name].sort_index() for name in _FUNCTIONS])
        for which in ((kind, prior), ("right", "plain"))
    )
    drawn = np.random.default_rng(21).integers(own.shape[1], size=(20_000, own.shape[1]))
    logs = [np.log(rows[:, drawn].mean(axis=2)) for rows in (own, base)]
    middle = np.exp(np.log(own.mean(axis=1) / base.mean(axis=1)).mean())
    return Estimate(float(middle), np.exp((logs[0] - logs[1]).mean(axis=0)))


def told(*which: tuple[str, str, str]) -> list[Value]:
    """Ratios of these kinds, kernels and terms."""
    return [relative(*one).middle for one in which]


CLAIMS_REGRET = [
    Claim(
        REGRET,
        "Re-weighting lowers γ_T to {0.49} with right data, and to {0.36} with noise",
        lambda: told(("right", "re-weighted", "γ_T"), ("pure noise", "re-weighted", "γ_T")),
    ),
    Claim(
        REGRET,
        "with noise the agnostic bound is {13.22} times as large",
        lambda: told(("pure noise", "re-weighted", "agnostic bound")),
    ),
    Claim(
        REGRET,
        "κ is {8.39} with right data",
        lambda: told(("right", "re-weighted", "κ")),
    ),
    Claim(
        REGRET,
        "the Bayesian bound falls to {0.82}; the agnostic one is level ({0.96})",
        lambda: told(("right", "unit diagonal", "Bayesian bound"), ("right", "unit diagonal", "agnostic bound")),
    ),
    Claim(
        REGRET,
        "No agnostic bound is below {66} standard deviations of f for a trial",
        lambda: [float(terms()["agnostic bound"].min())],
    ),
]
