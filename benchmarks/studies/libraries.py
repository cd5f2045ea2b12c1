"""Our own readers and samplers beside those of libraries that could replace them: answers, seconds and memory.

    python -m benchmarks libraries [--only workbooks|polytopes] [--smoke]

Workbooks: what `tunedprior.tables.workbooks` finds in .xlsx files by expressions over their XML, beside openpyxl.
Polytopes: what `tunedprior.space` draws under linear constraints, beside BoTorch's `get_polytope_samples`, and what our
search for the maximum of an acquisition function finds under them, beside `optimize_acqf`. Nothing is stored; the
figures in those modules' docstrings are of this study.
"""

import argparse
import multiprocessing
import re
import resource
import time
import zipfile
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.optim import optimize_acqf
from botorch.utils.sampling import get_polytope_samples
from numpy import ndarray
from torch import Tensor

from benchmarks.tables import markdown
from tunedprior.acquisition.optimisation import EncodedSpace, maximize_feasible
from tunedprior.errors import TunedPriorError
from tunedprior.space.encoding import Box
from tunedprior.space.feasible_rows import FeasibleRows
from tunedprior.space.search_space import Space
from tunedprior.tables.workbooks import find_sheet_details, refuse_large_workbook

_MIB = 2**20
_PATIENCE = 60.0  # seconds for one file
#: Rows of a sheet that takes a few kilobytes, and far more when it is expanded.
_BOMBS = {
    "one cell far away": lambda: '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
    "20 million blank cells": lambda: ("<row>" + "<c/>" * 10_000 + "</row>") * 2000,
}

# -- workbooks ---------------------------------------------------------------------------------------------------

Findings = dict[str, Any]


def find_by_expressions(data: bytes) -> Findings:
    """Broken, per cent and merged cells of each sheet, as this package finds them, after the check of the size."""
    refuse_large_workbook(data, "a.xlsx")
    found = find_sheet_details(data)
    return _drop_empty(
        {
            "broken": {name: one.broken for name, one in found.items()},
            "per cent": {name: one.percentages for name, one in found.items()},
            "merged": {name: {_corners(cells) for cells in one.merged} for name, one in found.items()},
        }
    )


def _drop_empty(findings: Findings) -> Findings:
    """The findings of those sheets that have any."""
    return {kind: {name: found for name, found in sheets.items() if found} for kind, sheets in findings.items()}


def _corners(one: Any) -> tuple[int, int, int, int]:
    return one.first_row, one.first_column, one.last_row, one.last_column


def find_by_openpyxl(data: bytes) -> Findings:
    """The same cells with openpyxl, which reads a workbook once for formulas and once for their cached values."""
    import openpyxl

    formulas = openpyxl.load_workbook(BytesIO(data))
    values = openpyxl.load_workbook(BytesIO(data), data_only=True)
    broken: dict[str, dict[tuple[int, int], str]] = {}
    percent: dict[str, set[tuple[int, int]]] = {}
    merged = {}
    for sheet in formulas.worksheets:
        broken[sheet.title], percent[sheet.title] = {}, set()
        for row in sheet.iter_rows():
            for cell in row:
                place = cell.row - 1, cell.column - 1
                cached = values[sheet.title].cell(cell.row, cell.column)
                if cell.data_type == "e" or cached.data_type == "e":
                    broken[sheet.title][place] = str(cached.value)
                elif cell.data_type == "f" and cached.value is None:
                    broken[sheet.title][place] = str(cell.value)
                if "%" in cell.number_format and cell.data_type in "nf" and cell.value is not None:
                    percent[sheet.title].add(place)
        ranges = sheet.merged_cells.ranges
        merged[sheet.title] = {(one.min_row - 1, one.min_col - 1, one.max_row - 1, one.max_col - 1) for one in ranges}
    return _drop_empty({"broken": broken, "per cent": percent, "merged": merged})


def make_sheets(rows: int) -> dict[str, bytes]:
    """Workbooks of so many rows and six columns, by what is special about them."""
    import openpyxl

    def write(change: Callable[[Any], None]) -> bytes:
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.append(["temp", "time", "gas", "share", "day", "yield"])
        random = np.random.default_rng(0)
        for k in range(rows):
            temp, span, share, result = random.random(4).tolist()
            sheet.append([temp, span, "air" if k % 3 else "argon", share, datetime(2024, 1, 1) + timedelta(k), result])
        change(sheet)
        stream = BytesIO()
        book.save(stream)
        return stream.getvalue()

    def show_percent(sheet: Any) -> None:
        for k in range(2, rows + 2):
            sheet.cell(k, 4).number_format = "0.0%"

    def merge(sheet: Any) -> None:
        for k in range(2, rows, 10):
            sheet.merge_cells(start_row=k, end_row=k + 4, start_column=3, end_column=3)

    def compute(sheet: Any) -> None:
        for k in range(2, rows + 2):
            sheet.cell(k, 6, f"=A{k}*2")
            if k % 100 == 0:
                sheet.cell(k, 2, "#DIV/0!")

    def hide(sheet: Any) -> None:
        for k in range(2, rows + 2, 5):
            sheet.row_dimensions[k].hidden = True

    kinds = {"plain": lambda _: None, "per cent": show_percent, "merged": merge, "formulas": compute, "hidden": hide}
    return {name: write(change) for name, change in kinds.items()}


def make_bombs() -> dict[str, bytes]:
    """The plain workbook with its rows replaced by those of `_BOMBS`."""
    plain = zipfile.ZipFile(BytesIO(make_sheets(1)["plain"]))
    found = {}
    for name, rows in _BOMBS.items():
        stream = BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
            for part in plain.namelist():
                text = plain.read(part).decode()
                if "/worksheets/" in part:
                    text = re.sub("(<sheetData>).*(</sheetData>)", rf"\1{rows()}\2", text, flags=re.DOTALL)
                packed.writestr(part, text)
        found[name] = stream.getvalue()
    return found


def _measure(read: Callable[[bytes], Findings], data: bytes, answers: Any) -> None:
    """In a process of its own: the findings (None if refused), seconds, and MiB of memory beyond those before."""
    read(make_sheets(1)["plain"])  # imports
    before = _get_peak_memory()
    begun = time.perf_counter()
    try:
        found: Findings | None = read(data)
    except TunedPriorError:
        found = None
    seconds = time.perf_counter() - begun
    answers.put((found, seconds, (_get_peak_memory() - before) / 1024))


def _get_peak_memory() -> int:
    """KiB that this process had in memory at most; `getrusage` would include its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s*(\d+)", status)[0])


def read_alone(read: Callable[[bytes], Findings], data: bytes) -> tuple[Findings | None, float, float] | None:
    """The findings, seconds and MiB of reading a file; None after a minute, or more than 8 GiB."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=_measure_bounded, args=(read, data, answers))
    child.start()
    try:
        answer: tuple[Findings | None, float, float] = answers.get(timeout=_PATIENCE)
        return answer
    except Exception:  # queue.Empty, in whichever way the process ended
        return None
    finally:
        child.kill()
        child.join()


def _measure_bounded(read: Callable[[bytes], Findings], data: bytes, answers: Any) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
    _measure(read, data, answers)


def table_of_workbooks(rows: int, bombs: Mapping[str, bytes]) -> str:
    """Seconds and MiB of both readers, and whether they find the same cells."""
    found = {}
    for name, data in {**make_sheets(rows), **bombs}.items():
        ours, theirs = read_alone(find_by_expressions, data), read_alone(find_by_openpyxl, data)
        same = ours is not None and theirs is not None and ours[0] == theirs[0]
        found[name] = {
            "expressions": _tell(ours),
            "openpyxl": _tell(theirs),
            "same cells": "yes" if same else "no" if ours and theirs and ours[0] and theirs[0] else "",
        }
    return markdown(pd.DataFrame.from_dict(found, orient="index").rename_axis(index="workbook"))


def _tell(answer: tuple[Findings | None, float, float] | None) -> str:
    if answer is None:
        return f"nothing after {_PATIENCE:g} s or 8 GiB"
    return f"{'refused, ' if answer[0] is None else ''}{answer[1]:.2f} s, {answer[2]:.0f} MiB"


# -- polytopes ---------------------------------------------------------------------------------------------------

_THREE = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}
_SIX = dict.fromkeys("abcdef", (0.0, 1.0))
_SIX_BOUNDED = dict(
    zip("abcdef", [(0.0, 0.3), (0.1, 0.5), (0.0, 1.0), (0.05, 0.2), (0.0, 0.6), (0.0, 0.4)], strict=True)
)
#: Continuous spaces under linear constraints: parameters and constraints.
SPACES: dict[str, tuple[dict[str, tuple[float, float]], list[str]]] = {
    "3 inputs, a + b + c <= 1": (_THREE, ["a + b + c <= 1"]),
    "6 inputs, two sums": (_SIX, ["a + b + c <= 1", "d + 2*e - f >= 1.5"]),
    "6 inputs, a thin slice": (_SIX, ["a + b + c + d + e + f >= 5", "a - b <= 0.05"]),
    "mixture of 3": (_THREE, ["a + b + c == 1"]),
    "mixture of 6 with bounds": (_SIX_BOUNDED, ["a + b + c + d + e + f == 1"]),
}


def draw_by_us(space: Space, count: int, seed: int) -> ndarray:
    """Rows of our own sampler."""
    assert space.feasible is not None
    return space.feasible.draw_rows(count, seed)[:count]


def draw_by_botorch(space: Space, count: int, seed: int) -> ndarray:
    """Rows of BoTorch's hit and run with its usual burn-in and thinning."""
    assert space.feasible is not None
    rows = space.feasible.rows
    equal, unequal = _as_botorch(rows.matrix, rows.edges)
    bounds = torch.from_numpy(rows.bounds.copy())
    return get_polytope_samples(count, bounds, unequal or None, equal or None, seed=seed).numpy()


Constraints = list[tuple[Tensor, Tensor, float]]


def _as_botorch(matrix: ndarray, edges: ndarray) -> tuple[Constraints, Constraints]:
    """Equalities and inequalities of the form a·x ≥ b, as BoTorch takes them."""
    equal: Constraints = []
    unequal: Constraints = []
    for coefficients, (low, high) in zip(torch.from_numpy(matrix), edges.T.tolist(), strict=True):
        columns = torch.arange(len(coefficients))
        if low == high:
            equal.append((columns, coefficients, low))
            continue
        sides = [(sign, edge) for sign, edge in ((1, low), (-1, high)) if np.isfinite(edge)]
        unequal += [(columns, sign * coefficients, sign * edge) for sign, edge in sides]
    return equal, unequal


def draw_by_rejection(rows: FeasibleRows, count: int) -> ndarray:
    """Independent uniform rows: of the box, or of all but one part of a mixture, those that satisfy everything."""
    random = np.random.default_rng(12345)
    mixture = bool((rows.edges[0] == rows.edges[1]).any())
    low, high = rows.bounds
    kept: list[ndarray] = []
    while sum(map(len, kept)) < count:
        drawn = low + (high - low) * random.random((2**18, len(rows.names)))
        if mixture:
            last = int((high - low).argmax())
            drawn[:, last] = 0.0
            drawn[:, last] = rows.edges[0, 0] - drawn.sum(1)
            drawn = drawn[(drawn[:, last] >= low[last]) & (drawn[:, last] <= high[last])]
        kept.append(drawn[rows.are_feasible(drawn)])
    return np.concatenate(kept)[:count]


def compare_moments(drawn: ndarray, exact: ndarray) -> tuple[float, float]:
    """The largest error of a column's mean in its standard deviations, and of its standard deviation as a share."""
    spread = exact.std(0)
    return float((np.abs(drawn.mean(0) - exact.mean(0)) / spread).max()), float(np.abs(drawn.std(0) / spread - 1).max())


def table_of_polytopes(count: int, seeds: int) -> str:
    """Errors of moments (root mean square over seeds), and seconds, of both samplers and of independent draws."""
    found = {}
    for name, (parameters, constraints) in SPACES.items():
        space = Space.parse(parameters).add_constraints(constraints)
        assert space.feasible is not None
        rows = space.feasible.rows
        exact = draw_by_rejection(rows, 200_000)
        told = {
            "independent draws": _tell_moments(
                [compare_moments(part, exact) for part in np.split(exact[: seeds * count], seeds)]
            )
        }
        for who, draw in {"ours": draw_by_us, "BoTorch": draw_by_botorch}.items():
            moments, seconds, gap = [], [], 0.0
            for seed in range(seeds):
                begun = time.perf_counter()
                drawn = draw(space, count, seed)
                seconds.append(time.perf_counter() - begun)
                assert len(drawn) == count
                moments.append(compare_moments(drawn, exact))
                gap = max(gap, _miss(rows, drawn))
            told[who] = f"{_tell_moments(moments)}; {np.median(seconds):.2f} s; misses by {gap:.0e}"
        found[name] = told
    return markdown(pd.DataFrame.from_dict(found, orient="index").rename_axis(index="space"))


def _miss(rows: FeasibleRows, drawn: ndarray) -> float:
    """By how much the worst row violates a sum."""
    sums = drawn @ rows.matrix.T
    return float(np.maximum(rows.edges[0] - sums, sums - rows.edges[1]).clip(min=0.0).max())


def _tell_moments(moments: list[tuple[float, float]]) -> str:
    mean, spread = np.sqrt(np.square(moments).mean(0))
    return f"mean {mean:.3f}, spread {spread:.3f}"


class Hills(AcquisitionFunction):
    """Σ_j exp(-|x - c_j|²/2s²): a smooth function with several maxima at random places c_j of the box.

    Args:
        num_inputs: The number of inputs.
        seed: Seed of the places.
    """

    def __init__(self, num_inputs: int, seed: int) -> None:
        super().__init__(model=None)
        generator = torch.Generator().manual_seed(seed)
        self.centres = 2 * torch.rand(8, num_inputs, generator=generator, dtype=torch.float64) - 1
        self.width = 0.3 * num_inputs**0.5

    def forward(self, X: Tensor) -> Tensor:
        """The values at `b x 1 x d` settings."""
        squared = (X - self.centres).square().sum(-1)
        return (-squared / (2 * self.width**2)).exp().sum(-1)


def search_by_us(hills: Hills, space: Space, seed: int) -> Tensor:
    """The best encoded setting that our own search finds."""
    encoded = EncodedSpace.from_space(space, Box.enclose(space))
    return maximize_feasible(hills, encoded, lambda X: torch.ones(len(X), dtype=torch.bool), seed)


def search_by_botorch(hills: Hills, space: Space, seed: int) -> Tensor:
    """The best encoded setting that `optimize_acqf` finds with the constraints, from as many samples and starts."""
    assert space.feasible is not None
    rows = space.feasible.rows
    half, middle = (rows.bounds[1] - rows.bounds[0]) / 2, rows.bounds.mean(0)
    equal, unequal = _as_botorch(rows.matrix * half, rows.edges - rows.matrix @ middle)
    bounds = torch.tensor([[-1.0], [1.0]], dtype=torch.float64).expand(2, len(half))
    torch.manual_seed(seed)
    found, _ = optimize_acqf(
        hills,
        bounds,
        q=1,
        num_restarts=4,
        raw_samples=512,
        options={"seed": seed},
        inequality_constraints=unequal or None,
        equality_constraints=equal or None,
    )
    return found[0]


def table_of_searches(seeds: int) -> str:
    """How far both searches stay below the better of the two, at most and on average, and their seconds."""
    found = {}
    for name, (parameters, constraints) in SPACES.items():
        space = Space.parse(parameters).add_constraints(constraints)
        values, seconds = np.zeros((seeds, 2)), np.zeros((seeds, 2))
        for seed in range(seeds):
            hills = Hills(len(parameters), seed)
            for k, search in enumerate((search_by_us, search_by_botorch)):
                begun = time.perf_counter()
                at = search(hills, space, seed)
                seconds[seed, k] = time.perf_counter() - begun
                values[seed, k] = float(hills(at[None, None]))
        short = 1 - values / values.max(1, keepdims=True)
        found[name] = {
            who: f"{short[:, k].mean():.1%} short (at most {short[:, k].max():.1%}), {np.median(seconds[:, k]):.2f} s"
            for k, who in enumerate(("ours", "BoTorch"))
        }
    return markdown(pd.DataFrame.from_dict(found, orient="index").rename_axis(index="maximum over"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--only", choices=["workbooks", "polytopes"], help="one of the two comparisons")
    parser.add_argument("--smoke", action="store_true", help="small sheets, and few draws")


def main(arguments: argparse.Namespace) -> None:
    """Print the tables."""
    if arguments.only != "polytopes":
        print(table_of_workbooks(100 if arguments.smoke else 10_000, {} if arguments.smoke else make_bombs()))
    if arguments.only != "workbooks":
        seeds = 2 if arguments.smoke else 10
        print(table_of_polytopes(64 if arguments.smoke else 1024, seeds))
        print(table_of_searches(seeds))
