"""The tables of docs/field.md, from results. Ratios are ours over a peer's: below 1, ours is better."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import pandas as pd

from benchmarks.comparison import Estimate
from benchmarks.peers.by_name import ALL_PEERS, OURS
from benchmarks.problems.pairs import CHECKED_ON, CHOSEN_ON, MEASURED, PAIRS, ROWS
from benchmarks.studies.field.measures import (
    Key,
    after,
    contests_of,
    curves,
    over_budget,
    ranks,
    seeds_of,
    trials_to_reach,
    versus,
)
from benchmarks.tables import markdown, marked

_NOTHING = "–"
_EARLY = (3, 10)
#: Contests that differ from others in the number of old rows alone have a table of their own, and count nowhere else.
_BY_ROWS, _ON_PAIRS = "rows", "pairs"


class Contest(Protocol):
    """Where peers meet, and the part of the comparison that it belongs to."""

    part: str
    problem: str
    old: str
    rows: int
    noise: float


def key_of(contest: Contest) -> Key:
    """Without its part."""
    return Key(contest.problem, contest.old, contest.rows, contest.noise)


def field_tables(
    results: pd.DataFrame,
    contests: Iterable[Contest],
    seconds: pd.DataFrame | None = None,
    memory: pd.DataFrame | None = None,
) -> dict[str, str]:
    """All tables that there are results for; contests without a result of ours are left out."""
    found = curves(results)
    regrets = over_budget(found)
    parts: dict[str, list[Key]] = {}
    ours = set(contests_of(regrets, OURS))
    for contest in contests:
        if key_of(contest) in ours:
            parts.setdefault(contest.part, []).append(key_of(contest))
    main = {part: keys for part, keys in parts.items() if part != _BY_ROWS}
    together = [key for keys in main.values() for key in keys]
    tables = {f"field {part}": every_peer(regrets, keys) for part, keys in {"all": together, **main}.items() if keys}
    if together:
        tables["field trials"] = early_trials(found, together)
    if _BY_ROWS in parts:
        tables["field rows"] = by_rows(regrets, [*parts[_BY_ROWS], *parts.get(_ON_PAIRS, ())])
    if _ON_PAIRS in parts:
        tables["field each pair"] = by_pair(regrets, parts[_ON_PAIRS])
    if seconds is not None:
        tables["field cost"] = cost(seconds, memory)
    return tables


def every_peer(regrets: pd.DataFrame, contests: Sequence[Key]) -> str:
    """A row for each peer, by average rank; those that did not take part everywhere come last, without one."""
    ranked = ranks(regrets, contests)
    average = {} if ranked is None else ranked.average.to_dict()
    rows = []
    for peer in sorted(_peers(regrets), key=lambda one: average.get(one, np.inf)):
        met = [key for key in contests_of(regrets, peer) if key in set(contests)]
        if not met:
            continue
        row = {"peer": peer, "average rank": f"{average[peer]:.2f}" if peer in average else _NOTHING}
        compared = versus(regrets, OURS, peer, met) if peer != OURS else None
        if compared is None:
            seeds = [len(seeds_of(regrets, key, peer)) for key in met]
            row |= dict.fromkeys(("ours / peer", "worst for ours", "ours better"), _NOTHING)
        else:
            seeds = list(compared.seeds.values())
            worst = compared.worst
            row |= {
                "ours / peer": marked(compared.ratio),
                "worst for ours": f"{_short(compared.each[worst])} {told(worst)}",
                "ours better": f"{100 * compared.better:.0f} %",
            }
        failed = sum(int(np.isinf(seeds_of(regrets, key, peer)).sum()) for key in met)
        rows.append(row | {"contests": str(len(met)), "seeds": _between(seeds), "failed runs": str(failed)})
    table = markdown(pd.DataFrame(rows).set_index("peer"))
    if ranked is None:
        return table
    said = _NOTHING if np.isnan(ranked.p_value) else f"{ranked.p_value:.1g}"
    return (
        f"{table}\n\nAverage ranks of {ranked.table.shape[1]} peers in {len(ranked.table)} contests; ranks that are "
        f"less than {ranked.critical_difference:.2f} apart do not differ (Nemenyi, 5 %); Friedman's p: {said}."
    )


def early_trials(found: pd.DataFrame, contests: Sequence[Key]) -> str:
    """After a few trials, over the budget, and how many trials ours takes to a peer's final regret."""
    budget = max(found.columns)
    measured = {f"after {trials}": after(found, trials) for trials in _EARLY if trials <= budget}
    measured["over the budget"] = over_budget(found)
    rows = []
    for peer in _peers(measured["over the budget"]):
        ratios = {name: versus(regrets, OURS, peer, contests) for name, regrets in measured.items()}
        if peer == OURS or any(one is None for one in ratios.values()):
            continue
        needed = trials_to_reach(found, OURS, peer, contests)
        never = sum(np.isinf(list(needed.values())))
        rows.append(
            {"peer": peer}
            | {name: marked(one.ratio) for name, one in ratios.items()}
            | {
                f"trials to its regret after {budget}": _trials(float(np.median(list(needed.values())))),
                "never": f"{never} of {len(needed)}",
            }
        )
    return markdown(pd.DataFrame(rows, columns=None if rows else ["peer"]).set_index("peer"))


def by_rows(regrets: pd.DataFrame, contests: Sequence[Key]) -> str:
    """A column for each number of old rows, on the problems that have all of them."""
    numbers = sorted({key.rows for key in contests})
    sets = [{key._replace(rows=0) for key in contests if key.rows == number} for number in numbers]
    shared = sorted(set.intersection(*sets))
    rows = []
    for peer in _peers(regrets):
        by_number = [versus(regrets, OURS, peer, [key._replace(rows=number) for key in shared]) for number in numbers]
        if peer != OURS and any(by_number):
            cells = [_NOTHING if one is None else marked(one.ratio) for one in by_number]
            heads = [f"{number} old rows" for number in numbers]
            rows.append({"ours over": peer} | dict(zip(heads, cells, strict=True)))
    table = markdown(pd.DataFrame(rows, columns=None if rows else ["ours over"]).set_index("ours over"))
    return f"{table}\n\nOn {', '.join(key.problem for key in shared)}."


def by_pair(regrets: pd.DataFrame, contests: Sequence[Key]) -> str:
    """A row for each pair: our mean regret in per cent of the range, then ours over every peer."""
    peers = [peer for peer in _peers(regrets) if peer != OURS]
    over = {peer: versus(regrets, OURS, peer, contests) for peer in peers}
    rows = []
    for name in (*CHOSEN_ON, *CHECKED_ON):
        for key in (one for one in contests if one.problem == name):
            own = seeds_of(regrets, key, OURS)
            finished = own[np.isfinite(own)]
            row = {"pair": name, "chose": "yes" if name in CHOSEN_ON else "no"}
            row |= {"ours, % of the range": f"{100 * finished.mean():.1f}" if len(finished) else _NOTHING}
            each = {peer: {} if one is None else one.each for peer, one in over.items()}
            rows.append(row | {peer: _short(each[peer][key]) if key in each[peer] else _NOTHING for peer in peers})
    groups = {"all": PAIRS, "those that chose": CHOSEN_ON, "those that chose nothing": CHECKED_ON}
    for said, names in groups.items():
        some = [key for key in contests if key.problem in names]
        means = {peer: versus(regrets, OURS, peer, some) if some else None for peer in peers}
        cells = {peer: _NOTHING if one is None else _short(one.ratio) for peer, one in means.items()}
        if some:
            rows.append({"pair": f"geometric mean, {said}", "chose": "", "ours, % of the range": ""} | cells)
    return markdown(pd.DataFrame(rows).set_index("pair"))


def cost(seconds: pd.DataFrame, memory: pd.DataFrame | None) -> str:
    """Seconds of a suggestion and the most memory of a campaign, by peer, the quickest first."""
    rows = []
    quickest = seconds.groupby("peer")["value"].median().sort_values(kind="stable")
    for peer in quickest.index:
        own = seconds.loc[seconds["peer"] == peer].dropna(subset="value")
        row = {"peer": peer, "suggestions": str(len(own))}
        row |= {"seconds (median)": _digits(quickest[peer]), "95 % below": _digits(own["value"].quantile(0.95))}
        row |= {"first": _digits(own.loc[own["step"] == 1, "value"].median())}
        if memory is not None:
            held = memory.loc[memory["peer"] == peer, "value"].dropna()
            row |= (
                {"MiB (median)": f"{held.median():.0f}", "MiB (most)": f"{held.max():.0f}"}
                if len(held)
                else {
                    "MiB (median)": _NOTHING,
                    "MiB (most)": _NOTHING,
                }
            )
        rows.append(row)
    return markdown(pd.DataFrame(rows).set_index("peer"))


def told(key: Key) -> str:
    """A contest in words: what it shares with most contests is left unsaid."""
    said = [key.problem]
    said += [key.old] if key.old != MEASURED else []
    said += [f"{key.rows} rows"] if key.rows != ROWS else []
    said += [f"noise {key.noise:g}"] if key.noise else []
    return ", ".join(said)


def _peers(regrets: pd.DataFrame) -> list[str]:
    """Those that there are results of, in the project's order."""
    known = set(regrets.index.get_level_values("peer"))
    return [peer for peer in ALL_PEERS if peer in known]


def _short(value: Estimate) -> str:
    """With the marks of `marked`, without the interval."""
    return marked(value).split(" ")[0]


def _between(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low}–{high}"


def _trials(number: float) -> str:
    return "more" if np.isinf(number) else f"{number:g}"


def _digits(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
