"""Forms that count once, whoever receives them how often: claims on a form's number, kept with the study.

Two servers may be given the same form at the same moment. A study's attributes can be written and read, but not
compared and changed in one step. So all who want a form draw numbers, as in Lamport's bakery: each writes a claim with
the number 0, then reads the others', writes a number larger than theirs into its own, and acts once its claim is the
lowest; of equal numbers the token decides.

Two never both act. Say A and D did, and A's number comes first. When D looked for the last time, A's claim was not
there: with 0 or with its number it would have been lower. So A wrote its 0 later, and read only then: it saw D's
number, and took a larger one after all. Nothing in this depends on how long anything takes.

A server may be ended at any point, so claims lapse. Whoever was held up until its own may have lapsed for others draws
again, even if that was just before acting. It allows itself half the time that others do, so clocks may differ by the
other half.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from secrets import token_hex

from optuna.study import Study

from tunedprior.studies.access import set_study_attribute, study_attributes

_PREFIX = "tunedprior:form:"
# Seconds between looks at whether those before us are done.
_PAUSE = 0.02
# Seconds after which nobody is at work on a form any more: its server was ended.
_PATIENCE = 120.0


@dataclass(frozen=True)
class _Claim:
    """What somebody wants a form by; `at` is 0 once it is withdrawn."""

    number: int
    token: str
    at: float
    acting: bool = False

    @property
    def is_live(self) -> bool:
        return time.time() - self.at < _PATIENCE

    @property
    def place(self) -> tuple[int, str]:
        return self.number, self.token


def new_form() -> str:
    """A number for a form that nobody can guess."""
    return token_hex(12)


def is_form(number: str) -> bool:
    """Whether it is the number of a form, and not something else of any length."""
    return len(number) == 24 and all(letter in "0123456789abcdef" for letter in number)


def claimed(study: Study, form: str) -> bool:
    """Whether the form is ours to act upon: nobody has done so, and nobody is about to."""
    token, deadline = token_hex(8), time.monotonic() + _PATIENCE
    if _rivals(study, form, token) is None:
        return False
    acts = None
    try:
        while acts is None:
            acts = _attempt(study, form, token, deadline)
        return acts
    finally:
        if not acts:
            _write(study, form, _Claim(0, token, 0.0))


def _attempt(study: Study, form: str, token: str, deadline: float) -> bool | None:
    """Whether the form is ours; None if our claim may have lapsed for others before that was known."""
    at = time.time()
    _write(study, form, _Claim(0, token, at))
    others = _rivals(study, form, token)
    if others is None:
        return False
    mine = _Claim(1 + max((one.number for one in others), default=0), token, at)
    _write(study, form, mine)
    while time.time() - at < _PATIENCE / 2:
        others = _rivals(study, form, token)
        if others is None:
            return False
        if all(mine.place < one.place for one in others):
            _write(study, form, _Claim(mine.number, token, time.time(), acting=True))
            if time.time() - at < _PATIENCE / 2:
                return True
        elif time.monotonic() > deadline:
            return False
        else:
            time.sleep(_PAUSE)
    return None


def settle(study: Study, form: str, trials: Sequence[int]) -> None:
    """Keep which trials came of a form; none, if it was refused."""
    set_study_attribute(study, _PREFIX + form, {"trials": list(trials), "at": time.time()})


def settled(study: Study, form: str) -> tuple[int, ...] | None:
    """The trials that came of a form; None while nothing is known of it."""
    return _outcome(study_attributes(study), form)


def is_claimed(study: Study, form: str) -> bool:
    """Whether somebody acts upon the form, or is about to, or has done so."""
    there = study_attributes(study)
    return _outcome(there, form) is not None or any(_live(there, form))


def release(study: Study, form: str) -> None:
    """Give a claim back: what the form said was refused, and it may be sent again with something else in it."""
    for one in _live(study_attributes(study), form):
        if one.acting:
            _write(study, form, _Claim(0, one.token, 0.0))


def _rivals(study: Study, form: str, token: str) -> list[_Claim] | None:
    """Others' claims that stand; None if somebody acts upon the form, or has done so."""
    there = study_attributes(study)
    others = [one for one in _live(there, form) if one.token != token]
    return None if _outcome(there, form) is not None or any(one.acting for one in others) else others


def _outcome(there: dict[str, object], form: str) -> tuple[int, ...] | None:
    kept = there.get(_PREFIX + form)
    found = kept.get("trials") if isinstance(kept, dict) else None
    return tuple(map(int, found)) if isinstance(found, list) else None


def _live(there: dict[str, object], form: str) -> list[_Claim]:
    """All claims on a form that stand."""
    ours = [kept for name, kept in there.items() if name.startswith(f"{_PREFIX}{form}:")]
    return [one for one in (_Claim(**kept) for kept in ours if isinstance(kept, dict)) if one.is_live]


def _write(study: Study, form: str, claim: _Claim) -> None:
    set_study_attribute(study, f"{_PREFIX}{form}:{claim.token}", asdict(claim))
