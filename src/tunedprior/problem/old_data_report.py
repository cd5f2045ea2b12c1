"""What was found when old data was read: in words, and as a table."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from html import escape

import pandas as pd

from tunedprior.checks import format_list, warn
from tunedprior.errors import OldDataWarning


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed.

    Attributes:
        kind: What kind of thing: `"read"`, `"absent"`, `"extra columns"`, `"unknown category"`, `"constant"`,
            `"blank"`, `"sentinel"`, `"far outside"`, `"no overlap"`, `"other units"`,
            `"part in other units"`, `"not above 0"` or `"isolated response"`.
        column: The column it is about; "" if about none in particular.
        rows: Where, as the file or table has it ("line 7").
        text: A sentence.
    """

    kind: str
    column: str
    rows: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class OldSetReport:
    """What was found in one old data set.

    Attributes:
        name: What the user calls it.
        origin: The name of its file, or "the table" and the like.
        rows: How many rows it has.
        used: How many of them are learnt from.
        response: `"numbers"` or `"pass and fail"`.
        findings: What was noticed, in the order of the reading.
    """

    name: str
    origin: str
    rows: int
    used: int
    response: str
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        used = {self.rows: "all are used", 0: "none is used"}.get(self.used, f"{self.used:,} are used")
        count = f"{self.rows:,} row{'s' if self.rows != 1 else ''}"
        response = f"; the response is {self.response}" if self.rows else ""
        head = f"{self.name} ({self.origin}): {count}, {used}{response}."
        return "\n".join([head, *(f"- {finding.text}" for finding in self.findings)])

    def warn(self) -> None:
        """One warning for all that was noticed, if anything was."""
        if self.findings:
            said = " ".join(finding.text for finding in self.findings)
            warn(f"{self.name} ({self.origin}, {self.used:,} of {self.rows:,} rows used): {said}", OldDataWarning)


@dataclass(frozen=True)
class OldDataReport:
    """What was found in all old data sets.

    Attributes:
        sets: One report for each.
    """

    sets: tuple[OldSetReport, ...] = ()

    def mark_unused(self, names: Collection[str]) -> "OldDataReport":
        """The report where nothing is learnt from the sets of these names."""
        return OldDataReport(tuple(replace(one, used=0) if one.name in names else one for one in self.sets))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was noticed, in all sets."""
        return tuple(finding for one in self.sets for finding in one.findings)

    @property
    def table(self) -> pd.DataFrame:
        """The same as a table: one row for each finding."""
        rows = [
            (one.name, finding.kind, finding.column, format_list(finding.rows), finding.text)
            for one in self.sets
            for finding in one.findings
        ]
        return pd.DataFrame(rows, columns=["old data", "kind", "column", "rows", "finding"])

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.sets)) if self.sets else "There is no old data."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
