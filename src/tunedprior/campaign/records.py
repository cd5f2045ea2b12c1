"""Where a history is kept: in memory, or anywhere else that can be read and written entry by entry."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Protocol

from tunedprior.campaign.journal import JournalEntry, get_utc_now, list_changed_trials
from tunedprior.problem.trials import History

#: Numbers that trials were given, by those that they were to have.
Numbers = dict[int, int]


class Record(Protocol):
    """Keeps a history and the journal that it follows from.

    Attributes:
        is_shared: Whether others may write it too.
    """

    is_shared: bool

    @property
    def history(self) -> History:
        """What is known by now, by whomever it was told."""
        ...

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every change of every trial, in the order in which they were written."""
        ...

    @property
    def history_and_journal(self) -> tuple[History, Sequence[JournalEntry]]:
        """The history, and a journal from which all of it follows, of the same moment."""
        ...

    def commit(self, before: History, after: History, action: str, who: str = "") -> Numbers:
        """Append what turns one history into another to the journal; all of it or nothing.

        Returns the numbers that new trials were given, by those that they have in `after`. A `ConflictError` says that
        somebody else wrote meanwhile, so that all is to be decided again on what `history` is now.

        Args:
            before: What `history` was when `after` was decided on.
            after: What it is to be.
            action: What is done, as the journal has it.
            who: Who does it, where that is known.
        """
        ...


@dataclass
class InMemoryRecord:
    """Keeps a history for as long as the program runs; nobody else can write it."""

    history: History = field(default_factory=History)
    journal: list[JournalEntry] = field(default_factory=list)
    is_shared = False

    @property
    def history_and_journal(self) -> tuple[History, Sequence[JournalEntry]]:
        """The history and its journal."""
        return self.history, self.journal

    def commit(self, before: History, after: History, action: str, who: str = "") -> Numbers:
        """Keep this history; no number has to be changed."""
        now, act = get_utc_now(), token_hex(8)
        for old, trial in list_changed_trials(before, after):
            self.journal.append(JournalEntry(len(self.journal) + 1, now, who, action, old, trial, act))
        self.history = after
        return {}
