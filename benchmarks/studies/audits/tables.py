"""Tables of audits."""

import pandas as pd

from benchmarks.studies.audits.jobs import OF_A_CLEAN_SOURCE, OF_A_SPOILED_COPY
from benchmarks.tables import markdown


def clean_table(results: pd.DataFrame) -> str:
    """For each pair what the audit says of its source, beside what else says so."""
    values = _wide(results, ["pair"], OF_A_CLEAN_SOURCE)
    rows = pd.DataFrame(
        {
            "faults blamed": values["faults"].map("{:.0f}".format),
            "rows (pandas)": [f"{a:,.0f} ({b:,.0f})" for a, b in values[["rows", "rows by pandas"]].to_numpy()],
            "ranges that differ from pandas": values["ranges that differ"].map("{:.0f}".format),
            "explained (forest)": [
                f"{max(0.0, a):.2f} ({max(0.0, b):.2f})"
                for a, b in values[["explained", "explained by a forest"]].to_numpy()
            ],
            "first input among the forest's two": [
                "yes" if one else "no" for one in values["first input is among the forest's two"]
            ],
            "coverage (brute force)": [
                f"{a:.2f} ({b:.2f})" for a, b in values[["coverage", "coverage by brute force"]].to_numpy()
            ],
            "missed with / without": values["ratio"].map("{:.2f}".format),
            "seconds": values["seconds"].map("{:.0f}".format),
        },
        index=values.index,
    )
    return markdown(rows.rename_axis(index="source of"))


def spoiled_table(results: pd.DataFrame) -> str:
    """For each way to spoil a table in how many copies the fault is found, and in how many others are blamed."""
    values = _wide(results, ["spoiler", "pair", "seed"], OF_A_SPOILED_COPY).reset_index()
    rows = {}
    for spoiler, some in values.groupby("spoiler", sort=False):
        missed = some[some["found"] == 0]
        rows[spoiler] = {
            "found": f"{int(some['found'].sum())} of {len(some)}",
            "something else blamed too": f"{int((some['other faults'] > 0).sum())} of {len(some)}",
            "missed in": ", ".join(dict.fromkeys(missed["pair"])) or "—",
        }
    rows["all"] = {
        "found": f"{int(values['found'].sum())} of {len(values)}",
        "something else blamed too": f"{int((values['other faults'] > 0).sum())} of {len(values)}",
        "missed in": "",
    }
    return markdown(pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="what was done to it"))


def by_seed_table(results: pd.DataFrame) -> str:
    """For each seed how many of its copies are found out."""
    values = _wide(results, ["spoiler", "pair", "seed"], OF_A_SPOILED_COPY).reset_index()
    found = values.groupby("seed")["found"].agg(["sum", "count"])
    cells = {str(seed): [f"{int(row['sum'])} of {int(row['count'])}"] for seed, row in found.iterrows()}
    return markdown(pd.DataFrame(cells, index=pd.Index(["found"], name="seed")))


def audit_tables(clean: pd.DataFrame | None, spoiled: pd.DataFrame | None) -> dict[str, str]:
    """All tables that there are results for."""
    tables = {} if clean is None else {"clean": clean_table(clean)}
    return (
        tables
        if spoiled is None
        else tables
        | {
            "spoiled": spoiled_table(spoiled),
            "spoiled by seed": by_seed_table(spoiled),
        }
    )


def _wide(results: pd.DataFrame, by: list[str], names: tuple[str, ...]) -> pd.DataFrame:
    wide = results.set_index([*by, "step"])["value"].unstack("step", sort=False)
    return wide.set_axis([names[int(step) - 1] for step in wide.columns], axis=1)
