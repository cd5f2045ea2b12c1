"""The simulated fibre process, and measured tables in its place."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.problems import fibre
from benchmarks.studies.paper import FibreJob, on_fibres
from tunedprior.errors import InputError


def test_fibres_behave_like_fibres() -> None:
    setting = {
        "channel_width_mm": 1.0,
        "constriction_angle_deg": 30.0,
        "position_mm": 3.0,
        "butanol_speed_ml_per_h": 63.0,
        "polymer_concentration": 0.5,
    }
    length = fibre.fibre_length(setting, "B")
    assert 50 < length < 2000
    assert fibre.fibre_length(setting | {"butanol_speed_ml_per_h": 98.0}, "B") < length  # more shear, shorter
    assert fibre.fibre_length(setting | {"channel_width_mm": 2.0}, "B") > length  # less shear, longer
    assert fibre.fibre_length(setting | {"polymer_concentration": 1.0}, "B") > length
    assert fibre.squared_miss(510.0) == 100.0


@pytest.mark.parametrize("device", ["A", "B"])
def test_records_are_a_labs_table(device: str) -> None:
    table = fibre.records(device, 162, seed=0)
    assert list(table.columns) == [*fibre.space(device), "y"]
    assert not table.drop(columns="y").duplicated().any()
    assert set(table["butanol_speed_ml_per_h"]) == set(fibre.SPEEDS[device])
    assert table["y"].min() < 30**2  # the wanted length can be had
    assert (table["y"] == fibre.records(device, 162, seed=0)["y"]).all()


def test_measured_fibres_can_be_brought(tmp_path: Path) -> None:
    for device in "ab":
        table = fibre.records(device.upper(), 40, seed=0).drop(columns="y")
        lengths = [fibre.fibre_length(setting, device.upper()) for setting in table.to_dict("records")]
        table["position_mm"] += 20.0  # beyond anything the simulation knows
        again = table.assign(length_um=lengths)
        pd.concat([again, again.iloc[:5]]).to_csv(tmp_path / f"device_{device}.csv", index=False)
    old, new = fibre.read_tables(tmp_path)
    assert len(old) == len(new) == 40  # repeats are merged
    assert sorted(new["y"]) == pytest.approx(sorted((length - 500) ** 2 for length in lengths))
    assert fibre.measured_space(new)["butanol_speed_ml_per_h"] == [48.0, 63.0, 98.0]
    best = on_fibres(FibreJob("TP-EI-BO", 0, 8, str(tmp_path)))
    assert min(new["y"]) <= best[-1] <= best[0]
    with pytest.raises(SystemExit, match="is not there"):
        main(["paper", "--fibre-data", str(tmp_path / "elsewhere")])
    whole = pd.read_csv(tmp_path / "device_b.csv")
    whole.assign(length_um=whole["length_um"].mask(whole.index == 3)).to_csv(tmp_path / "device_b.csv", index=False)
    with pytest.raises(InputError, match="a number in every cell; rows 3 do not"):
        fibre.read_tables(tmp_path)
    whole.drop(columns="length_um").to_csv(tmp_path / "device_b.csv", index=False)
    with pytest.raises(InputError, match="length_um is missing"):
        fibre.read_tables(tmp_path)
