"""Which column of old data is the response, and whether more or less of it is wanted, judged by names."""

import re
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from numpy import ndarray

from tunedprior.errors import InputError
from tunedprior.files.cells import is_unmeasured, parse_numbers
from tunedprior.files.content import ReadTable
from tunedprior.files.names import split_name_and_unit
from tunedprior.problem.cells import NOT_PASSED, PASSED
from tunedprior.problem.goals import MAXIMIZE, MINIMIZE

_RESPONSES = ("y", "response", "result", "objective", "target", "yield", "ausbeute", "ergebnis", "value", "wert")
_WORDS_OF_RESPONSES = frozenset({"yield", "ausbeute", "ergebnis", "response"})  # inside of longer names too
_WORD = re.compile(r"[^\W\d_]+")
_UNWANTED = frozenset(
    _WORD.findall(
        "loss losses logloss error errors err rmse mse mae mape nll perplexity regret cost costs price time runtime "
        "duration latency waste scrap impurity impurities defect defects residuals deviation verlust "
        "verluste fehler kosten preis zeit dauer laufzeit abfall ausschuss verunreinigung abweichung"
    )
)
# Beside these it is the other way round, or may be: time saved, impurity removal, time to failure.
_TURNED = frozenset(
    _WORD.findall(
        "saved saving savings reduction reduced removal removed avoided rejection free life failure breakdown "
        "retention survival efficiency effectiveness tolerance resistance"
    )
)
_FEW_ROWS = 8


def guess_direction(name: str) -> str:
    """Whether more of it is better, or less.

    >>> [guess_direction(name) for name in ("yield", "val_loss", "Cost [EUR]", "survival time", "glossiness")]
    ['maximize', 'minimize', 'minimize', 'maximize', 'maximize']
    """
    words = _split_words(split_name_and_unit(name)[0])
    return MINIMIZE if _UNWANTED & words and not _TURNED & words else MAXIMIZE


def guess_response(read: ReadTable) -> tuple[str, str]:
    """The column that is most likely the response, and why; never one of remarks, dates or next to nothing.

    An `InputError` if a column has the name of one and is blank: another one, in its place, would be wrong.
    """
    columns = [str(name) for name in read.table.columns]
    able = [name for name in columns if _can_be_response(read.table[name])]
    bare = {name: split_name_and_unit(name)[0].casefold() for name in columns}
    by_name = [[name for name in columns if bare[name] == wanted] for wanted in _RESPONSES]
    by_name.append([name for name in columns if _WORDS_OF_RESPONSES & _split_words(bare[name])])
    for named in by_name:
        found = [name for name in named if name in able]
        if len(found) == 1:
            return found[0], "of its name"
    for name in dict.fromkeys(name for named in by_name for name in named):
        blank = sum(map(is_unmeasured, read.table[name]))
        if 2 * blank > len(read):
            rows = "every row" if blank == len(read) else f"{blank:,} of {len(read):,} rows"
            raise InputError(
                f"{read.origin} has a column {name!r}, which is the response by its name, and it is blank in {rows}. "
                "Fill it in, or name the column of the response with --target."
            )
    if not able:
        raise InputError(
            f"{read.origin} has no column that is likely to be the response: all are text, or blank in most rows. Name "
            "it with --target."
        )
    last = [name for name in able if not are_row_numbers(parse_numbers(read.table[name])[0])] or able
    after = [str(name) for name in read.table.columns][list(read.table.columns).index(last[-1]) + 1 :]
    return last[-1], f"it is the last{' column of numbers' if after else ''}"


def are_row_numbers(values: Float64[ndarray, " n"]) -> bool:
    """Whether it is 1, 2, 3, … or 0, 1, 2, …, in more than a few rows."""
    steps = np.diff(values)
    return len(values) > _FEW_ROWS and bool((steps == 1).all()) and values[0] in (0.0, 1.0)


def _can_be_response(column: "pd.Series[Any]") -> bool:
    """Whether it is filled in, in half of the rows at least, mostly with numbers, or with pass and fail."""
    values, wrong = parse_numbers(column)
    measured = int(np.isfinite(values).sum())
    measured += sum(str(column.iloc[row]).strip().casefold() in PASSED | NOT_PASSED for row in wrong)
    filled = len(column) - sum(map(is_unmeasured, column))
    return 2 * filled >= len(column) and 2 * measured > filled


def _split_words(name: str) -> set[str]:
    return set(_WORD.findall(name.casefold()))
