"""How much of the old data is believed by now, and how the objective goes with it."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch

from tunedprior.average import Average, Weighed
from tunedprior.linalg import cholesky
from tunedprior.surrogates import Observations

# Candidates with less than this share of their belief's weight change no digit that is shown.
_LEAST_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class Trust:
    """What the observations made of the old data.

    Attributes:
        beliefs: The probability of each belief, given the observations, by old data set and belief.
        relations: For each old data set: `trust`, the probability of all that is built on it (about half, if it neither
            helps nor hurts); `slope`, by how much the objective rises when the old response rises by 1, both in their
            own units; `positive`, the probability that they rise together rather than against each other. The last two
            are those of "aligned", the one belief that speaks of them, and nan until there are observations.
        history: The same after 0, 1, 2, … observations: a column for each belief, and each slope and sign.
    """

    beliefs: pd.DataFrame
    relations: pd.DataFrame
    history: pd.DataFrame

    def __str__(self) -> str:
        return f"{self.beliefs.round(3).to_string(index=False)}\n\n{self.relations.round(3).to_string(index=False)}"


def trust(average: Average, observed: Sequence[Observations], sign: float) -> Trust:
    """From the observations after each one that was told; `sign` is -1 where the response is to be minimised."""
    names = [old.name for old in average.known]
    rows, beliefs, relations = [], pd.DataFrame(), pd.DataFrame()
    for count in range(len(observed) + 1):
        weighed = average.weigh(observed[count - 1]) if count else average.unweighed
        beliefs = _by_belief(weighed)
        slopes = {
            name: _slope(average, weighed, observed[count - 1], name, sign) if count else (float("nan"),) * 2
            for name in names
        }
        relations = pd.DataFrame(
            [(name, beliefs.loc[beliefs["old data"] == name, "trust"].sum(), *slopes[name]) for name in names],
            columns=["old data", "trust", "slope", "positive"],
        )
        row = {"observations": float(count)}
        row |= {
            belief if len(names) == 1 or not old else f"{old}: {belief}": share
            for old, belief, share in beliefs.itertuples(index=False)
        }
        for name, (slope, positive) in slopes.items():
            before = "" if len(names) == 1 else f"{name}: "
            row |= {f"{before}slope": slope, f"{before}positive": positive}
        rows.append(row)
    history = pd.DataFrame(rows).astype({"observations": int}).set_index("observations")
    return Trust(beliefs, relations, history)


def _by_belief(weighed: Weighed) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "old data": [label.old for label in weighed.candidates.labels],
            "belief": [label.belief for label in weighed.candidates.labels],
            "trust": weighed.weights.numpy(),
        }
    )
    return table.groupby(["old data", "belief"], sort=False)["trust"].sum().reset_index()


def _slope(
    average: Average, weighed: Weighed, observations: Observations, name: str, sign: float
) -> tuple[float, float]:
    """E[ρ | D] and P(ρ > 0 | D), where the objective is ρ·ĝ(x) + …, over the candidates that hold it to be so.

    With ρ ~ N(0, a·s) a priori, and covariance a·R of the observations: ρ | D ~ N(s ĝᵀR⁻¹y, a (s - s² ĝᵀR⁻¹ĝ)).
    """
    among = weighed.candidates
    old = next(old for old in average.known if old.name == name)
    x, y = average.box.inputs(observations.codes), observations.y
    of_it = torch.tensor([label.old == name for label in among.labels]) & (among.slopes > 0)
    rows = (of_it & (weighed.weights >= _LEAST_SHARE * (weighed.weights * of_it).sum())).nonzero().flatten()
    if len(rows) == 0:
        return float("nan"), float("nan")
    every = torch.stack([reading.expected(x) for reading in old.readings])
    expected = every[torch.tensor(among.readings)[rows], :, None]
    factor = weighed.factor(rows)
    if factor is None:
        some = among.processes.take(rows)
        with torch.no_grad():
            factor = cholesky(some.with_noise(some.covariance(x, x)))
    solved = torch.cholesky_solve(torch.cat([expected, y.expand(len(rows), *y.shape)], dim=-1), factor)
    with_itself, with_y = (expected.mT @ solved)[:, 0].unbind(-1)
    share, weight = among.slopes[rows], weighed.weights[rows]
    slope = share * with_y
    deviation = (weighed.amplitude[rows] * (share - share**2 * with_itself)).clamp_min(1e-300).sqrt()
    positive = torch.special.ndtr(sign * slope / deviation)
    unit = sign * observations.scale / old.unit
    return float(unit * (weight @ slope) / weight.sum()), float(weight @ positive / weight.sum())
