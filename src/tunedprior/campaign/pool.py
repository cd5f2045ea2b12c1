"""Candidates: the settings that a suggestion is picked from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tunedprior.checks import listed
from tunedprior.errors import InputError
from tunedprior.files import ReadTable, read_table
from tunedprior.problem.box import Box, as_table
from tunedprior.problem.cells import as_value_of
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import as_given


@dataclass(frozen=True)
class Pool:
    """Different settings of the search space, to pick from.

    Attributes:
        settings: They.
    """

    settings: tuple[Setting, ...]

    def __len__(self) -> int:
        return len(self.settings)


def pool_of(candidates: Any, space: Space, box: Box) -> Pool:
    """Candidates in any form that a table may have, each once; an `InputError` if one is no setting of the space."""
    table = _table(candidates, space)
    if len(table) == 0:
        raise InputError("candidates must hold at least one setting; got none.")
    box.codes(table)
    pool = [as_given(row, space) for row in table.to_dict("records")]
    outside = [row for row, setting in enumerate(pool) if not space.offers(setting)]
    if outside:
        raise InputError(
            f"candidates must be settings of the search space; {len(outside)} of {len(pool)} are not "
            f"(rows {listed(outside)}, such as {pool[outside[0]]}). Drop them, or widen the space."
        )
    _refuse_violations(pool, space)
    return Pool(tuple({_key(setting): setting for setting in reversed(pool)}.values())[::-1])


def _refuse_violations(pool: list[Setting], space: Space) -> None:
    violated = [space.violated(setting) for setting in pool]
    for constraint in space.constraints:
        wrong = [row for row, constraints in enumerate(violated) if constraint in constraints]
        if wrong:
            raise InputError(
                f"candidates must satisfy the constraint {str(constraint)!r}; {len(wrong)} of {len(pool)} do not (rows "
                f"{listed(wrong)}, such as {pool[wrong[0]]}). Drop them, or change the constraint."
            )


def _table(candidates: Any, space: Space) -> pd.DataFrame:
    if isinstance(candidates, Mapping) and all(name in candidates for name in space.names):
        candidates = [candidates] if not any(isinstance(one, list) for one in candidates.values()) else candidates
    if isinstance(candidates, list | tuple) and all(isinstance(one, Mapping) for one in candidates):
        return as_table(candidates, space.names)
    read = read_table(candidates, space.names, "candidates")
    if isinstance(candidates, pd.DataFrame):
        return as_table(read.table, space.names)
    return pd.DataFrame(_converted(read, space), columns=list(space.names), dtype=object)


def _converted(read: ReadTable, space: Space) -> list[Setting]:
    """The rows of a file, whose cells are text."""
    table, found = as_table(read.table, space.names), []
    for number, row in enumerate(table.to_dict("records")):
        try:
            found.append({one.name: as_value_of(one, row[one.name]) for one in space.parameters})
        except InputError as error:
            raise InputError(f"candidates: {read.where(number)} of {read.origin}: a setting {error}.") from None
    return found


def _key(setting: Setting) -> tuple[Any, ...]:
    # By type too: True and 1, or "1" and 1, may be different categories. NaN is equal to itself here.
    return tuple((type(value), repr(value)) for value in setting.values())
