"""An explanation: sentences first, then the tables that they rest on."""

from collections.abc import Mapping
from html import escape
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

# Columns of numbers from 0 to 1, of which small ones do not matter.
_SHARES = ("first", "total", "share", "share below", "probability", "distance")


class Explanation:
    """Mixin: text, HTML and a plain dict, from `sentences` and `tables`."""

    #: What there is to say, in plain words.
    sentences: list[str]

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables, by what they are about."""
        raise NotImplementedError

    @property
    def printed_sentences(self) -> list[str]:
        """The sentences that are printed above the tables."""
        return self.sentences

    @property
    def printed_tables(self) -> Mapping[str, pd.DataFrame]:
        """The same, less what is not worth reading."""
        return self.tables

    def __str__(self) -> str:
        shown = [
            f"{title}:\n{_format_table(one).to_string(index=False)}"
            for title, one in self.printed_tables.items()
            if len(one)
        ]
        return "\n\n".join(["\n".join(self.printed_sentences), *shown])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.printed_sentences)
        tables = [
            f"<h4>{escape(title)}</h4>{_format_table(one).to_html(index=False, escape=True)}"
            for title, one in self.printed_tables.items()
            if len(one)
        ]
        return said + "".join(tables)

    def to_dict(self) -> dict[str, Any]:
        """Sentences and tables as JSON has them: lists of records, None for what is not known."""
        tables = {title: [to_json_value(row) for row in one.to_dict("records")] for title, one in self.tables.items()}
        return {"sentences": list(self.sentences), **tables}


def to_json_value(value: Any) -> Any:
    """The value as JSON has it: numbers, text, True, False, None, lists and dicts of such."""
    if isinstance(value, Mapping):
        return {str(name): to_json_value(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def format_percent(share: float) -> str:
    """A share as people write it: 34 %, under 1 %, over 99 %."""
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def format_value(value: Any) -> str:
    """A value with as many digits as people read."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:.3g}"
    return f"{float(text):.0f}" if "e+" in text and abs(value) < 1e9 else text


def _format_table(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.copy()
    for name in shown.columns:
        if pd.api.types.is_float_dtype(shown[name]):
            form = ".3f" if name in _SHARES else ".4g"
            shown[name] = [("" if pd.isna(value) else f"{value:{form}}") for value in shown[name]]
        else:
            shown[name] = shown[name].map(lambda value: format_value(value) if isinstance(value, float) else value)
    return shown
