"""What an audit found: its parts, and the same in words."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

from tunedprior.audit import wording
from tunedprior.audit.coverage import Coverage
from tunedprior.audit.faults import Fault, RejectedRow
from tunedprior.audit.inspection import Inspection
from tunedprior.audit.prediction import Influences, SelfPrediction
from tunedprior.audit.rehearsals import Rehearsal
from tunedprior.problem.goals import Goal


@dataclass(frozen=True)
class Range:
    """One input in old data and in the space.

    Attributes:
        name: Its name.
        old: The least and the largest old value, or the old categories; None if there is no such column.
        distinct: How many different values there are in old data; None if there is no such column.
        space: The ends of the range in the space, or its choices.
    """

    name: str
    old: tuple[Any, ...] | None
    distinct: int | None
    space: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Audit:
    """All that is worth knowing of old data before anything is spent; `print` it, or show it in a notebook.

    Attributes:
        origin: The name of the file, or "the table" and the like.
        target: The column of the response.
        direction: Which way is better, or a target.
        rows: How many rows there are, with those that cannot be read.
        found: What was found when it was read.
        ranges: Each input in old data and in the space.
        coverage: How much of the space it has seen; None if nothing can be learnt from it.
        prediction: How well it predicts itself; None if that cannot be told.
        influences: Which inputs matter in it.
        rehearsal: Campaigns on the old data itself; None if there were none.
        files: What old data and the space file are called in commands.
        is_in_file: Whether the space file says which response is wanted, and which way.
    """

    origin: str
    target: str
    direction: Goal
    rows: int
    found: Inspection
    ranges: tuple[Range, ...] = ()
    coverage: Coverage | None = None
    prediction: SelfPrediction | None = None
    influences: Influences | None = None
    rehearsal: Rehearsal | None = None
    files: tuple[str, str] | None = None
    is_in_file: bool = False

    def add_measures(
        self,
        coverage: Coverage,
        prediction: SelfPrediction | None,
        influences: Influences | None,
        rehearsal: Rehearsal | None,
    ) -> "Audit":
        """The same with what was measured."""
        return replace(self, coverage=coverage, prediction=prediction, influences=influences, rehearsal=rehearsal)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is most likely a mistake, in the order in which it is to be mended."""
        return self.found.faults

    @property
    def notes(self) -> tuple[str, ...]:
        """What is unusual, and nobody's fault."""
        return self.found.notes

    @property
    def rejected(self) -> tuple[RejectedRow, ...]:
        """The rows that are not used."""
        return self.found.rejected

    @property
    def used(self) -> int:
        """How many rows are learnt from."""
        return 0 if self.found.old is None else len(self.found.old)

    @cached_property
    def verdict(self) -> str:
        """Whether to use it, in a sentence or two."""
        return wording.describe_verdict(self.faults, self.used, self.coverage, self.prediction, self.rehearsal)

    @cached_property
    def next_step(self) -> str:
        """The one thing to do next."""
        files = self.files or (self.origin, "space.yaml")
        return wording.describe_next_step(self.faults, self.used, *files, self.target, self.direction, self.is_in_file)

    @cached_property
    def sections(self) -> dict[str, tuple[str, ...]]:
        """All that was found, in sentences, by what they are about."""
        parts = {
            "What was read": wording.describe_reading(self.origin, self.rows, self.used, self.target, self.found),
            "Faults": tuple(f"{one.text} {one.remedy}" for one in self.faults),
            "Worth knowing": self.notes,
            "What it knows of the new space": wording.describe_coverage(self.coverage),
            "How well it predicts itself": wording.describe_prediction(self.prediction, self.target),
            "What matters in it": wording.describe_influences(self.influences, self.prediction),
            "Whether it can help": wording.describe_rehearsal(self.rehearsal),
            "Verdict": (self.verdict,),
            "Next": (self.next_step,),
        }
        return {name: sentences for name, sentences in parts.items() if sentences}

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that was found, one sentence after the other."""
        return tuple(sentence for part in self.sections.values() for sentence in part)

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            "file": self.origin,
            "target": self.target,
            "direction": str(self.direction),
            "rows": self.rows,
            "used": self.used,
            "read": list(self.found.remarks),
            "faults": [one.to_dict() for one in self.faults],
            "notes": list(self.notes),
            "rejected": [asdict(one) for one in self.rejected],
            "ranges": [asdict(one) for one in self.ranges],
            "coverage": None if self.coverage is None else asdict(self.coverage),
            "prediction": None if self.prediction is None else asdict(self.prediction),
            "influences": None if self.influences is None else _convert_influences(self.influences),
            "rehearsal": None if self.rehearsal is None else asdict(self.rehearsal) | {"ratio": self.rehearsal.ratio},
            "verdict": self.verdict,
            "next_step": self.next_step,
        }

    def __str__(self) -> str:
        parts = ["\n".join([name, *(f"- {one}" for one in some)]) for name, some in self.sections.items()]
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [
            f"<h4>{escape(name)}</h4><ul>{''.join(f'<li>{escape(one)}</li>' for one in some)}</ul>"
            for name, some in self.sections.items()
        ]
        return f"<div>{''.join(parts)}</div>"


def _convert_influences(found: Influences) -> dict[str, Any]:
    return {
        "inputs": found.inputs,
        "pairs": [{"inputs": list(pair), "share": share} for pair, share in found.pairs.items()],
    }
