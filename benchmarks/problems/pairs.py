"""Real measurements in pairs: old data of one process, and every measured setting of another, as a pool.

The tables are not part of this project. A folder of them has, for each pair, `source.csv` (old data), `target.csv` (the
pool), both with a column for every input and `y`, and `meta.json` (inputs, which are categorical, goal, origin,
licence).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from optuna.distributions import CategoricalDistribution, FloatDistribution

from tunedprior.checks import format_list
from tunedprior.errors import InputError

#: The pairs that the numbers of the prior were chosen on: the first eight, and four of the later ones.
CHOSEN_ON = (
    "lig_PI_GOPI",
    "lig_GOPI_GOQ",
    "storm_solo_coloc",
    "storm_c1_c3_lat",
    "storm_c1thr_c3lat_flip",
    "liquid_water_dce",
    "photo_nodup",
    "gpuconv_A100_MI250X",
    "gpupnpoly_2080Ti_3090",
    "dirarylation_90_120",
    "reizman_1_2",
    "taskset_irnn_lstmavg",
)
#: The pairs that chose nothing.
CHECKED_ON = (
    "lig_PI_GOQ",
    "storm_coloc_wc_rs",
    "liquid_toluene_dce",
    "liquid7_hep_thf500",
    "oer_3496_3851",
    "reizman_1_4",
    "reizman_3_4",
    "baumgartner_aniline_benzamide",
    "arylhal_iodotr_iodo4",
    "gpudedisp_A100_A4000",
    "taskset_vrnn_gru",
)
PAIRS = CHOSEN_ON + CHECKED_ON
#: What the old data and the new are of, in a few words, for pictures.
IN_WORDS = {
    "lig_PI_GOPI": "laser graphene, PI → GOPI",
    "lig_GOPI_GOQ": "laser graphene, GOPI → GOQ",
    "lig_PI_GOQ": "laser graphene, PI → GOQ",
    "storm_solo_coloc": "stream processor, alone → shared",
    "storm_c1_c3_lat": "stream processor, cluster 1 → 3",
    "storm_c1thr_c3lat_flip": "stream processor, reversed",
    "storm_coloc_wc_rs": "stream processor, job 1 → 2",
    "liquid_water_dce": "liquid handling, water → DCE",
    "liquid_toluene_dce": "liquid handling, toluene → DCE",
    "liquid7_hep_thf500": "liquid handling, heptane → THF",
    "photo_nodup": "solar-cell blends",
    "oer_3496_3851": "oxygen-evolution catalysts",
    "gpuconv_A100_MI250X": "GPU convolution, A100 → MI250X",
    "gpupnpoly_2080Ti_3090": "GPU polygons, 2080 Ti → 3090",
    "gpudedisp_A100_A4000": "GPU dedispersion, A100 → A4000",
    "dirarylation_90_120": "direct arylation, 90 → 120 °C",
    "reizman_1_2": "Suzuki coupling, 1 → 2",
    "reizman_1_4": "Suzuki coupling, 1 → 4",
    "reizman_3_4": "Suzuki coupling, 3 → 4",
    "baumgartner_aniline_benzamide": "C–N coupling, aniline → amide",
    "arylhal_iodotr_iodo4": "aryl iodide coupling, CF₃ → OMe",
    "taskset_irnn_lstmavg": "text classifier, IRNN → LSTM",
    "taskset_vrnn_gru": "text classifier, VRNN → GRU",
}
#: Inputs that run over decades.
LOG_INPUTS = ("Spout_wait", "Max_spout")
#: Tables whose response is a time, over decades too. Throughput, the source of the flipped pair, is not.
LOG_RESPONSES = {
    "storm_c1_c3_lat": ("source", "target"),
    "storm_c1thr_c3lat_flip": ("target",),
    "gpuconv_A100_MI250X": ("source", "target"),
    "gpupnpoly_2080Ti_3090": ("source", "target"),
    "gpudedisp_A100_A4000": ("source", "target"),
}
#: The one kind of old data that pairs have.
MEASURED = "measured"
POOL_SIZE = 1024
ROWS = 150
_FACTS = ("inputs", "categorical", "goal", "origin", "licence")
_DIRECTIONS = {"max": "maximize", "min": "minimize"}


@dataclass(frozen=True, eq=False)
class Pair:
    """Old data and a pool of settings with known responses.

    Attributes:
        name: One of `PAIRS`.
        space: What the pool spans; old data may reach beyond it.
        old: Inputs and `y` of the source, as measured: settings may repeat.
        pool: Settings of the target, each once.
        responses: Their responses, on the scale that suits (`LOG_RESPONSES`); means, where a setting was repeated.
        direction: `"maximize"` or `"minimize"`, of `responses`.
        origin: Where the data was published, to cite.
        licence: Under which it was.
    """

    name: str
    space: dict[str, Any]
    old: pd.DataFrame
    pool: pd.DataFrame
    responses: np.ndarray
    direction: str
    origin: str
    licence: str

    @property
    def best(self) -> int:
        """The row of the pool's best setting."""
        return int(self.responses.argmax() if self.direction == "maximize" else self.responses.argmin())

    def regret(self, found: Sequence[float]) -> list[float]:
        """|best - found| / (max - min) over the pool: 0 at its best setting, 1 at its worst, so pairs compare."""
        distances = np.abs(self.responses[self.best] - np.asarray(found)) / np.ptp(self.responses)
        return distances.tolist()


def read_pair(folder: Path, name: str) -> Pair:
    """A pair from the folder that holds them all."""
    if name not in PAIRS:
        raise InputError(f"A pair must be one of {', '.join(PAIRS)}; got {name!r}.")
    return read_any_pair(folder, name, _FACTS)


def read_any_pair(folder: Path, name: str, required: Sequence[str] = _FACTS[:3]) -> Pair:
    """A pair from a folder of them, whatever its name; `meta.json` must say what is required."""
    paths = [folder / name / file for file in ("source.csv", "target.csv", "meta.json")]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise InputError(
            f"Pair {name!r} needs source.csv, target.csv and meta.json; {format_list(missing)} is not there."
        )
    facts = json.loads(paths[2].read_text(encoding="utf-8"))
    unsaid = [fact for fact in required if fact not in facts]
    if unsaid or facts["goal"] not in _DIRECTIONS:
        said = f"{format_list(unsaid)} is missing" if unsaid else f"the goal is {facts['goal']!r}"
        raise InputError(f"{paths[2]} must say {', '.join(required)}, with the goal max or min; {said}.")
    inputs, categorical = facts["inputs"], facts["categorical"]
    old, new = (
        _read(path, inputs, categorical, log_response=path.stem in LOG_RESPONSES.get(name, ())) for path in paths[:2]
    )
    merged = new.groupby(inputs, as_index=False, sort=False)["y"].mean()
    return Pair(
        name=name,
        space={column: parameter(column, old, new, column in categorical) for column in inputs},
        old=old,
        pool=merged[inputs],
        responses=merged["y"].to_numpy(),
        direction=_DIRECTIONS[facts["goal"]],
        origin=facts.get("origin", ""),
        licence=facts.get("licence", ""),
    )


def subsample(pair: Pair, seed: int, pool_size: int = POOL_SIZE, rows: int = ROWS) -> Pair:
    """At most so many settings of the pool and rows of old data, drawn at random; both keep their order."""
    rng = np.random.default_rng(seed)
    settings = rng.choice(len(pair.pool), size=min(pool_size, len(pair.pool)), replace=False)
    if pair.best not in settings:  # always in the pool, so that regret is to the pair's own optimum, and 0 reachable
        settings[0] = pair.best
    settings.sort()
    kept = np.sort(rng.choice(len(pair.old), size=min(rows, len(pair.old)), replace=False))
    return replace(
        pair,
        old=pair.old.iloc[kept].reset_index(drop=True),
        pool=pair.pool.iloc[settings].reset_index(drop=True),
        responses=pair.responses[settings],
    )


def _read(path: Path, inputs: list[str], categorical: list[str], log_response: bool) -> pd.DataFrame:
    """Inputs and y of a table, complete and numeric where they must be, y on its scale."""
    table = pd.read_csv(path)
    wanted = [*inputs, "y"]
    missing = [column for column in wanted if column not in table.columns]
    if missing:
        raise InputError(f"{path} must have the columns {', '.join(wanted)}; {format_list(missing)} is missing.")
    table = table[wanted]
    numeric = [column for column in wanted if column not in categorical]
    logarithmic = [column for column in numeric if column in LOG_INPUTS or (column == "y" and log_response)]
    numbers = table[numeric].apply(pd.to_numeric, errors="coerce")
    good = np.isfinite(numbers).all(axis=1) & table.notna().all(axis=1) & (numbers[logarithmic] > 0).all(axis=1)
    if not good.all():
        above = f" (above 0 for {', '.join(logarithmic)})" if logarithmic else ""
        raise InputError(
            f"{path} must be complete, with a number{above} in every column but categories; "
            f"rows {format_list(np.flatnonzero(~good))} are not. Drop or fill them."
        )
    table = table.assign(**numbers)
    return table.assign(y=np.log(table["y"])) if log_response else table


def parameter(name: str, old: pd.DataFrame, new: pd.DataFrame, is_category: bool) -> Any:
    """What may be set of one input: the range that the new settings span, or the categories of old and new ones."""
    if is_category:  # those of old data too, or what was learnt there would count less
        return CategoricalDistribution(sorted({*old[name], *new[name]}))
    return FloatDistribution(float(new[name].min()), float(new[name].max()), log=name in LOG_INPUTS)
