"""Make sure that a form counts once, however often and by whichever server it is received.

Every form has a random number. The server that processes a form inserts this number into a table of the campaign's
database, whose primary key it is: of two inserts the database refuses one. This claim is deleted after an error, and
replaced by the outcome after success. A server may end in between, so a claim lapses after a while, by the database's
clock. A claim is never taken for a result: results are looked up in the history.

Storages that are no SQLAlchemy database (Optuna's journal files, studies in memory) have a lock in this process.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from secrets import token_hex
from threading import Lock
from typing import Any

import sqlalchemy as sa
from optuna.study import Study
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tunedprior.errors import TunedPriorError
from tunedprior.storage.databases import get_engine, get_storage_id, get_study_attributes, set_study_attribute

#: Seconds after which nobody is at work on a result any more, and on suggestions: its server was ended.
LEASE, LONG_LEASE = 20.0, 600.0
#: Seconds to wait for somebody who acts upon the same form, and between looks.
PATIENCE, _PAUSE = 3.0, 0.05
_LETTERS = 24
_ATTRIBUTE = "tunedprior:form:"

_FORMS = sa.Table(
    "tunedprior_forms",
    sa.MetaData(),
    sa.Column("study_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("form", sa.String(_LETTERS), primary_key=True),
    sa.Column("owner", sa.String(_LETTERS), nullable=False),
    sa.Column("since", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
    sa.Column("trials", sa.Text, nullable=True),
)

_CLAIM = sa.select(_FORMS.c.owner, _FORMS.c.trials, _FORMS.c.since, sa.func.now().label("now"))


def make_form_number() -> str:
    """Draw a random number for a form."""
    return token_hex(_LETTERS // 2)


def is_form_number(number: str) -> bool:
    """Return whether a text has the format of a form's number."""
    return len(number) == _LETTERS and all(letter in "0123456789abcdef" for letter in number)


class TableRegister:
    """Claims as rows of a table, which is created with the first form so that reading needs no write access.

    Args:
        engine: Of the campaign's database.
        study: By which the database knows the study.
    """

    def __init__(self, engine: sa.Engine, study: int) -> None:
        self._engine, self._study = engine, study
        self._is_there = False

    def claim(self, form: str, owner: str, lease: float) -> bool:
        """Claim a form by inserting a row, or by taking over a lapsed claim; return whether that succeeded.

        It fails if the form was processed, or another owner has a claim younger than `lease` seconds.
        """
        self._make_table()
        try:
            with self._engine.begin() as connection:
                connection.execute(_FORMS.insert().values(study_id=self._study, form=form, owner=owner))
            return True
        except IntegrityError:
            return self._take_over(form, owner, lease)

    def _take_over(self, form: str, owner: str, lease: float) -> bool:
        with self._engine.begin() as connection:
            there = connection.execute(_CLAIM.where(self._match_form(form), _FORMS.c.trials.is_(None))).one_or_none()
            if there is None or _is_claim_active(there, lease):
                return False
            lapsed = sa.and_(self._match_form(form), _FORMS.c.owner == there.owner, _FORMS.c.trials.is_(None))
            taken = connection.execute(_FORMS.update().where(lapsed).values(owner=owner, since=sa.func.now()))
            return taken.rowcount == 1

    def release(self, form: str, owner: str) -> None:
        """Remove an owner's claim without an outcome, so that the form may be sent again."""
        own = sa.and_(self._match_form(form), _FORMS.c.owner == owner, _FORMS.c.trials.is_(None))
        with self._engine.begin() as connection:
            connection.execute(_FORMS.delete().where(own))

    def settle(self, form: str, owner: str, trials: Sequence[int]) -> None:
        """Store the trials in an owner's claim."""
        own = sa.and_(self._match_form(form), _FORMS.c.owner == owner)
        with self._engine.begin() as connection:
            connection.execute(_FORMS.update().where(own).values(trials=json.dumps(list(trials))))

    def get_outcome(self, form: str) -> tuple[int, ...] | None:
        """Return the trials that a form led to."""
        there = self._read_claim(form)
        return None if there is None or there.trials is None else tuple(map(int, json.loads(there.trials)))

    def is_claimed(self, form: str, lease: float) -> bool:
        """Return whether there is a valid claim without an outcome."""
        there = self._read_claim(form)
        return there is not None and there.trials is None and _is_claim_active(there, lease)

    def _read_claim(self, form: str) -> Any:
        if not self._has_table():
            return None
        with self._engine.connect() as connection:
            return connection.execute(_CLAIM.where(self._match_form(form))).one_or_none()

    def _match_form(self, form: str) -> "sa.ColumnElement[bool]":
        return sa.and_(_FORMS.c.study_id == self._study, _FORMS.c.form == form)

    def _has_table(self) -> bool:
        self._is_there = self._is_there or sa.inspect(self._engine).has_table(_FORMS.name)
        return self._is_there

    def _make_table(self) -> None:
        """See that the table is there; another server may make it at the same moment."""
        if not self._has_table():
            try:
                with self._engine.begin() as connection:
                    _FORMS.create(connection, checkfirst=True)
            except SQLAlchemyError:
                if not self._has_table():
                    raise


def _is_claim_active(claim: Any, lease: float) -> bool:
    return bool(claim.now - claim.since < timedelta(seconds=lease))


# Of all campaigns in this process: a form's number is unique.
_claims: dict[str, tuple[str, float]] = {}
_claims_lock = Lock()


class ProcessRegister:
    """Claims in the memory of this process, outcomes in the study.

    Args:
        study: The study of the campaign.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    def claim(self, form: str, owner: str, lease: float) -> bool:
        """Claim a form for an owner; return whether that succeeded."""
        with _claims_lock:
            if self.get_outcome(form) is not None:
                return False
            there = _claims.get(form)
            if there is not None and time.monotonic() - there[1] < lease:
                return False
            _claims[form] = owner, time.monotonic()
            return True

    def release(self, form: str, owner: str) -> None:
        """Remove an owner's claim, so that the form may be sent again."""
        with _claims_lock:
            if form in _claims and _claims[form][0] == owner:
                del _claims[form]

    def settle(self, form: str, owner: str, trials: Sequence[int]) -> None:
        """Store the trials with the study."""
        set_study_attribute(self._study, _ATTRIBUTE + form, {"trials": list(trials)})
        self.release(form, owner)

    def get_outcome(self, form: str) -> tuple[int, ...] | None:
        """Return the trials that a form led to."""
        kept = get_study_attributes(self._study).get(_ATTRIBUTE + form)
        found = kept.get("trials") if isinstance(kept, dict) else None
        return tuple(map(int, found)) if isinstance(found, list) else None

    def is_claimed(self, form: str, lease: float) -> bool:
        """Return whether a thread of this process has claimed the form."""
        with _claims_lock:
            return form in _claims and time.monotonic() - _claims[form][1] < lease


#: The forms that are being processed, and the outcomes of those that were.
FormRegister = TableRegister | ProcessRegister


def make_register(study: Study) -> FormRegister:
    """Return the register of a study: a table of its database, or one in this process for other storages."""
    engine = get_engine(study)
    return ProcessRegister(study) if engine is None else TableRegister(engine, get_storage_id(study))


@contextmanager
def acquire_claim(
    register: FormRegister, form: str, lease: float | None = None, patience: float | None = None
) -> Iterator[Callable[[Sequence[int]], None] | None]:
    """Wait for the right to process a form, and yield the function that stores the trials that the form led to.

    Yield None if the form was processed, or another owner takes too long. Whatever is raised meanwhile, the claim is
    given back.

    Args:
        register: Of the campaign.
        form: The form.
        lease: Seconds after which whoever claimed it counts as ended; `LEASE` when left out.
        patience: Seconds to wait for somebody else; `PATIENCE` when left out.
    """
    lease = LEASE if lease is None else lease
    owner, deadline = token_hex(_LETTERS // 2), time.monotonic() + (PATIENCE if patience is None else patience)
    try:
        while not (is_ours := register.claim(form, owner, lease)):
            if register.get_outcome(form) is not None or time.monotonic() > deadline:
                break
            time.sleep(_PAUSE)
        yield partial(register.settle, form, owner) if is_ours else None
    finally:  # also where the storage fails while claiming: no claim is left that nobody knows of
        with suppress(SQLAlchemyError, TunedPriorError):  # it lapses
            register.release(form, owner)
