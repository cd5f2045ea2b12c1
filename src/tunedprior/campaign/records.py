"""Where a history is kept: in memory, or anywhere else that can be read and written trial by trial."""

from dataclasses import dataclass, field
from typing import Protocol

from tunedprior.problem.space import Setting
from tunedprior.problem.trials import History


class Record(Protocol):
    """Keeps a history.

    Attributes:
        is_shared: Whether others may write it too.
    """

    is_shared: bool

    @property
    def history(self) -> History:
        """What is known by now, by whomever it was told."""
        ...

    def replace(self, history: History) -> dict[int, int]:
        """Keep this history, which `history` became, instead; the numbers of new trials that had to be changed."""
        ...

    def ask_instead(self, number: int, setting: Setting) -> None:
        """Change the setting of a pending trial, right after it was asked for."""
        ...


@dataclass
class InMemory:
    """Keeps a history for as long as the program runs; nobody else can write it."""

    history: History = field(default_factory=History)
    is_shared = False

    def replace(self, history: History) -> dict[int, int]:
        """Keep this history; no number has to be changed."""
        self.history = history
        return {}

    def ask_instead(self, number: int, setting: Setting) -> None:
        """Nothing: nobody else has asked at the same moment."""
