"""The settings in old data, matched to the search space: what is missing, what is too much, and what lies far off."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import MOST_CHOICES, MOST_COLUMNS, format_list, format_value
from tunedprior.errors import InputError
from tunedprior.files.cells import is_infinite, is_unmeasured, parse_numbers
from tunedprior.files.names import is_variant_name
from tunedprior.problem.imputation import choose_stand_in
from tunedprior.problem.old_gaps import OldGaps
from tunedprior.problem.old_rows import OldRows
from tunedprior.problem.parameters import Categorical, Numeric, find_choice_index
from tunedprior.problem.space import Space
from tunedprior.problem.suspicions import compute_accepted_range, find_other_units, find_sentinels
from tunedprior.problem.unit_mixtures import find_mixed_units


class OldSettings:
    """The columns of the space in a table that is read, and those that it does not name.

    Attributes:
        absent: The parameters that old data says nothing about, as the column is missing or mostly blank.
        gaps: The cells of all others that say nothing.
    """

    def __init__(self, rows: OldRows, space: Space, target: str, others: Collection[str] = ()) -> None:
        """Refuse a table without the response, or without a single setting; note which columns are missing.

        Columns of other responses are left alone.
        """
        self._rows, self._space, self.gaps = rows, space, OldGaps(rows)
        columns, wanted = list(rows.table.columns), [*space.names, target]
        missing = [name for name in wanted if name not in columns]
        if target in missing or len(missing) == len(space.names):
            unknown_first = sorted(columns, key=lambda name: name in wanted)  # one of them may be what is missing
            there = (
                f"there are {format_list(map(format_value, unknown_first), MOST_COLUMNS)}"
                if columns
                else "there are none"
            )
            found = (
                f"{rows.what} must have columns for the response and for settings; {format_list(missing)} is missing "
                f"({there}). {_guess_mistake(columns, missing == wanted)}Rename columns, "
            )
            add = "or add a column with the value the old device had."
            raise InputError(
                f"{found}name the response with target=, {add}",
                typed=f"{found}give the goal in the space file the name of the response's column, {add}",
            )
        self.absent = tuple(missing)
        self._extra = [name for name in columns if name not in wanted and name not in others]
        self._second = [name for name in self._extra if is_variant_name(name, target)]
        others = f" (there is {format_list(self._extra)}; rename it if it is the same)" if self._extra else ""
        for name in missing:
            said = f"Old data has no column {name!r}{others}: what it says is taken to hold for every {name!r}."
            rows.note("absent", name, said)

    def build_table(self, told: Bool[ndarray, " n"]) -> pd.DataFrame:
        """One column for each parameter, numbers or categories, with gaps; rows of no use are no longer kept."""
        present = [parameter for parameter in self._space.parameters if parameter.name not in self.absent]
        columns = {parameter.name: self._parse_column(parameter) for parameter in present}
        self.gaps.leave_out_blank_rows()
        absent = self.absent + self.gaps.set_aside_columns(told)
        self.gaps.leave_out_blank_rows()  # of the columns that remain
        self.absent = tuple(name for name in self._space.names if name in absent)
        count = len(self._rows.table)
        for parameter in self._space.parameters:
            if parameter.name in absent:
                columns[parameter.name] = pd.Series([choose_stand_in(parameter)] * count, index=self._rows.table.index)
            elif isinstance(parameter, Categorical):
                self._note_unknown_categories(columns[parameter.name], parameter)
            else:
                self._leave_out_useless(columns[parameter.name].to_numpy(), parameter)
        return pd.DataFrame({name: columns[name] for name in self._space.names})

    def note_constant(self, settings: pd.DataFrame) -> None:
        """Say which inputs never vary, other than those that are absent."""
        there = [name for name in settings if name not in self.absent and len(settings) > 1]
        constant = [str(name) for name in there if settings[name].nunique(dropna=False) == 1]
        if constant:
            said = f"Old data says nothing about {format_list(constant)}: the value never changes."
            self._rows.note("constant", constant[0], said)

    def note_extra(self) -> None:
        """Say what becomes of columns that the space does not name."""
        table = self._rows.table[self._rows.kept]
        for name in self._second:
            self._rows.note("extra columns", name, f"{name!r} looks like a second response; it is not used.")
        extra = [name for name in self._extra if name not in self._second]
        varying = [name for name in extra if _is_varying(table[name])]
        constant = [name for name in extra if name not in varying]
        said = "Columns that the search space does not name are "
        if varying:
            unchanging = f" (constant: {format_list(constant)})" if constant else ""
            self._rows.note("extra columns", "", f"{said}averaged over: {format_list(varying)}{unchanging}.")
        elif constant:
            self._rows.note("extra columns", "", f"{said}ignored: {format_list(constant)}.")

    def _parse_column(self, parameter: Numeric | Categorical) -> "pd.Series[Any]":
        """The parameter's column as numbers or categories; its gaps are remembered."""
        column = self._rows.table[parameter.name]
        if isinstance(parameter, Categorical):
            return self._parse_categories(column, parameter)
        infinite = column.map(is_infinite).to_numpy(dtype=bool)  # what programs write for "not measured", too
        values = self._rows.parse_numbers(column.mask(infinite, np.nan) if infinite.any() else column)
        marked = find_sentinels(values)
        marks, values = np.where(marked, values, np.nan), np.where(marked, np.nan, values)
        marks[infinite] = [-np.inf if str(cell).strip().startswith("-") else np.inf for cell in column[infinite]]
        self.gaps.add(parameter, np.isnan(values), marks)
        return pd.Series(values, index=column.index)

    def _parse_categories(self, column: "pd.Series[Any]", parameter: Categorical) -> "pd.Series[Any]":
        column = column.astype(object) if pd.api.types.is_bool_dtype(column) else column  # True, not np.True_
        rows = [row for row, cell in enumerate(column) if isinstance(cell, list | dict | set | ndarray)]
        if rows:
            raise InputError(
                f"{self._rows.what}'s {parameter.name!r} must be single values, text or numbers; {len(rows)} of "
                f"{len(column)} are not ({self._rows.format_places(rows)}: "
                f"{format_list(format_value(column.iloc[row]) for row in rows)})."
            )
        blank = column.map(is_unmeasured).to_numpy(dtype=bool)
        distinct = list(column[blank].unique())
        meant = [value for value in distinct if find_choice_index(value, parameter.choices) is not None]
        blank = blank & ~column.isin(meant).to_numpy() & ~(column.isna().to_numpy() & any(map(pd.isna, meant)))
        self.gaps.add(parameter, blank)
        return column

    def _note_unknown_categories(self, column: "pd.Series[Any]", parameter: Categorical) -> None:
        known = column[self._rows.kept & ~self.gaps.get_gaps(parameter.name)].unique()
        unknown = [value for value in known if find_choice_index(value, parameter.choices) is None]
        if unknown:
            said = (
                f"{parameter.name!r} has {format_list(map(format_value, unknown))} in old data, which the "
                "search space does not "
                f"offer ({format_list(map(repr, parameter.choices), MOST_CHOICES)}); what was learnt there helps less."
            )
            self._rows.note("unknown category", parameter.name, said)

    def _leave_out_useless(self, values: Float64[ndarray, " n"], parameter: Numeric) -> None:
        """Rows whose number is not on the parameter's scale, or is far from the search space."""
        rows, name, low, high = self._rows, parameter.name, parameter.low, parameter.high
        if parameter.log:
            said = "left out, as its scale is logarithmic and they are not above 0"
            rows.leave_out("not above 0", name, values <= 0, said, values)
        known = ~np.isnan(values)
        self._leave_out_mixed_units(values, parameter)
        seen = values[known & rows.kept]
        if len(seen) == 0:
            return
        reach = compute_accepted_range(np.log(seen) if parameter.log else seen, parameter)
        units = find_other_units(seen, parameter)
        ranges = (
            f"{name!r} goes from {seen.min():g} to {seen.max():g} in old data, from {low:g} to {high:g} in the space"
        )
        if (units and reach.apart) or not reach.meets:
            # What is learnt from a wrong column misleads, and the user can put it right.
            kind, why = ("other units", f"; {units.text}") if units and reach.apart else ("no overlap", ", far apart")
            said = f"{ranges}{why}. Nothing is learnt from it until the column is corrected, or the space is."
            rows.note(kind, name, said)
            rows.kept[:] = False
            return
        if reach.apart:
            said = f"{ranges}, which do not meet: what was learnt there helps less. Check the units of {name!r}."
            rows.note("no overlap", name, said)
        elif units:
            rows.note("other units", name, f"{ranges}; {units.text}. Check the units of {name!r}.")
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = reach.contains(np.log(values) if parameter.log else values)
        said = f"far outside the search space ({low:g} to {high:g}) and left out"
        rows.leave_out("far outside", name, ~inside & known, said, values)

    def _leave_out_mixed_units(self, values: Float64[ndarray, " n"], parameter: Numeric) -> None:
        """Rows whose number is in other units than that of most."""
        kept = self._rows.kept & ~np.isnan(values)
        found = find_mixed_units(values[kept], parameter)
        if found is not None:
            odd = np.zeros(len(values), dtype=bool)
            odd[kept] = found.rows
            said = f"{found.words} and left out"
            self._rows.leave_out("part in other units", parameter.name, odd, said, values)


def _guess_mistake(columns: list[Any], all_missing: bool) -> str:
    """What may be wrong with a table that has not a single column that was hoped for."""
    if all_missing and not np.isnan(parse_numbers(pd.Series(columns, dtype=object))[0]).all():
        return "The first line must hold the columns' names. "
    return ""


def _is_varying(column: "pd.Series[Any]") -> bool:
    try:
        return bool(column.nunique(dropna=False) > 1)
    except TypeError:  # lists, dicts, arrays
        return bool(column.map(repr).nunique() > 1)
