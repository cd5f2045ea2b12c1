"""How fast: kernel entries, suggestions, pre-training, import, each beside what it is to be compared with.

    python -m benchmarks speed [--only PART …] [--before DIR] [--device cuda] [--smoke]

Both sides of a comparison are measured in the same run, in turns, on the same data, with as many threads as there are
cores. Results go to benchmarks/results/speed.json (a part that is run again replaces its old one), tables into
docs/performance.md. With `--before` (a checkout of an older version) `batches` measures that version too. With
`--device cuda` other parts are run, which need an NVIDIA GPU.
"""

import argparse
import json
import time
from os import cpu_count
from pathlib import Path

import torch

from benchmarks.results import RESULTS, replace_file, software
from benchmarks.studies.speed.parts import ON_CPU, ON_CUDA
from benchmarks.studies.speed.report import speed_tables
from benchmarks.studies.speed.timing import Options
from benchmarks.tables import DOCS, write_tables

_COMMAND = "python -m benchmarks speed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="sizes that take a minute in all, nothing stored")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="what to measure on")
    every = [*ON_CPU, *ON_CUDA]
    parser.add_argument("--only", nargs="+", choices=every, metavar="PART", help=f"of {', '.join(every)}")
    parser.add_argument("--before", type=Path, metavar="DIR", help="a checkout of an older version, for `batches`")
    parser.add_argument("--out", type=Path, help="where results and the page go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Measure, store and tell."""
    available = ON_CPU if arguments.device == "cpu" else ON_CUDA
    options, smoke = Options(arguments.smoke, arguments.before), arguments.smoke
    folder = arguments.out or (None if smoke else RESULTS)
    found = {}
    for name in arguments.only or available:
        started = time.perf_counter()
        rows = available[name](options)
        taken = round(time.perf_counter() - started, 1)
        found[name] = {"on": machine(arguments.device), "seconds": taken, "rows": rows}
        for row in rows:
            print(name, {key: _rounded(value) for key, value in row.items()}, flush=True)
        if folder is not None:
            store(folder / "speed.json", {name: found[name]})
    if arguments.out is None and not smoke:
        write_tables(DOCS / "performance.md", speed_tables(json.loads((RESULTS / "speed.json").read_text())["parts"]))


def machine(device: str) -> dict[str, str]:
    """What was measured on, and with which software."""
    named = torch.cuda.get_device_name() if device == "cuda" else f"{cpu_count()} cores"
    return {"device": named} | software()


def store(path: Path, parts: dict[str, dict], command: str = _COMMAND) -> None:
    """Put the parts into the file, in place of those of the same name."""
    known = json.loads(path.read_text(encoding="utf-8"))["parts"] if path.exists() else {}
    text = json.dumps({"command": command, "parts": known | parts}, indent=1, sort_keys=True)
    replace_file(path, text + "\n")


def _rounded(value: object) -> object:
    return float(f"{value:.3g}") if isinstance(value, float) else value
