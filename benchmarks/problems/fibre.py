"""A SIMULATED process that makes short polymer fibres: invented physics with plausible behaviour, not measurements.

The paper's application is a device that injects a polymer solution into a flow of butanol, where it breaks into short
fibres. Its measurements are not public. This stands in for them: five settings, a fibre length in micrometres, and two
devices that differ as a gear pump and a lobe pump would.

The length is that of a filament drawn thin in a constriction and broken by shear:

    length = slip + scale · concentration^0.9 · relaxation / (1 + (shear / critical)²).

The shear rate grows with the butanol's speed and the constriction's angle and falls with the channel's width; the
filament relaxes on its way to the outlet, so the device's position matters most where the flow is slow.
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.space.search_space import Setting

TARGET_LENGTH = 500.0  # µm, the paper's
#: Butanol speeds that each device's pump can run at, ml/h: the paper's.
SPEEDS = {"A": [86.42, 67.90, 43.21], "B": [98.0, 63.0, 48.0]}


@dataclass(frozen=True)
class Device:
    """How one device differs from the other; all numbers are invented."""

    scale: float
    critical_shear: float
    slip: float
    noise: float


DEVICES = {
    "A": Device(scale=980.0, critical_shear=1.00, slip=40.0, noise=12.0),
    "B": Device(scale=1240.0, critical_shear=0.78, slip=95.0, noise=12.0),
}


def space(device: str) -> dict[str, object]:
    """The settings of a device: three of its geometry, two of the flow."""
    return {
        "channel_width_mm": (0.5, 2.0),
        "constriction_angle_deg": (10.0, 60.0),
        "position_mm": (0.0, 12.0),
        "butanol_speed_ml_per_h": SPEEDS[device],
        "polymer_concentration": (0.1, 1.0),
    }


def fibre_length(setting: Setting, device: str) -> float:
    """Median fibre length in µm, without noise. A simulation."""
    kind = DEVICES[device]
    width, angle = setting["channel_width_mm"], setting["constriction_angle_deg"]
    speed = setting["butanol_speed_ml_per_h"] / 60.0
    shear = 0.9 * speed * np.sin(np.radians(angle)) ** 0.5 / width**0.8
    relaxation = 1.0 + 0.5 * np.exp(-speed) * np.sin(0.35 * setting["position_mm"])
    drawn = setting["polymer_concentration"] ** 0.9 * relaxation / (1.0 + (shear / kind.critical_shear) ** 2)
    return float(kind.scale * drawn + kind.slip)


def squared_miss(length: float) -> float:
    """Squared distance from the wanted length, in µm²: what is minimised."""
    return (length - TARGET_LENGTH) ** 2


def lengths(device: str, count: int, seed: int) -> pd.DataFrame:
    """What a lab's table would hold: settings on a coarse grid, and their noisy lengths, as `length`."""
    rng = np.random.default_rng(seed)
    grid = [
        dict(zip(space(device), values, strict=True))
        for values in product(
            (0.5, 1.0, 1.5, 2.0), (10.0, 25.0, 40.0, 60.0), (0.0, 3.0, 6.0, 12.0), SPEEDS[device], (0.1, 0.4, 0.7, 1.0)
        )
    ]
    rows = [grid[index] for index in rng.choice(len(grid), size=count, replace=False)]
    noisy = [fibre_length(row, device) + DEVICES[device].noise * rng.standard_normal() for row in rows]
    return pd.DataFrame(rows).assign(length=noisy)


def records(device: str, count: int, seed: int) -> pd.DataFrame:
    """The same with the squared miss of each length, as `y`."""
    table = lengths(device, count, seed)
    return table.drop(columns="length").assign(y=squared_miss(table["length"]))


def tables(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The sizes of the paper's tables: 162 records of device A, and the 155 settings that device B can be run at."""
    return records("A", 162, seed=2 * seed), records("B", 155, seed=2 * seed + 1)


def read_tables(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measured tables, from `device_a.csv` and `device_b.csv`: the five settings and `length_um`, the median length."""
    found = []
    for device in DEVICES:
        path = folder / f"device_{device.lower()}.csv"
        if not path.is_file():
            raise InputError(f"--fibre-data needs a folder with device_a.csv and device_b.csv; {path} is not there.")
        table, settings = pd.read_csv(path), list(space(device))
        wanted = [*settings, "length_um"]
        missing = [name for name in wanted if name not in table.columns]
        if missing:
            raise InputError(f"{path} must have the columns {', '.join(wanted)}; {', '.join(missing)} is missing.")
        numbers = table[wanted].apply(pd.to_numeric, errors="coerce")
        gaps = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
        if len(gaps):
            raise InputError(
                f"{path} must hold a number in every cell; rows {format_list(gaps)} do not. Drop or fill them."
            )
        merged = numbers.groupby(settings, as_index=False)["length_um"].median()
        found.append(merged[settings].assign(y=squared_miss(merged["length_um"])))
    return found[0], found[1]


def measured_space(table: pd.DataFrame) -> dict[str, object]:
    """The settings that a measured table spans: a list of the pump's speeds, the range of everything else."""
    described: dict[str, object] = {name: (table[name].min(), table[name].max()) for name in space("B")}
    return described | {"butanol_speed_ml_per_h": sorted(set(table["butanol_speed_ml_per_h"]))}
