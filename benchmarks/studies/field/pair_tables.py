"""The tables of measured pairs in docs/field.md: ours over each peer, and what old data costs each peer at worst."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from benchmarks.peers.by_name import ALL_PEERS, BOTORCH, OURS
from benchmarks.problems.pairs import CHECKED_ON, CHOSEN_ON
from benchmarks.studies.field.measures import Key, contests_of, seeds_of, versus
from benchmarks.studies.field.words import NOTHING, between, peers_in, ratio, short, told
from benchmarks.tables import markdown

#: How much more regret than without old data is borne on a pair.
BEARABLE = 1.1


def each_pair(regrets: pd.DataFrame, contests: Sequence[Key]) -> dict[str, str]:
    """Two tables of pairs: peers that took part in all of them; and the others, on those that any of them had."""
    met = {peer: set(contests_of(regrets, peer)) & set(contests) for peer in peers_in(regrets) if peer != OURS}
    everywhere = [peer for peer, some in met.items() if len(some) == len(contests)]
    others = [peer for peer, some in met.items() if some and peer not in everywhere]
    tables = {"field each pair": by_pair(regrets, contests, everywhere)}
    if others:
        some = [key for key in contests if any(key in met[peer] for peer in others)]
        tables["field some pairs"] = by_pair(regrets, some, others)
    return tables


def by_pair(regrets: pd.DataFrame, contests: Sequence[Key], peers: Sequence[str]) -> str:
    """A row for each pair: our mean regret in per cent of the range, then ours over each peer."""
    over = {peer: versus(regrets, OURS, peer, contests) for peer in peers}
    rows = []
    for name in (*CHOSEN_ON, *CHECKED_ON):
        for key in (one for one in contests if one.problem == name):
            own = seeds_of(regrets, key, OURS)
            finished = own[np.isfinite(own)]
            row = {"pair": name, "chose": "yes" if name in CHOSEN_ON else "no"}
            row |= {"ours, % of the range": f"{100 * finished.mean():.1f}" if len(finished) else NOTHING}
            each = {peer: {} if one is None else one.each for peer, one in over.items()}
            rows.append(row | {peer: short(each[peer][key]) if key in each[peer] else NOTHING for peer in peers})
    chose, checked = ([key for key in contests if key.problem in names] for names in (CHOSEN_ON, CHECKED_ON))
    groups = {"all": [*chose, *checked], "those that chose": chose, "those that chose nothing": checked}
    for said, some in groups.items():
        if not some or (said != "all" and len(some) == len(contests)):
            continue
        means = {peer: versus(regrets, OURS, peer, some) for peer in peers}
        cells = {peer: NOTHING if one is None else short(one.ratio) for peer, one in means.items()}
        rows.append({"pair": f"geometric mean, {said}", "chose": "", "ours, % of the range": ""} | cells)
    return markdown(pd.DataFrame(rows).set_index("pair"))


def harm(regrets: pd.DataFrame, contests: Sequence[Key]) -> str:
    """Every peer with old data over BoTorch, which has none: on average, at worst, and how often beyond what is borne.

    Those that met the most pairs come first, and of these the one that does least harm at worst.
    """
    found = {
        peer: compared
        for peer in peers_in(regrets)
        if ALL_PEERS[peer].uses_old and (compared := versus(regrets, peer, BOTORCH, contests)) is not None
    }
    rows = [
        {
            "peer over BoTorch": peer,
            "geometric mean": ratio(one.ratio),
            "median": f"{one.median:.2f}",
            "worst pair": f"{ratio(one.each[one.worst])} {told(one.worst)}",
            f"beyond {BEARABLE:.2f}": f"{sum(each.middle > BEARABLE for each in one.each.values())} of {len(one.each)}",
            "seeds": between(list(one.seeds.values())),
        }
        for peer, one in sorted(found.items(), key=lambda item: (-len(item[1].each), item[1].each[item[1].worst]))
    ]
    return markdown(pd.DataFrame(rows).set_index("peer over BoTorch"))
