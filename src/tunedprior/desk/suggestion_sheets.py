"""Suggestions as a table that people fill in, and that `opt.record` reads."""

from collections.abc import Sequence

import pandas as pd

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.campaign.telling import Suggestion
from tunedprior.problem.history_table import HistoryColumns


def make_suggestion_sheet(suggestions: Sequence[Suggestion], opt: Optimizer) -> pd.DataFrame:
    """A row for each: its number, what to set, blanks for what comes of it, and whose it is."""
    columns = HistoryColumns.from_space(opt.space, opt.suggester.goals)
    rows = [{columns.trial: one.trial, **one} for one in suggestions]
    table = pd.DataFrame(rows, columns=[columns.trial, *columns.parameters])
    for name in (columns.response, *columns.others.values(), columns.note):
        table[name] = pd.Series([None] * len(table), dtype=object)
    table[columns.campaign] = opt.id
    return table
