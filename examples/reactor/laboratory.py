"""The laboratory of the chemist's tutorial: a coupling in a flow reactor, simulated so that the tutorial can be run.

    python laboratory.py day1.xlsx     # does the experiments of a sheet, and writes the yields into it
    python laboratory.py --old         # what the old reactor and a colleague's notebook hold

Conversion is of first order, faster when it is hotter; above a temperature that depends on the catalyst the product
decays. The old reactor is hotter inside than its thermometer says, and its analysis reads lower. The colleague wrote
down whether another substrate could be isolated.
"""

import sys
from math import exp
from pathlib import Path

import numpy as np
import pandas as pd

CATALYSTS = {"Pd(OAc)2": (1.0, 88.0), "XPhos Pd": (1.7, 82.0), "NiCl2": (0.6, 95.0)}  # speed, and °C of decay


def coupling(temperature: float, time: float, equivalents: float, catalyst: str) -> float:
    """The yield in per cent."""
    speed, decay = CATALYSTS[catalyst]
    rate = 0.045 * speed * exp(8500.0 * (1 / 333.15 - 1 / (temperature + 273.15))) * min(equivalents, 2.0) ** 0.7
    conversion = 1 - exp(-rate * time)
    lost = 1 / (1 + exp(-(temperature - decay) / 6.0)) * (1 - exp(-0.3 * time))
    side_product = 0.2 * max(0.0, equivalents - 1.4) ** 2
    return max(0.0, 100 * conversion * (1 - lost) - 100 * side_product)


def measured(row: dict[str, object], rng: np.random.Generator) -> float:
    """What the new reactor's analysis gives, to a tenth of a per cent."""
    true = coupling(row["temperature"], row["time"], row["equivalents"], row["catalyst"])
    return round(float(np.clip(true + rng.normal(0, 0.6), 0, 100)), 1)


def fill_in(path: Path, seed: int = 0) -> None:
    """Do the experiments of a sheet that has no yields yet."""
    sheet = pd.read_excel(path, engine="openpyxl")
    rng = np.random.default_rng([seed, *sheet["trial"]])
    rows = sheet.rename(columns=str.lower).to_dict("records")
    response = next(name for name in sheet.columns if name.lower() == "yield")
    sheet[response] = [measured(row, rng) for row in rows]
    sheet.to_excel(path, index=False)


def old_records(seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sixty runs of the old reactor, and forty lines of a colleague's notebook."""
    rng = np.random.default_rng(seed)

    def draw(count: int) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "temperature": rng.choice(np.arange(40, 116, 5), count),
                "time": rng.choice([1, 2, 3, 5, 8, 10], count),
                "equivalents": rng.choice([1.0, 1.2, 1.5, 2.0, 2.5], count),
                "catalyst": rng.choice(list(CATALYSTS), count),
            }
        )

    old, notes = draw(60), draw(40)
    hotter = [coupling(t + 6, *rest) for t, *rest in old.itertuples(index=False)]
    old["yield"] = [round(max(0.0, 0.8 * y - 3 + rng.normal(0, 1.5)), 1) for y in hotter]
    other = [coupling(t - 5, *rest) for t, *rest in notes.itertuples(index=False)]
    notes["isolated"] = ["yes" if y + rng.normal(0, 5) > 35 else "no" for y in other]
    return old, notes


def write_old_records(folder: Path) -> None:
    """As people keep them: one with units in its header, the other saved by a German spreadsheet."""
    old, notes = old_records()
    header = {"temperature": "Temperature [°C]", "time": "Time [min]", "yield": "Yield [%]"}
    old.rename(columns=header).to_excel(folder / "old_reactor.xlsx", index=False)
    notes.rename(columns={"isolated": "yield"}).to_csv(folder / "notebook.csv", sep=";", decimal=",", index=False)


if __name__ == "__main__":
    if sys.argv[1:] == ["--old"]:
        write_old_records(Path(__file__).parent)
    else:
        fill_in(Path(sys.argv[1]))
