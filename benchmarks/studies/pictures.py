"""Every picture of the README and the documents, drawn from stored results.

    make pictures
    python -m benchmarks pictures [NAME …] [--results DIR] [--out DIR]

Each PNG carries the names of the files that it was drawn from and a digest of what was in them, and a test compares
these with what is stored. Results are made by other commands (`python -m benchmarks` lists them); of campaigns that are
run for a picture alone, by `gallery`, `ideas` and `trust`.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.figures import draw_beliefs, draw_fibre, draw_functions, draw_kinds, save
from benchmarks.methods.by_name import BASELINE, OWN_START, PLAIN
from benchmarks.problems.functions import FAILURES, PAPER, SHIFTED
from benchmarks.problems.kinds import SPACE
from benchmarks.results import RESULTS, read_exactly, read_results
from benchmarks.studies import gallery, ideas, regret_bounds, trust
from benchmarks.studies.field.jobs import BY_ROWS, CONTESTS, ON_PAIRS
from benchmarks.studies.field.measures import curves, without_controls
from benchmarks.studies.field.pictures import figure_of
from benchmarks.studies.field.tables import key_of
from benchmarks.tables import DOCS
from tunedprior.checks import format_list
from tunedprior.errors import InputError

_COURSES = {
    OWN_START: ("tunedprior, with old data", "#0072b2", 2.4),
    PLAIN: ("tunedprior, without", "#009e73", 1.6),
    BASELINE: ("BoTorch's standard Gaussian process", "#555555", 1.6),
}
_ALL = "all"


@dataclass(frozen=True)
class Drawing:
    """How a picture is made.

    Attributes:
        data: The names of the files of results that it is drawn from.
        figure: Draws it, of results in a folder.
        dpi: Dots in an inch.
    """

    data: tuple[str, ...]
    figure: Callable[[Path], Figure]
    dpi: int = 120


@cache
def _read(study: str, folder: Path) -> pd.DataFrame:
    return read_results(study, folder)


@cache
def _field_curves(folder: Path) -> pd.DataFrame:
    return without_controls(curves(_read("field", folder)))


def _of_study(study: str, draw: Callable[[pd.DataFrame], Figure]) -> Drawing:
    """Of the runs of one study."""
    return Drawing((f"{study}.csv", f"{study}_runs.csv"), lambda folder: draw(_read(study, folder)))


def _of_table(name: str, draw: Callable[[pd.DataFrame], Figure]) -> Drawing:
    """Of a table by itself."""
    return Drawing((name,), lambda folder: draw(read_exactly(folder / name)))


def _of_field(kind: str, part: str) -> Drawing:
    """Of the comparison with other tools; contests that differ in the number of old rows alone are not counted."""
    contests = [key_of(one) for one in CONTESTS if one.part == part or (part == _ALL and one.part != BY_ROWS)]
    return Drawing(
        ("field.csv", "field_runs.csv"), lambda folder: figure_of(_field_curves(folder), kind, part, contests)
    )


def mean_courses(results: pd.DataFrame) -> pd.DataFrame:
    """The mean regret after each trial, over pairs of the mean over seeds, as a share of each pair's range."""
    some = results[results["method"].isin(_COURSES)]
    by_pair = some.groupby(["method", "problem", "step"])["value"].mean().unstack("step")
    problems = sorted(set.intersection(*(set(by_pair.loc[method].index) for method in _COURSES)))
    return pd.DataFrame({method: by_pair.loc[method].loc[problems].mean() for method in _COURSES})


def draw_courses(results: pd.DataFrame) -> Figure:
    """Regret over longer campaigns on measured pairs, with old data and without."""
    found = mean_courses(results)
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    axes = figure.subplots()
    for method, (name, colour, width) in _COURSES.items():
        axes.plot(found.index, 100 * found[method], color=colour, linewidth=width, label=name)
    axes.set(xlabel="trials after the first settings", ylabel="simple regret (% of the range)")
    axes.set(xlim=(1, found.index.max()), ylim=(0, None), xticks=[1, *np.arange(5, found.index.max() + 1, 5)])
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.set_title("Mean over 23 pairs of published measurements", loc="left", fontsize=10)
    return figure


def _of_gallery(name: str) -> Drawing:
    return Drawing((gallery.SHOWN,), lambda folder: gallery.draw_stored(folder / gallery.SHOWN, name), dpi=90)


#: Every picture, by its place in docs.
PICTURES = {
    "figures/experiment1.png": _of_study("functions", partial(draw_functions, names=PAPER)),
    "figures/shifted_and_failures.png": _of_study("functions", partial(draw_functions, names=(*SHIFTED, *FAILURES))),
    "figures/kinds.png": _of_study("functions", partial(draw_kinds, first=len(SPACE) + 1)),
    "figures/fibre.png": _of_study("fibre", partial(draw_fibre, simulated=True)),
    "figures/beliefs.png": _of_study("beliefs", draw_beliefs),
    "figures/pairs_courses.png": _of_study("beliefs_pairs", draw_courses),
    "figures/field_all_ranks.png": _of_field("ranks", _ALL),
    "figures/field_all_trials.png": _of_field("trials", _ALL),
    "figures/field_pairs_ranks.png": _of_field("ranks", ON_PAIRS),
    "figures/field_pairs_trials.png": _of_field("trials", ON_PAIRS),
    "figures/field_pairs_contests.png": _of_field("contests", ON_PAIRS),
    "figures/regret_bounds.png": _of_study(regret_bounds.STUDY.name, regret_bounds.draw_bounds),
    "figures/held.png": _of_table("held.csv", trust.draw_beliefs_held),
    "figures/trust.png": _of_table("trust.csv", trust.draw_trust),
    "figures/how_it_works.png": _of_table("ideas.csv", ideas.draw_how_it_works),
    "figures/ideas_trust.png": _of_table("trust.csv", ideas.draw_trust_lines),
    **{
        f"pictures/{name}.png": _of_gallery(name)
        for name in ("progress", "effects", "interactions", "trust", "old_data", "front")
    },
}


def draw_pictures(names: Sequence[str], results: Path = RESULTS, out: Path = DOCS) -> None:
    """Draw the pictures of these names."""
    for name in names:
        made = PICTURES[name]
        save(made.figure(results), out / name, [results / one for one in made.data], made.dpi)
        print(f"wrote {out / name}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these, such as figures/beliefs.png")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are, instead of in the project")
    parser.add_argument("--out", type=Path, default=DOCS, help="where pictures go, instead of into the documents")


def main(arguments: argparse.Namespace) -> None:
    """Draw all of them, or those that are named."""
    unknown = [name for name in arguments.names if name not in PICTURES]
    if unknown:
        raise InputError(f"Pictures are {format_list(PICTURES)}; there is no {format_list(unknown)}.")
    draw_pictures(arguments.names or list(PICTURES), arguments.results, arguments.out)
