"""The README's picture: regret after each trial on measured pairs, with old data and without, from stored results."""

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.methods.by_name import BASELINE, OWN_START, PLAIN
from benchmarks.results import RESULTS, read_results

_LINES = {
    OWN_START: ("tunedprior, with old data", "#0072b2", 2.4),
    PLAIN: ("tunedprior, without", "#009e73", 1.6),
    BASELINE: ("BoTorch's standard Gaussian process", "#555555", 1.6),
}


def curves(results: pd.DataFrame) -> pd.DataFrame:
    """The mean regret after each trial, over pairs of the mean over seeds, as a share of each pair's range."""
    some = results[results["method"].isin(_LINES)]
    by_pair = some.groupby(["method", "problem", "step"])["value"].mean().unstack("step")
    shared = [set(by_pair.loc[method].index) for method in _LINES]
    problems = sorted(set.intersection(*shared))
    return pd.DataFrame({method: by_pair.loc[method].loc[problems].mean() for method in _LINES})


def draw(path: Path, folder: Path = RESULTS) -> pd.DataFrame:
    """Draw it; the curves."""
    from matplotlib.figure import Figure

    found = curves(read_results("beliefs_pairs", folder))
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    axes = figure.subplots()
    for method, (name, colour, width) in _LINES.items():
        axes.plot(found.index, 100 * found[method], color=colour, linewidth=width, label=name)
    axes.set(xlabel="trials", ylabel="% of the range missed", xlim=(1, found.index.max()), ylim=(0, None))
    axes.set_xticks([1, *np.arange(5, found.index.max() + 1, 5)])
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.set_title("On 23 pairs of published measurements, old and new", loc="left", fontsize=10)
    figure.savefig(path, dpi=110, pil_kwargs={"optimize": True}, metadata={"Software": None})
    return found
