"""The tables of docs/field.md, from results. Ratios are ours over a peer's: below 1, ours is better."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
import pandas as pd

from benchmarks.peers.by_name import ALL_PEERS, BOTORCH, OURS, OURS_PLAIN, OURS_SHARED
from benchmarks.problems.pairs import CHECKED_ON
from benchmarks.studies.field.measures import (
    Key,
    Versus,
    after,
    contests_of,
    curves,
    over_budget,
    ranks,
    seeds_of,
    trials_to_reach,
    versus,
    without_controls,
)
from benchmarks.studies.field.pair_tables import BEARABLE, each_pair, harm
from benchmarks.studies.field.words import NOTHING, between, number_of_seeds, peers_in, ratio, short, told
from benchmarks.tables import markdown, with_interval

_EARLY = (3, 10)
#: Contests that differ from others in the number of old rows alone have a table of their own, and count nowhere else.
_BY_ROWS, _ON_PAIRS, _TUNED, _FAMILIES, _NOISY, _SEVERAL = "rows", "pairs", "tuning", "families", "noise", "several"
#: Kinds of old data of functions that say nothing of them.
_UNRELATED = ("another function", "pure noise")


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
    costs: pd.DataFrame | None = None,
) -> dict[str, str]:
    """All tables that there are results for; contests without a result of ours are left out."""
    with_controls = curves(results)
    found = without_controls(with_controls)
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
        if BOTORCH in peers_in(regrets):
            tables["field headline"] = headline(over_budget(with_controls), main)
        tables["field marks"] = marks(regrets, main, costs)
        tables["field trials"] = early_trials(found, together)
    if _BY_ROWS in parts:
        tables["field rows"] = by_rows(regrets, [*parts[_BY_ROWS], *parts.get(_ON_PAIRS, ())])
    if _ON_PAIRS in parts:
        tables |= each_pair(regrets, parts[_ON_PAIRS])
        if BOTORCH in peers_in(regrets):
            tables["field harm"] = harm(over_budget(with_controls), parts[_ON_PAIRS])
    if costs is not None:
        tables["field cost"] = cost(costs)
    return tables


def headline(regrets: pd.DataFrame, parts: Mapping[str, Sequence[Key]]) -> str:
    """Ours over BoTorch without old data, every trial counted from the first: all contests, then each sort of them.

    Intervals of geometric means are over contests.
    """
    every = [key for keys in parts.values() for key in keys]
    rows = []
    for said, own, contests in _sorts(parts, every):
        compared = versus(regrets, own, BOTORCH, contests) if contests else None
        if compared is None:
            continue
        worst = compared.each[compared.worst]
        wins = sum(one.middle < 1 for one in compared.each.values())
        rows.append(
            {
                "contests": said,
                "geometric mean": ratio(compared.ratio),
                "median": f"{compared.median:.2f}",
                "ours better": f"{wins} of {len(compared.each)}",
                "worst for ours": f"{short(worst)} {told(compared.worst)}",
            }
        )
    return markdown(pd.DataFrame(rows, columns=None if rows else ["contests"]).set_index("contests"))


def _sorts(parts: Mapping[str, Sequence[Key]], every: Sequence[Key]) -> list[tuple[str, str, list[Key]]]:
    """What contests are called, who is compared in them, and which they are."""
    pairs, families = list(parts.get(_ON_PAIRS, ())), list(parts.get(_FAMILIES, ()))
    return [
        ("measured pairs", OURS, pairs),
        ("measured pairs, those held out", OURS, [key for key in pairs if key.problem in CHECKED_ON]),
        ("measured pairs, after BoTorch's own first settings", OURS_SHARED, pairs),
        ("tuning of scikit-learn's models", OURS, list(parts.get(_TUNED, ()))),
        ("functions, related old data", OURS, [key for key in families if key.old not in _UNRELATED]),
        ("functions, unrelated old data", OURS, [key for key in families if key.old in _UNRELATED]),
        ("functions, with noise", OURS, list(parts.get(_NOISY, ()))),
        ("several old data sets", OURS, list(parts.get(_SEVERAL, ()))),
        ("all contests", OURS, list(every)),
    ]


def marks(regrets: pd.DataFrame, parts: Mapping[str, Sequence[Key]], costs: pd.DataFrame | None) -> str:
    """The marks that the project set itself before it ran the comparison, and what was measured."""
    together = [key for keys in parts.values() for key in keys]
    rows = []
    if (ranked := ranks(regrets, together)) is not None:
        average = ranked.average
        rows.append(
            (
                f"average rank among the {len(average)} configurations that took part in all {len(together)} contests",
                "the best of all",
                f"{average[OURS]:.2f}; the best: {average.index[0]}, {average.iloc[0]:.2f}",
                average.index[0] == OURS,
            )
        )
    for uses_old, mark in ((False, 0.65), (True, 0.85)):
        said = f"regret over that of the best peer {'with' if uses_old else 'without'} old data"
        for which, (peer, found) in _hardest(regrets, together, uses_old).items():
            seeds = number_of_seeds(list(found.seeds.values()))
            measured = f"{ratio(found.ratio)}, {peer}, {len(found.each)} contests of {seeds}"
            rows.append((f"{said}, {which}", f"≤ {mark}", measured, found.ratio.middle <= mark))
    plain = versus(regrets, OURS, BOTORCH, parts.get(_ON_PAIRS, ())) if parts.get(_ON_PAIRS) else None
    if plain is not None:
        worst = plain.each[plain.worst]
        measured = f"{with_interval(worst)}, {told(plain.worst)}, {number_of_seeds([plain.seeds[plain.worst]])}"
        rows.append(("worst pair against plain BoTorch", f"≤ {BEARABLE:.2f}", measured, worst.middle <= BEARABLE))
    if costs is not None:
        seconds, _ = _seconds_and_memory(costs)
        medians = seconds.groupby("peer")["value"].median()
        others = medians[[ALL_PEERS[peer].gaussian and peer not in (OURS, OURS_PLAIN) for peer in medians.index]]
        if OURS in medians and len(others):
            said = f"{_digits(medians[OURS])} s; the quickest other: {others.idxmin()}, {_digits(others.min())} s"
            quickest = medians[OURS] < others.min()
            rows.append(("time of a suggestion (median)", "the lowest of all Gaussian processes", said, quickest))
    cells = [(*row[:-1], "yes" if row[-1] else "no") for row in rows]
    return markdown(pd.DataFrame(cells, columns=["what", "mark", "measured", "met"]).set_index("what"))


def _hardest(regrets: pd.DataFrame, contests: Sequence[Key], uses_old: bool) -> dict[str, tuple[str, Versus]]:
    """The peer that ours is least ahead of, or furthest behind, and that ratio.

    Of peers that took part in all contests, and of those that took part in some, there.
    """
    found = {
        peer: compared
        for peer in peers_in(regrets)
        if peer not in (OURS, OURS_PLAIN) and ALL_PEERS[peer].uses_old == uses_old
        if (compared := versus(regrets, OURS, peer, contests)) is not None
    }
    groups = {
        "in all contests": [item for item in found.items() if len(item[1].each) == len(contests)],
        "of those that took part in some": [item for item in found.items() if len(item[1].each) < len(contests)],
    }
    return {which: max(some, key=lambda item: item[1].ratio.middle) for which, some in groups.items() if some}


def every_peer(regrets: pd.DataFrame, contests: Sequence[Key]) -> str:
    """A row for each peer, by average rank; those that did not take part everywhere come last, without one."""
    ranked = ranks(regrets, contests)
    average = {} if ranked is None else ranked.average.to_dict()
    rows = []
    for peer in sorted(peers_in(regrets), key=lambda one: average.get(one, np.inf)):
        met = [key for key in contests_of(regrets, peer) if key in set(contests)]
        if not met:
            continue
        row = {"peer": peer, "average rank": f"{average[peer]:.2f}" if peer in average else NOTHING}
        compared = versus(regrets, OURS, peer, met) if peer != OURS else None
        if compared is None:
            seeds = [len(seeds_of(regrets, key, peer)) for key in met]
            row |= dict.fromkeys(("ours / peer", "median", "worst for ours", "ours better"), NOTHING)
        else:
            seeds = list(compared.seeds.values())
            worst = compared.worst
            row |= {
                "ours / peer": ratio(compared.ratio),
                "median": f"{compared.median:.2f}",
                "worst for ours": f"{short(compared.each[worst])} {told(worst)}",
                "ours better": f"{100 * compared.better:.0f} %",
            }
        failed = sum(int(np.isinf(seeds_of(regrets, key, peer)).sum()) for key in met)
        rows.append(row | {"contests": str(len(met)), "seeds": between(seeds), "failed runs": str(failed)})
    table = markdown(pd.DataFrame(rows).set_index("peer"))
    if ranked is None:
        return table
    said = NOTHING if np.isnan(ranked.p_value) else f"{ranked.p_value:.1g}"
    return (
        f"{table}\n\nAverage ranks of {ranked.table.shape[1]} peers in {len(ranked.table)} contests, by the "
        f"{number_of_seeds(ranked.seeds)} that all of them have; ranks that are less than "
        f"{ranked.critical_difference:.2f} apart do not differ (Nemenyi, 5 %); Friedman's p: {said}."
    )


def early_trials(found: pd.DataFrame, contests: Sequence[Key]) -> str:
    """After a few trials, over the budget, and how many trials ours takes to a peer's final regret."""
    budget = max(found.columns)
    measured = {f"after {trials}": after(found, trials) for trials in _EARLY if trials <= budget}
    measured["over the budget"] = over_budget(found)
    rows = []
    for peer in peers_in(measured["over the budget"]):
        ratios = {name: versus(regrets, OURS, peer, contests) for name, regrets in measured.items()}
        if peer == OURS or any(one is None for one in ratios.values()):
            continue
        needed = trials_to_reach(found, OURS, peer, contests)
        never = sum(np.isinf(list(needed.values())))
        rows.append(
            {"peer": peer}
            | {name: ratio(one.ratio) for name, one in ratios.items()}
            | {
                f"trials to its regret after {budget}": _trials(float(np.median(list(needed.values())))),
                "never": f"{never} of {len(needed)}",
            }
        )
    return markdown(pd.DataFrame(rows, columns=None if rows else ["peer"]).set_index("peer"))


def by_rows(regrets: pd.DataFrame, contests: Sequence[Key]) -> str:
    """A column for each number of old rows, on the problems that have all of them, of peers that met ours on all."""
    numbers = sorted({key.rows for key in contests})
    sets = [{key._replace(rows=0) for key in contests if key.rows == number} for number in numbers]
    shared = sorted(set.intersection(*sets))
    rows = []
    for peer in peers_in(regrets):
        by_number = [versus(regrets, OURS, peer, [key._replace(rows=number) for key in shared]) for number in numbers]
        if peer != OURS and all(one is not None and len(one.each) == len(shared) for one in by_number):
            cells = {f"{number} old rows": ratio(one.ratio) for number, one in zip(numbers, by_number, strict=True)}
            seeds = between([count for one in by_number for count in one.seeds.values()])
            rows.append({"ours over": peer, **cells, "seeds": seeds})
    table = markdown(pd.DataFrame(rows, columns=None if rows else ["ours over"]).set_index("ours over"))
    return f"{table}\n\nOn {', '.join(key.problem for key in shared)}."


def cost(costs: pd.DataFrame) -> str:
    """Seconds of a suggestion and the most memory of a campaign, by peer, the quickest first."""
    seconds, memory = _seconds_and_memory(costs)
    quickest = seconds.groupby("peer")["value"].median().sort_values(kind="stable")
    rows = []
    for peer, median in quickest.items():
        own = seconds[seconds["peer"] == peer]
        rows.append(
            {
                "peer": peer,
                "Gaussian process": "yes" if ALL_PEERS[peer].gaussian else "no",
                "seconds (median)": _digits(median),
                "95 % below": _digits(own["value"].quantile(0.95)),
                "first": _digits(own.loc[own["step"] == 1, "value"].median()),
                "MiB": f"{memory.loc[[peer]].max():.0f}",
            }
        )
    return markdown(pd.DataFrame(rows).set_index("peer"))


def _seconds_and_memory(costs: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """The rows of suggestions, and mebibytes by peer: the last value of each run that did not fail."""
    finished = costs.dropna(subset="value")
    is_memory = finished["step"] == finished.groupby("run")["step"].transform("max")
    return finished[~is_memory], finished[is_memory].set_index("peer")["value"]


def _trials(number: float) -> str:
    return "more" if np.isinf(number) else f"{number:g}"


def _digits(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
