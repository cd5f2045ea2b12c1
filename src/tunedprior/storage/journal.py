"""The journal of a campaign: who recorded, corrected or withdrew what, and when. The history is computed from it.

An entry says which fields of one trial changed. Entries are appended and never changed, in the order of their sequence
numbers, whatever clocks say. Each has a checksum over its fields and the checksum of the entry before it, so that a
changed byte, and an entry that was removed or moved, is noticed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isnan
from os import PathLike
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, Protocol

import msgspec
import pandas as pd

from tunedprior.checks import format_value
from tunedprior.errors import FileFormatError, InputError
from tunedprior.goals.goals import Goals
from tunedprior.history.trials import COMPLETE, FAILED, History, Trial, is_same_setting
from tunedprior.space.search_space import Space
from tunedprior.storage.converter import decode_trial, encode_trial
from tunedprior.storage.loading import decode_history
from tunedprior.storage.saved_campaign import SavedCampaign, encode_campaign, hash_plain
from tunedprior.suggestion.config import CampaignConfig
from tunedprior.tables import check_file_name

#: What may happen to a trial.
SUGGEST, RECORD, AMEND, WITHDRAW, UNDO, CANCEL = "suggest", "record", "amend", "withdraw", "undo", "cancel"
#: A trial that is known from before there was a journal, from another program, or from a table of a history.
ADOPT = "adopt"
_TOLD = (COMPLETE, FAILED)


class LogEntry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A journal entry as it is written: which fields of a trial changed, and a checksum.

    Attributes:
        sequence: Its number in the journal, from 1.
        time: When it was written, in ISO 8601; empty if that is not known.
        who: Who said so.
        action: What happened to the trial.
        trial: The number of the trial.
        changes: The fields of the trial that changed, as plain values.
        act: Identifies the entries that were written together.
        checksum: Of all other fields.
        previous: The checksum of the entry before; empty in the first entry, and in those of version 2.
    """

    sequence: Annotated[int, msgspec.Meta(ge=1)]
    time: str
    who: str
    action: str
    trial: Annotated[int, msgspec.Meta(ge=1)]
    changes: dict[str, Any]
    act: str
    checksum: str
    previous: str = ""


@dataclass(frozen=True)
class JournalEntry:
    """One change of one trial.

    Attributes:
        sequence: Its number in the journal, from 1.
        time: When it was written; None if that is not known.
        who: Who said so; empty if that is not known.
        action: `"suggest"`, `"record"`, `"amend"`, `"withdraw"`, `"undo"`, `"cancel"` or `"adopt"`.
        before: The trial as it was; None if there was none.
        after: The trial as it is then.
        act: Identifies the entries that were written together, such as those of one table of results.
    """

    sequence: int
    time: datetime | None
    who: str
    action: str
    before: Trial | None
    after: Trial
    act: str = ""


def get_utc_now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def list_changed_trials(before: History, after: History) -> list[tuple[Trial | None, Trial]]:
    """List the trials of `after` that differ from `before`, each with its earlier state."""
    known = {trial.id: trial for trial in before.trials}
    return [
        (old, trial)
        for trial in after.trials
        if (old := known.get(trial.id)) is not trial and (old is None or old != trial)
    ]


def encode_trial_fields(trial: Trial, space: Space) -> dict[str, Any]:
    """Return the fields of a trial, except its number, as JSON values."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(encode_trial(trial, space)))
    del fields["id"]
    return fields


def refuse_text(trials: Iterable[Trial], who: str) -> None:
    """Raise an `InputError` for text with a lone surrogate, which no file or database can store."""
    for trial in trials:
        for text in (who, trial.note, *trial.extra, *map(str, trial.extra.values())):
            try:
                text.encode()
            except UnicodeError as error:
                raise InputError(f"{format_value(text)} cannot be kept, as it is no Unicode text: {error}.") from error


def decode_entry(text: str, where: str) -> LogEntry:
    """Parse an entry from JSON; a `FileFormatError` if it is damaged."""
    try:
        return msgspec.json.decode(text, type=LogEntry)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise FileFormatError(f"The journal of {where} is damaged: {error}.") from error


def _add_checksum(entry: LogEntry, previous: str) -> LogEntry:
    """The entry with its checksum, after the one with the checksum `previous`."""
    entry = msgspec.structs.replace(entry, previous=previous)
    return msgspec.structs.replace(entry, checksum=_compute_checksum(entry))


def _compute_checksum(entry: LogEntry) -> str:
    return hash_plain(msgspec.to_builtins(msgspec.structs.replace(entry, checksum="")))


def describe_missing_entries(where: str, first: int, last: int) -> str:
    """Describe which entries are missing at the end of a journal."""
    which = f"entry {first} is" if first == last else f"entries {first} to {last} are"
    return (
        f"The journal of {where} is damaged: {which} missing at its end, though written once. Go on from a copy of "
        "before."
    )


def list_changes_in_force(journal: Iterable[JournalEntry]) -> list[JournalEntry]:
    """List the changes by people that nobody has undone, in order."""
    in_force: list[JournalEntry] = []
    for entry in journal:
        if entry.action in (RECORD, AMEND, WITHDRAW, CANCEL) or (entry.action == ADOPT and entry.after.state in _TOLD):
            in_force.append(entry)
        while entry.action == UNDO and (own := [one for one in in_force if one.after.id == entry.after.id]):
            in_force.remove(own[-1])
            if own[-1].before == entry.after:  # of a correction; a result is taken back with all its corrections
                break
    return in_force


class Ledger:
    """The trials that follow from journal entries, which are applied one after another.

    Args:
        space: What may be set.
        where: What the journal is that of, for messages.
        may_tie: Whether two programs may have given the same number to an entry each, as nothing kept them from it. The
            first one counts then; the other one does not, nor the rest of what was written with it.
    """

    def __init__(self, space: Space, where: str, may_tie: bool = False) -> None:
        self._space, self._where, self._may_tie = space, where, may_tie
        self.entries: list[JournalEntry] = []
        self._fields: dict[int, dict[str, Any]] = {}
        self._trials: dict[int, Trial] = {}
        self._place: dict[int, int] = {}
        self._last_action: dict[int, str] = {}
        self._refused: set[str] = set()
        self._checksums: set[str] = set()
        self._previous = ""
        #: The number of the last entry that was read, whether it counts or not; 0 if there is none.
        self.sequence = 0

    def __contains__(self, number: object) -> bool:
        return number in self._trials

    def get_trial(self, number: int) -> Trial | None:
        """Return the present state of the trial with this number."""
        return self._trials.get(number)

    def is_only_suggested(self, number: int) -> bool:
        """Return whether the trial was suggested and has no other entry."""
        return self._last_action.get(number) == SUGGEST

    def has_act(self, act: str) -> bool:
        """Return whether entries of this act were applied."""
        return any(one.act == act for one in reversed(self.entries))

    def has_refused(self, act: str) -> bool:
        """Return whether an entry of this act was rejected because another one came first."""
        return act in self._refused

    def encode_entries(self, journal: Iterable[JournalEntry]) -> list[LogEntry]:
        """Encode entries for storage; the first entry of a trial holds all of its fields."""
        found, known, previous = [], dict[int, dict[str, Any]](), self._previous
        for one in journal:
            number, fields = one.after.id, encode_trial_fields(one.after, self._space)
            before = known.get(number, self._fields.get(number, {}))
            changes = {name: cell for name, cell in fields.items() if name not in before or before[name] != cell}
            entry = LogEntry(one.sequence, _format_time(one.time), one.who, one.action, number, changes, one.act, "")
            found.append(_add_checksum(entry, previous))
            known[number], previous = fields, found[-1].checksum
        return found

    def apply(self, entry: LogEntry) -> None:
        """Apply the next entry; a `FileFormatError` if it is damaged or out of order."""
        if _compute_checksum(entry) != entry.checksum:
            raise self._make_damage_error(
                entry.sequence, "its checksum is wrong, so it was changed since it was written"
            )
        self.sequence = number = self.sequence + 1
        if entry.sequence > number or (entry.sequence < number and not self._may_tie):
            raise self._make_damage_error(number, "it is missing")
        if entry.previous and entry.previous not in (self._checksums if self._may_tie else (self._previous,)):
            raise self._make_damage_error(number - 1, f"it is not the one that entry {number} was written after")
        self._checksums.add(entry.checksum)
        before = self._trials.get(entry.trial)
        is_late = entry.sequence < number and entry.previous not in ("", self._previous)
        if is_late or (entry.action == RECORD and before is not None and not before.is_awaited):
            # Only where a storage cannot refuse one of two who write at the same moment: the first one counts.
            self._refused.add(entry.act)
            return
        self._previous = entry.checksum
        entry = msgspec.structs.replace(entry, sequence=len(self.entries) + 1)
        fields = {**self._fields.get(entry.trial, {}), **entry.changes}
        where = f"The journal of {self._where} is damaged at entry {entry.sequence}"
        after = decode_trial({**fields, "id": entry.trial}, self._space, where)
        if before is None or _classify_state(before) != _classify_state(after):
            self._place[entry.trial] = entry.sequence
        self._fields[entry.trial], self._trials[entry.trial] = fields, after
        self._last_action[entry.trial] = entry.action
        self.entries.append(self._make_journal_entry(entry, before, after))

    def _make_journal_entry(self, entry: LogEntry, before: Trial | None, after: Trial) -> JournalEntry:
        try:
            time = datetime.fromisoformat(entry.time) if entry.time else None
        except ValueError as error:
            raise self._make_damage_error(entry.sequence, str(error)) from error
        return JournalEntry(entry.sequence, time, entry.who, entry.action, before, after, entry.act)

    def _make_damage_error(self, sequence: int, what: str) -> FileFormatError:
        return FileFormatError(
            f"The journal of {self._where} is damaged at entry {sequence}: {what}. Go on from a copy of before."
        )

    def build_history(self, others: Iterable[Trial] = ()) -> History:
        """Build the history of all trials; trials without an entry come last."""
        others = list(others)
        aside = {one.id for one in others}
        own = [self._trials[number] for number in sorted(self._place, key=self._place.__getitem__)]
        found = [*(one for one in own if one.id not in aside), *others]
        return History(
            tuple(one for one in found if not one.is_pending and not one.set_aside),
            tuple(sorted((one for one in found if one.is_pending), key=lambda one: one.id)),
            tuple(one for one in found if one.set_aside),
        )


def _classify_state(trial: Trial) -> str:
    return "told" if trial.state in _TOLD else trial.state


def load_journal(saved: SavedCampaign, path: str | PathLike[str]) -> tuple[History, list[JournalEntry]]:
    """Read history and journal from a campaign's file; a `FileFormatError` if they are damaged or contradict."""
    history, space = decode_history(saved, path), saved.decode_space(repr(str(path)))
    if saved.version == 1:  # before there was a journal
        return history, [
            JournalEntry(sequence, None, "", ADOPT, None, trial) for sequence, trial in enumerate(history.trials, 1)
        ]
    ledger = Ledger(space, repr(str(path)))
    try:
        entries = msgspec.convert(saved.journal, list[LogEntry])
    except msgspec.MsgspecError as error:
        raise FileFormatError(f"The journal of {str(path)!r} is damaged: {error}.") from error
    for entry in entries:
        ledger.apply(entry)
    if saved.entries is not None and ledger.sequence < saved.entries:
        raise FileFormatError(describe_missing_entries(repr(str(path)), ledger.sequence + 1, saved.entries))
    if ledger.build_history() != history:
        raise FileFormatError(
            f"{str(path)!r} contradicts itself: its trials are not what its journal says. Undo the change, or load the "
            "file as it was and tell, amend or withdraw the trial."
        )
    return history, ledger.entries


def _format_time(time: datetime | None) -> str:
    return "" if time is None else time.isoformat(timespec="milliseconds")


def build_journal_table(journal: Iterable[JournalEntry], goals: Goals) -> pd.DataFrame:
    """Make a table of the journal: number, time, person, action, trial, and the change of each entry."""
    rows = []
    for entry in journal:
        before = {} if entry.before is None else _collect_named_values(entry.before, goals)
        after = _collect_named_values(entry.after, goals)
        changed = [
            name for name in {**before, **after} if not is_same_setting({"": before.get(name)}, {"": after.get(name)})
        ]
        rows.append(
            {
                "sequence": entry.sequence,
                "time": entry.time,
                "who": entry.who,
                "action": entry.action,
                "trial": entry.after.id,
                "before": {name: before[name] for name in changed if name in before},
                "after": {name: after[name] for name in changed if name in after},
            }
        )
    names = ["sequence", "time", "who", "action", "trial", "before", "after"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(time=pd.to_datetime(table["time"], utc=True))


def _collect_named_values(trial: Trial, goals: Goals) -> Mapping[str, Any]:
    """What there is to say of a trial, by the names that people gave."""
    values = {} if isnan(trial.value) else {goals.main.name: trial.value}
    noise = {f"noise of {name}": one for name, one in trial.noise.items()}
    cost = {} if isnan(trial.cost) else {"cost": trial.cost}
    note = {"note": trial.note} if trial.note else {}
    return {**trial.setting, **values, **trial.more, **noise, **cost, **trial.extra, **note, "state": trial.state}


def encode_campaign_file(
    config: CampaignConfig, record: "Record", path: str | PathLike[str], objects: Sequence[str] | None = None
) -> bytes:
    """Return the content of the file at `path` with a campaign, its history and its journal.

    Args:
        config: What the campaign was made with.
        record: Its history and journal.
        path: The file; paths of old data in its folder are relative to it.
        objects: What is to be given again when it is loaded; what no file can hold, where None.
    """
    folder = Path(check_file_name(path)).resolve().parent
    history, journal = record.history_and_journal
    entries = Ledger(config.space, repr(str(path))).encode_entries(journal)
    return encode_campaign(config, history.trials, entries, folder=folder, objects=objects, indent=True)


#: Numbers that trials were given, by those that they were to have.
Numbers = dict[int, int]


class Record(Protocol):
    """A store of a history and its journal.

    Attributes:
        is_shared: Whether others may write it too.
    """

    is_shared: bool

    @property
    def history(self) -> History:
        """The present history."""
        ...

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every change of every trial, in the order of writing."""
        ...

    @property
    def history_and_journal(self) -> tuple[History, Sequence[JournalEntry]]:
        """The history and its journal, read at the same moment."""
        ...

    def commit(self, before: History, after: History, action: str, who: str = "") -> Numbers:
        """Append the changes between two histories to the journal, all or none.

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
    """A store in memory, for one program."""

    history: History = field(default_factory=History)
    journal: list[JournalEntry] = field(default_factory=list)
    is_shared = False

    @property
    def history_and_journal(self) -> tuple[History, Sequence[JournalEntry]]:
        """The history and its journal."""
        return self.history, self.journal

    def commit(self, before: History, after: History, action: str, who: str = "") -> Numbers:
        """Keep the history `after`; no trial gets another number."""
        now, act = get_utc_now(), token_hex(8)
        for old, trial in list_changed_trials(before, after):
            self.journal.append(JournalEntry(len(self.journal) + 1, now, who, action, old, trial, act))
        self.history = after
        return {}
