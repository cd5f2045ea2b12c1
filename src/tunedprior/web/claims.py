"""Forms that count once, whoever receives them how often: a claim on a form's number, kept with the study.

Two servers may be given the same form at the same moment. A study's attributes can be written and read, but not
compared and changed in one step. So a claim is written, and after a pause it is read whether it still stands: of
several who saw none and wrote theirs, the last has it. The pause is longer than it takes from seeing none to having
written.
"""

import time
from collections.abc import Mapping, Sequence
from secrets import token_hex

from optuna.study import Study

from tunedprior.studies.access import set_study_attribute, study_attributes

_PREFIX = "tunedprior:form:"
_PAUSE = 0.1
# Seconds after which nobody is at work on a form any more: its server was ended.
_PATIENCE = 120.0


def new_form() -> str:
    """A number for a form that nobody can guess."""
    return token_hex(12)


def is_form(number: str) -> bool:
    """Whether it is the number of a form, and not something else of any length."""
    return len(number) == 24 and all(letter in "0123456789abcdef" for letter in number)


def claimed(study: Study, form: str) -> bool:
    """Whether the form is ours to act upon: nobody has done so, and nobody is about to."""
    there = _claim(study, form)
    if there is not None and ("trials" in there or time.time() - float(str(there["at"])) < _PATIENCE):
        return False
    mine = token_hex(8)
    set_study_attribute(study, _PREFIX + form, {"by": mine, "at": time.time()})
    time.sleep(_PAUSE)
    now = _claim(study, form)
    return now is not None and now.get("by") == mine


def settle(study: Study, form: str, trials: Sequence[int]) -> None:
    """Keep which trials came of a form; none, if it was refused."""
    set_study_attribute(study, _PREFIX + form, {"trials": list(trials), "at": time.time()})


def settled(study: Study, form: str) -> tuple[int, ...] | None:
    """The trials that came of a form; None while nothing is known of it."""
    there = _claim(study, form)
    found = None if there is None else there.get("trials")
    return tuple(map(int, found)) if isinstance(found, list) else None


def is_claimed(study: Study, form: str) -> bool:
    """Whether somebody acts upon the form, or has done so."""
    there = _claim(study, form)
    return there is not None and ("trials" in there or time.time() - float(str(there["at"])) < _PATIENCE)


def _claim(study: Study, form: str) -> Mapping[str, object] | None:
    there = study_attributes(study).get(_PREFIX + form)
    return there if isinstance(there, dict) else None


def release(study: Study, form: str) -> None:
    """Give a claim back: what the form said was refused, and it may be sent again with something else in it."""
    set_study_attribute(study, _PREFIX + form, {"at": 0.0})
