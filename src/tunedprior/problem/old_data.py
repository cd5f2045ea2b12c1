"""Old data, matched to the search space by column name, and what was found in it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_value
from tunedprior.errors import InputError
from tunedprior.files.cells import is_unmeasured
from tunedprior.files.tables import read_table
from tunedprior.problem.goals import Goal, check_goal
from tunedprior.problem.old_data_report import OldSetReport
from tunedprior.problem.old_response import compute_logarithms, note_doubtful, parse_response
from tunedprior.problem.old_rows import OldRows
from tunedprior.problem.old_settings import OldSettings
from tunedprior.problem.space import Space
from tunedprior.problem.suspicions import find_isolated

#: The name of an old data set that has none of its own.
UNNAMED = "old data"
# Rows up to which it is kept where each stands: single rows of more do not matter.
_MOST_PLACES = 10_000


@dataclass(frozen=True, eq=False)
class OldTable:
    """Old settings and what came of them, ready to learn from.

    Attributes:
        settings: One column per parameter of the space.
        response: A number per row, or a label ±1.
        labels: Whether the response is labels.
        doubtful: Which rows have a response so far from all others that it may be a mistake.
        report: What was found when it was read.
        absent: The columns that old data lacks, or where most cells are blank. Their settings are the same in all rows,
            and the response is to be taken as not depending on them.
        places: Where each row stands in its source, such as "line 7"; empty for more rows than can each matter.
        better: "maximize" or "minimize", where the source says what was wanted of the response; empty if not.
        units: The units in the headers of its columns, by name, where these have any.
    """

    settings: pd.DataFrame
    response: Float64[ndarray, " n"]
    labels: bool
    doubtful: Bool[ndarray, " n"]
    report: OldSetReport
    absent: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    better: str = ""
    units: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def span(self) -> tuple[float, float] | None:
        """The least and the largest response, doubtful ones aside; None for labels."""
        sure = self.response[~self.doubtful]
        return None if self.labels or not len(sure) else (float(sure.min()), float(sure.max()))

    def drop_doubtful(self) -> "OldTable":
        """The rows whose response is not doubtful."""
        kept = ~self.doubtful
        settings = self.settings[kept].reset_index(drop=True)
        places = tuple(place for place, is_kept in zip(self.places, kept, strict=False) if is_kept)
        return replace(
            self, settings=settings, response=self.response[kept], doubtful=self.doubtful[kept], places=places
        )

    @property
    def fingerprint(self) -> str:
        """A digest of the settings and responses that are learnt from."""
        numeric = self.settings.select_dtypes("number").columns
        categories = {name: str for name in self.settings if name not in numeric}
        content = pd.util.hash_pandas_object(self.settings.astype(categories), index=False).to_numpy()
        absent = repr(self.absent).encode() if self.absent else b""
        return sha256(content.tobytes() + self.response.tobytes() + absent).hexdigest()


def read_old_data(
    data: Any,
    space: Space,
    target: str = "y",
    direction: Goal = "maximize",
    name: str = UNNAMED,
    *,
    others: Collection[str] = (),
    log: bool = False,
) -> OldTable:
    """Match old data to the space by name; what cannot be used is an error or is left out, with a warning that says so.

    Old data need not fit in all: the response is taken as not depending on a column that it lacks, columns that the
    space lacks are averaged over, and blank settings are filled in from the most similar rows.

    Args:
        data: Whatever `files.read_table` reads.
        space: The search space, which sets the scale: rows far outside of it are left out.
        target: The column of the response. A response that is blank was not measured, and its row is left out; one that
            says "failed" counts as the worst there was. Responses that take only the values pass/fail, true/false, 0/1
            or -1/+1 are labels.
        direction: Which way is better, or a target; then runs that failed are left out. What was worst of a study's
            values goes by the direction of that study.
        name: What the user calls it, for messages.
        others: Columns of other responses, which are nothing to learn this one from.
        log: Whether it is the logarithm of the response that counts.
    """
    if isinstance(data, OldTable):
        return data
    if not isinstance(target, str):
        raise InputError(f"target must be the name of the response, as text; got {format_value(target)}.")
    check_goal(direction)
    if target in space.names:
        wrong = f"{target!r} is a parameter, so it cannot be the response too."
        raise InputError(
            f"{wrong} Name the response with target=.",
            typed=f"{wrong} Name another column as the goal in the space file.",
        )
    what = "Old data" if name == UNNAMED else f"Old data {name!r}"
    read = read_table(data, [*space.names, target], what)
    rows, better = OldRows(read, what), read.directions.get(target, "")
    rows.note_errors([*space.names, target])
    found = OldSettings(rows, space, target, others)
    told = ~rows.table[target].map(is_unmeasured).to_numpy(dtype=bool)
    settings = found.build_table(told)
    response, labels, words = parse_response(rows, target, told, direction, better)
    if log and not labels:
        response = compute_logarithms(rows, target, response)
    found.gaps.leave_out_unfillable()
    kept = rows.kept
    doubtful = np.zeros(len(kept), dtype=bool)
    if not labels and kept.any():
        doubtful[kept] = find_isolated(response[kept])
        note_doubtful(rows, target, doubtful, response)
    settings = found.gaps.fill_gaps(settings, response, ~doubtful)[kept].reset_index(drop=True)
    found.note_constant(settings)
    found.note_extra()
    report = OldSetReport(name, rows.origin, len(kept), int(kept.sum()), words, tuple(rows.findings))
    report.warn()
    places = rows.list_places(kept) if kept.sum() <= _MOST_PLACES else ()
    return OldTable(settings, response[kept], labels, doubtful[kept], report, found.absent, places, better, read.units)
