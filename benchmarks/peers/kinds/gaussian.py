"""BoTorch's standard process with log expected improvement, and what all peers built with BoTorch share."""

import warnings
from abc import ABC, abstractmethod
from itertools import product

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement
from botorch.models.model import Model
from botorch.optim import optimize_acqf_mixed
from torch import Tensor

from benchmarks.methods.rivals.source import gaussian_process
from benchmarks.peers.kinds.by_chance import drawn
from benchmarks.peers.tasks import OneHot, Setting, Task

#: As in BoTorch's tutorials.
RESTARTS, RAW_SAMPLES = 10, 512
#: Combinations of choices whose best numbers are searched for; of more, those that look best by `RAW_SAMPLES` draws.
MOST_COMBINATIONS = 10
_AT_ONCE = 2048  # settings evaluated at once, for memory's sake


class GaussianPeer(ABC):
    """x = argmax log EI(x) of a process over the unit cube; a choice is a column for each of its values (one-hot).

    All settings of a pool that are left are evaluated. In a box, numbers are found by BoTorch's multi-start search,
    once for each combination of choices.
    """

    def __init__(self, task: Task) -> None:
        self.task, self._one_hot = task, OneHot(task.inputs)
        self._settings: list[Setting] = []
        self._responses: list[float] = []
        self._left = None if task.pool is None else list(task.pool)

    @abstractmethod
    def fitted(self, inputs: Tensor, y: Tensor) -> tuple[Model, float]:
        """The model of settings (`n x d`) and responses (`n x 1`), and the value to improve on, in its units."""

    def choose(self) -> Setting:
        """Where the log expected improvement is largest."""
        seed = self.task.seed * 10_007 + len(self._settings)
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")  # of fits that end early and old settings beyond the box
            torch.manual_seed(seed)
            y = torch.tensor(self._responses, dtype=torch.double)[:, None]
            model, best = self.fitted(self.rows(self._settings), y)
            improvement = LogExpectedImprovement(model, best_f=best)
            if self._left is not None:
                return self._left[int(self._values(improvement, self._left).argmax())]
            return self._best_of_box(improvement, np.random.default_rng(seed))

    def learn(self, setting: Setting, response: float) -> None:
        """What it gave; a setting of the pool is not chosen again."""
        self._settings.append(setting)
        self._responses.append(response)
        if self._left is not None:
            self._left = [one for one in self._left if one != setting]

    def rows(self, settings: list[Setting] | tuple[Setting, ...]) -> Tensor:
        """Settings in the unit cube."""
        return torch.tensor(self._one_hot.rows(settings), dtype=torch.double)

    def _values(self, improvement: AcquisitionFunction, settings: list[Setting]) -> Tensor:
        with torch.no_grad():
            return torch.cat([improvement(part[:, None]) for part in self.rows(settings).split(_AT_ONCE)])

    def _best_of_box(self, improvement: AcquisitionFunction, rng: np.random.Generator) -> Setting:
        numbers = [one for one in self.task.inputs if one.choices is None]
        combinations = self._combinations(improvement, rng)
        if not numbers:
            return combinations[int(self._values(improvement, combinations).argmax())]
        middle = {one.name: one.low for one in numbers}
        rows = self.rows([combination | middle for combination in combinations])
        columns = self._columns()
        choice_columns = [column for column in range(rows.shape[1]) if column not in columns.values()]
        found, _ = optimize_acqf_mixed(
            improvement,
            bounds=torch.tensor([[0.0], [1.0]], dtype=torch.double).repeat(1, rows.shape[1]),
            q=1,
            num_restarts=RESTARTS,
            raw_samples=RAW_SAMPLES,
            fixed_features_list=[{column: float(row[column]) for column in choice_columns} for row in rows],
        )
        chosen = int((rows[:, choice_columns] - found[0, choice_columns]).abs().sum(1).argmin())
        setting = dict(combinations[chosen])
        for one in numbers:
            setting[one.name] = _number(float(found[0, columns[one.name]]), one.low, one.high, one.log)
        return {one.name: setting[one.name] for one in self.task.inputs}

    def _combinations(self, improvement: AcquisitionFunction, rng: np.random.Generator) -> list[Setting]:
        """Of choices: all, if they are few or there is nothing else to set; else the most promising ones."""
        choosing = [one for one in self.task.inputs if one.choices is not None]
        count, all_choices = np.prod([len(one.choices) for one in choosing]), len(choosing) == len(self.task.inputs)
        if count <= (RAW_SAMPLES if all_choices else MOST_COMBINATIONS):
            values = product(*(one.choices for one in choosing))
            return [dict(zip((one.name for one in choosing), value, strict=True)) for value in values]
        draws = [drawn(self.task, rng) for _ in range(RAW_SAMPLES)]
        best: list[Setting] = []
        for place in self._values(improvement, draws).argsort(descending=True).tolist():
            combination = {one.name: draws[place][one.name] for one in choosing}
            if combination not in best:
                best.append(combination)
        return best[:MOST_COMBINATIONS]

    def _columns(self) -> dict[str, int]:
        """Where each number stands in a row."""
        columns, place = {}, 0
        for one in self.task.inputs:
            if one.choices is None:
                columns[one.name] = place
            place += 1 if one.choices is None else len(one.choices)
        return columns


class BoTorch(GaussianPeer):
    """`SingleTaskGP` with BoTorch's own kernel, priors and standardisation, refitted for every suggestion."""

    def fitted(self, inputs: Tensor, y: Tensor) -> tuple[Model, float]:
        """The process; the best response so far is to be improved on."""
        return gaussian_process(inputs, y), float(y.max())


def standardised(y: Tensor) -> Tensor:
    """y with mean 0 and variance 1; 0 where it never varies."""
    centred = y - y.mean()
    spread = float(y.std(correction=0))
    return centred / spread if spread > 0 else torch.zeros_like(y)


def _number(unit: float, low: float, high: float, log: bool) -> float:
    """The number at a place in [0, 1] of its scale, not beyond its ends by rounding."""
    value = low * (high / low) ** unit if log else low + (high - low) * unit
    return min(max(value, low), high)
