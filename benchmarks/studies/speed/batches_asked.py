"""What it costs to ask for a batch while another setting is under way, now and in an older version."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import tunedprior
from benchmarks.studies.speed.data import SEED, observations, old_records, usual_function
from benchmarks.studies.speed.timing import Options, Row
from tunedprior.errors import InputError

_SCRIPT = Path(__file__).parent / "batch_script.py"
_NOW = Path(tunedprior.__file__).parents[1]
_SIZE = 8


def batches(options: Options) -> list[Row]:
    """ask(n=8) with one pending setting, in processes of their own that take turns."""
    counts = (8, 12) if options.smoke else (50, 200, 500)
    function = usual_function(options)
    told = [setting | {"y": response} for setting, response in observations(function, max(counts), SEED)]
    asked = {
        "space": function.space,
        "old": old_records(function, options).to_dict("list"),
        "told": told,
        "counts": counts,
        "size": _SIZE,
    }
    sides = {"now": _NOW} | ({} if options.before is None else {"before": source_of(options.before)})
    times: dict[str, list[list[float]]] = {name: [] for name in sides}
    for _ in range(1 if options.smoke else 3):
        for name, source in sides.items():
            times[name].append(_measured(source, json.dumps(asked)))
    rows = []
    for place, count in enumerate(counts):
        row: Row = {"observations": count, "inputs": function.num_inputs, "old": len(asked["old"]["y"])}
        row |= {name: median(run[place] for run in runs) for name, runs in times.items()}
        if "before" in times:
            pairs = zip(times["now"], times["before"], strict=True)
            row["ratio"] = median(now[place] / before[place] for now, before in pairs)
        rows.append(row)
    return rows


def source_of(checkout: Path) -> Path:
    """Where a checkout has the package."""
    source = checkout.resolve() / "src"
    if not (source / "tunedprior").is_dir():
        raise InputError(f"--before needs a checkout of an older version; {source / 'tunedprior'} is not there.")
    return source


def _measured(source: Path, asked: str) -> list[float]:
    # -P: files beside the script must not pass for packages of the same name.
    found = subprocess.run(
        [sys.executable, "-P", str(_SCRIPT)],
        input=asked, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(source)}, check=False,
    )  # fmt: skip
    if found.returncode:
        raise RuntimeError(f"Batches with the package in {source} failed:\n{found.stderr}")
    told = json.loads(found.stdout)
    if not Path(told["package"]).is_relative_to(source):
        raise RuntimeError(f"The package of {source} was to be measured; {told['package']} was.")
    return told["seconds"]
