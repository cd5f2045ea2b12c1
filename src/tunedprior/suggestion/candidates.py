"""Candidate settings: parse and check the list of settings that a suggestion may be chosen from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.history.cells import parse_value
from tunedprior.history.trials import recognise_setting
from tunedprior.space.encoding import Box, to_settings_table
from tunedprior.space.search_space import Setting, Space
from tunedprior.tables import ReadTable, read_table


@dataclass(frozen=True)
class Pool:
    """Distinct settings of the search space to choose from.

    Attributes:
        settings: The settings, each once.
    """

    settings: tuple[Setting, ...]

    def __len__(self) -> int:
        return len(self.settings)

    def include(self, settings: Sequence[Setting]) -> "Pool":
        """The pool with these settings, which come first."""
        return Pool(tuple({_make_key(one): one for one in (*settings, *self.settings)}.values()))


def parse_candidates(candidates: Any, space: Space, box: Box) -> Pool:
    """Parse candidates given as a table in any form; an `InputError` if one of them is no setting of the space.

    Repeated candidates are kept once.
    """
    table = _read_candidates(candidates, space)
    if len(table) == 0:
        raise InputError("candidates must hold at least one setting; got none.")
    box.encode(table)
    pool = [recognise_setting(row, space) for row in table.to_dict("records")]
    outside = [row for row, setting in enumerate(pool) if not space.is_in_domain(setting)]
    if outside:
        raise InputError(
            f"candidates must be settings of the search space; {len(outside)} of {len(pool)} are not "
            f"(rows {format_list(outside)}, such as {pool[outside[0]]}). Drop them, or widen the space."
        )
    _refuse_violations(pool, space)
    return Pool(tuple({_make_key(setting): setting for setting in reversed(pool)}.values())[::-1])


def _refuse_violations(pool: list[Setting], space: Space) -> None:
    violated = [space.find_violated(setting) for setting in pool]
    for constraint in space.constraints:
        wrong = [row for row, constraints in enumerate(violated) if constraint in constraints]
        if wrong:
            raise InputError(
                f"candidates must satisfy the constraint {str(constraint)!r}; {len(wrong)} of {len(pool)} do not (rows "
                f"{format_list(wrong)}, such as {pool[wrong[0]]}). Drop them, or change the constraint."
            )


def _read_candidates(candidates: Any, space: Space) -> pd.DataFrame:
    if isinstance(candidates, Mapping) and all(name in candidates for name in space.names):
        candidates = [candidates] if not any(isinstance(one, list) for one in candidates.values()) else candidates
    if isinstance(candidates, list | tuple) and all(isinstance(one, Mapping) for one in candidates):
        return to_settings_table(candidates, space.names)
    read = read_table(candidates, space.names, "candidates")
    if isinstance(candidates, pd.DataFrame):
        return to_settings_table(read.table, space.names)
    return pd.DataFrame(_parse_rows(read, space), columns=list(space.names), dtype=object)


def _parse_rows(read: ReadTable, space: Space) -> list[Setting]:
    """Parse the rows of a file, whose cells are text."""
    table, found = to_settings_table(read.table, space.names), []
    for number, row in enumerate(table.to_dict("records")):
        try:
            found.append({one.name: parse_value(one, row[one.name]) for one in space.parameters})
        except InputError as error:
            raise InputError(f"candidates: {read.format_place(number)} of {read.origin}: a setting {error}.") from None
    return found


def _make_key(setting: Setting) -> tuple[Any, ...]:
    # By type too: True and 1, or "1" and 1, may be different categories. NaN is equal to itself here.
    return tuple((type(value), repr(value)) for value in setting.values())
