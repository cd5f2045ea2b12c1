"""What a peer is given before the first trial, in plain types that travel as JSON. Larger responses are better."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np

Setting = dict[str, Any]


@dataclass(frozen=True)
class Input:
    """One thing to set: a number between two ends, on a logarithmic scale or not, or one of some choices.

    Attributes:
        name: Its name.
        low: The least number.
        high: The largest.
        log: Whether numbers run over decades.
        choices: What may be chosen, instead of a number.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    choices: tuple[Any, ...] | None = None

    def unit(self, value: float) -> float:
        """A number's place in [0, 1], on the input's scale; old numbers may lie beyond."""
        low, high, value = np.log([self.low, self.high, value]) if self.log else (self.low, self.high, value)
        return float((value - low) / (high - low))


@dataclass(frozen=True)
class OldSet:
    """Earlier results of something related: settings, and the response of each."""

    settings: tuple[Setting, ...]
    responses: tuple[float, ...]


@dataclass(frozen=True)
class Task:
    """What to optimise.

    Attributes:
        inputs: What may be set.
        old: Earlier results, by name; a peer that cannot use them leaves them alone.
        pool: Settings to choose from, if not all may be chosen.
        trials: How many there will be.
        seed: Makes suggestions repeatable.
    """

    inputs: tuple[Input, ...]
    old: Mapping[str, OldSet] = field(default_factory=dict)
    pool: tuple[Setting, ...] | None = None
    trials: int = 20
    seed: int = 0

    def as_plain(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Task":
        """From what `as_plain` gave, after JSON made lists of tuples."""
        inputs = tuple(
            Input(**one | {"choices": None if one["choices"] is None else tuple(one["choices"])})
            for one in plain["inputs"]
        )
        old = {name: OldSet(tuple(one["settings"]), tuple(one["responses"])) for name, one in plain["old"].items()}
        pool = None if plain["pool"] is None else tuple(plain["pool"])
        return cls(inputs, old, pool, plain["trials"], plain["seed"])


class Peer(Protocol):
    """An optimiser as the comparison sees it; built from a `Task`."""

    def choose(self) -> Setting:
        """The setting to try next: of the pool where the peer can choose from one, else any."""

    def learn(self, setting: Setting, response: float) -> None:
        """What was measured there; it need not be a setting that was chosen."""


class OneHot:
    """Settings as rows of the unit cube: a column for each number, one for each choice. For peers that want arrays."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._inputs = inputs

    def rows(self, settings: Sequence[Setting]) -> np.ndarray:
        """One row for each setting."""
        return np.array([self._row(setting) for setting in settings], dtype=float).reshape(len(settings), -1)

    def _row(self, setting: Setting) -> list[float]:
        row: list[float] = []
        for one in self._inputs:
            value = setting[one.name]
            if one.choices is None:
                row.append(one.unit(value))
            else:
                row += [float(value == choice) for choice in one.choices]
        return row
