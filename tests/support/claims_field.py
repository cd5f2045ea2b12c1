"""Sentences with figures about the default and the comparison with other tools, and what the stored results say."""

import json

import numpy as np
import pandas as pd

from benchmarks.peers.by_name import ALL_PEERS
from benchmarks.results import jobs_of as stored_jobs
from benchmarks.results import read_results, read_runs
from benchmarks.studies import evidence
from benchmarks.studies.field.jobs import SLOW as SIZE
from benchmarks.studies.field.jobs import FieldJob, jobs_of
from support.field_regrets import (
    SHARED_START,
    average_ranks,
    contest_ratios,
    on_pairs_alone,
    seeds_of,
)
from support.measures import (
    BELIEFS,
    FAQ,
    FIELD,
    FIELD_TABLES,
    IDEAS,
    MEASURED,
    PACKAGE,
    README,
    START,
    WHEN_NOT,
    course_on_pairs,
    falls_behind,
)
from support.prose import Claim, Value, with_interval
from support.stored import CHECKED_PAIRS, OWN_START, PLAIN, RESULTS, curves, over_problems
from tunedprior.beliefs import list_beliefs
from tunedprior.model_averaging import hypotheses, source_fits, weighing

BOTORCH, RGPE, WITHOUT = "BoTorch", "RGPE", "tunedprior, no old data"
FAR_OFF, TURNED = "baumgartner_aniline_benzamide", "storm_c1thr_c3lat_flip"
#: Peers without old data that are too slow to run everywhere.
SLOW = ("Ax", "Vizier", "HEBO", "SMAC3")
MULTI_TASK = ("MultiTaskGP", "MultiTaskGP, free sign")


def headline() -> list[Value]:
    """On the pairs: geometric mean and its interval over pairs, the median, how many are better, the worst."""
    found = on_pairs_alone(contest_ratios(BOTORCH))
    assert len(found) == 23
    assert found.idxmax()[0] == TURNED
    wins = float((found < 1).sum())
    return [*with_interval(over_problems(found.to_list())), float(found.median()), wins, float(found.max())]


def without_the_best_pair() -> float:
    """The geometric mean on the pairs without the one that is furthest from 1."""
    found = on_pairs_alone(contest_ratios(BOTORCH))
    assert found.idxmin()[0] == FAR_OFF
    return over_problems(found.drop(found.idxmin()).to_list()).middle


def geometric_mean(peer: str, own: str = "tunedprior") -> float:
    """On the pairs."""
    return float(np.exp(np.log(on_pairs_alone(contest_ratios(peer, own))).mean()))


def ranks() -> list[Value]:
    """Ours, RGPE's, and ours without old data."""
    return [float(average_ranks()[peer]) for peer in ("tunedprior", RGPE, WITHOUT)]


def lost_to_slow_peers() -> list[Value]:
    """How many contests each slow peer wins and of how many, and the fewest and the most seeds of them."""
    found = [contest_ratios(peer) for peer in SLOW]
    counts = [float(count) for one in found for count in ((one > 1).sum(), len(one))]
    seeds = set.union(*map(seeds_of, SLOW))
    return [*counts, float(min(seeds)), float(max(seeds))]


def against_multi_task() -> list[Value]:
    """Over MultiTaskGP: the geometric mean of its contests, and the worst, which is the pair that turned round."""
    found = contest_ratios("MultiTaskGP")
    assert (len(found), seeds_of("MultiTaskGP"), found.idxmax()[0]) == (10, {5, 12}, TURNED)
    return [over_problems(found.to_list()).middle, float(found.max())]


def on_arylhal() -> list[Value]:
    """Over each slow peer without old data on the pair where seed 300 begins with nearly the best setting."""
    found = [contest_ratios(peer) for peer in SLOW]
    return [float(one[one.index.get_level_values(0) == "arylhal_iodotr_iodo4"].item()) for one in found]


def minutes(*peers: str) -> list[Value]:
    """Of a campaign, the median of all that are stored."""
    runs = curves("field").drop_duplicates("run")
    return [float(runs[runs["peer"] == peer]["seconds"].median()) / 60 for peer in peers]


def of_the_slow_contests() -> list[Value]:
    """How many runs `--contests slow` asks for, and how many of these are stored."""
    slow = [peer for peer, entry in ALL_PEERS.items() if entry.slow]
    wanted = {job for peer in slow for job in jobs_of(SIZE.contests_of(peer), peer, SIZE.seeds, SIZE.trials)}
    return [float(len(wanted)), float(len(wanted & set(stored_jobs(read_runs("field"), FieldJob))))]


def versions() -> list[Value]:
    """Of Python, torch and NumPy without their last parts: of the last runs of slow peers, then of ours."""
    runs = curves("field").drop_duplicates("run")
    late = runs["problem"].isin((TURNED, "gpuconv_A100_MI250X", "boosting on diabetes", "perceptron on breast_cancer"))
    theirs = runs[late & runs["peer"].isin(("Ax", "Ax BOTL", "BayBE", "HEBO", "SMAC3", *MULTI_TASK))]
    stored = json.loads((RESULTS / "software.json").read_text())["software"]
    made = []
    for these in (theirs, runs[runs["peer"].isin(("tunedprior", WITHOUT))]):
        places = [stored[place] for place in these["software"].unique()]
        (one,) = {tuple(place[name].partition("+")[0] for name in ("python", "torch", "numpy")) for place in places}
        made.append(one)
    assert made == [("3.12.3", "2.11.0", "2.5.2"), ("3.11.7", "2.13.0", "2.4.6")]
    return [float(version.rpartition(".")[0]) for one in made for version in one]


def regrets_at_first(peer: str) -> pd.Series:
    """By seed, after the first trial on the pair whose response turned round, in per cent of the range."""
    found = curves("field")
    there = (found["problem"] == TURNED) & (found["noise"] == 0) & found["rows"].isin((0, 150))
    return 100 * found[there & (found["old"] != "several") & (found["peer"] == peer) & (found["step"] == 1)]["value"]


def on_an_unlucky_seed() -> list[Value]:
    """On boosting on diabetes our regret over BoTorch's: in the seed that is the worst of ours, and in all."""
    found = curves("field")
    there = (found["problem"] == "boosting on diabetes") & (found["noise"] == 0) & found["rows"].isin((0, 150))
    own, other = (
        found[there & (found["peer"] == peer) & (found["old"].fillna("") == old)].groupby("seed")["value"].mean()
        for peer, old in (("tunedprior", "wine"), (BOTORCH, ""))
    )
    assert (len(own), len(other), own.idxmax()) == (20, 20, 300)
    return [float(own[300] / other[300]), float(own.mean() / other.mean())]


def masses() -> list[Value]:
    """The prior probabilities of the beliefs that the default averages over."""
    averaged = {one.name: one.mass for one in list_beliefs() if one.in_default_average}
    assert set(averaged) == {"aligned", "shape", "uninformed"}
    return [averaged[name] for name in ("aligned", "shape", "uninformed")]


def gain_of(arm: str, measure: int) -> "pd.Series[float]":
    """What an arm gains over the default on each family that chose nothing: 0, evidence; 1, density; 2, at the best."""
    found = read_results("evidence")
    found["family"] = found["problem"].str.split("__").str[0]
    found = found[((found["step"] - 1) % 3 == measure) & found["family"].isin(evidence.CHECKED_ON)]
    each = found.pivot(index=["family", "problem", "seed", "step"], columns="arm", values="value")
    by_set = (each[arm] - each["default"]).groupby(["family", "step"]).mean()
    return by_set.groupby("family").mean()


CLAIMS_FIELD = [
    Claim(
        BELIEFS,
        "changes the mean log evidence of a result by -{0.008}",
        lambda: [-gain_of("with places", 0).mean()],
    ),
    Claim(
        BELIEFS,
        "The family that gains most gains {0.002}, the one that loses most {0.025}.",
        lambda: [gain_of("with places", 0).max(), -gain_of("with places", 0).min()],
    ),
    Claim(
        BELIEFS,
        "Lower shares of a belief, down to {0.10}, raise evidence by {0.013},",
        lambda: [min(evidence.ARMS["lower shares"].shares.shares), gain_of("lower shares", 0).mean()],
    ),
    Claim(
        BELIEFS,
        "fitted to the results ({0.000} without it), and the mean log density of other results falls by {0.018}.",
        lambda: [
            abs((gain_of("lower shares, no fitted remainder", 0) - gain_of("no fitted remainder", 0)).mean()),
            -gain_of("lower shares", 1).mean(),
        ],
    ),
    Claim(BELIEFS, "aligned has {0.45}, shape {0.10} and uninformed {0.45}", masses),
    Claim(BELIEFS, "The first has {0.7} of the probability.", lambda: [source_fits.FIT_PROBABILITIES[0]]),
    Claim(
        BELIEFS,
        "({50}, {10} or {1} % of the variance; Matérn-5/2)",
        lambda: [100 * (1 - share) for share in hypotheses.DEFAULT_SHARES.shares],
    ),
    Claim(BELIEFS, "with {0.02} kept for the other", lambda: [1 - weighing._RIGHT]),
    Claim(
        IDEAS,
        "The first and the last begin with a probability of {45} % each, the second with {10} %.",
        lambda: [100 * one for one in (masses()[0], masses()[1]) if isinstance(one, float)],
    ),
    *(
        Claim(
            document,
            "is {0.59} times that of BoTorch's Gaussian process without old data: the geometric mean over pairs, 95 % "
            "interval {0.32} to {0.92}. The median pair has {0.89}, and {15} of 23 are better. The worst has {2.23}:",
            headline,
        )
        for document in (README, PACKAGE, START)
    ),
    *(
        Claim(
            document,
            "After the same first settings as BoTorch's, our regret on the pairs is {0.82} times BoTorch's",
            lambda: [geometric_mean(BOTORCH, SHARED_START)],
        )
        for document in (README, WHEN_NOT)
    ),
    *(
        Claim(
            document,
            "rom the {27}th trial on the default is on average behind itself without old data",
            lambda: [falls_behind(OWN_START, PLAIN)],
        )
        for document in (README, WHEN_NOT)
    ),
    Claim(
        WHEN_NOT,
        "after {40} trials it is {4.7} % of the range from the best, without old data {3.4} %.",
        lambda: [
            float(course_on_pairs(OWN_START).index.max()),
            *(float(course_on_pairs(method).iloc[-1]) for method in (OWN_START, PLAIN)),
        ],
    ),
    Claim(
        WHEN_NOT,
        "On the worst of {23} measured pairs our regret is {2.23} times BoTorch's without old data.",
        lambda: [float(len(on_pairs_alone(contest_ratios(BOTORCH)))), headline()[-1]],
    ),
    Claim(
        WHEN_NOT,
        "with several, the ratio is {0.94} ({0.61} to {1.32}).",
        lambda: with_interval(over_problems(contest_ratios(BOTORCH).xs("several", level="old").to_list())),
    ),
    *(
        Claim(
            document,
            "the geometric mean is {0.48}, and its interval, {0.15} to {1.05}, holds 1.",
            lambda: with_interval(over_problems(on_pairs_alone(contest_ratios(BOTORCH), CHECKED_PAIRS).to_list())),
        )
        for document in (README, WHEN_NOT)
    ),
    Claim(
        FAQ,
        "Of what was measured next, {92} % lay within the intervals that were predicted at 95 %.",
        lambda: [100 * curves("calibration")["value"].mean()],
    ),
    Claim(
        MEASURED,
        "the geometric mean is {0.59} ({0.32} to {0.92}), the median pair has {0.89}, and {15} of 23 are better. The "
        "mean owes much to one pair: without baumgartner it would be {0.74}.",
        lambda: [*headline()[:-1], without_the_best_pair()],
    ),
    Claim(MEASURED, "The worst pair, storm_c1thr_c3lat_flip, has {2.23}", lambda: headline()[-1:]),
    Claim(
        MEASURED,
        "after BoTorch's own first settings the worst has {1.18}, and the mean is {0.82}.",
        lambda: [
            float(on_pairs_alone(contest_ratios(BOTORCH, SHARED_START)).max()),
            geometric_mean(BOTORCH, SHARED_START),
        ],
    ),
    Claim(MEASURED, "From the {27}th trial after the first settings", lambda: [falls_behind(OWN_START, PLAIN)]),
    Claim(
        MEASURED,
        "{92} % of what was measured next lay within those predicted at 95 %.",
        lambda: [100 * curves("calibration")["value"].mean()],
    ),
    Claim(
        FIELD,
        "the geometric mean is {0.59} ({0.32} to {0.92}), the median pair has {0.89}, {15} of 23 are better, and the "
        "worst, storm_c1thr_c3lat_flip, has {2.23}.",
        headline,
    ),
    Claim(
        FIELD,
        "has the best average rank, {3.36}; RGPE's {4.64} and our own {4.90} without old data are not significantly "
        "worse.",
        ranks,
    ),
    Claim(
        FIELD,
        "win {9} of {13}, {9} of {13}, {9} of {13} and {9} of {13} contests that they ran in, with {1} to {6} seeds.",
        lost_to_slow_peers,
    ),
    Claim(
        FIELD,
        "a regret of {63} % of the range on storm_c1thr_c3lat_flip, where a random setting has {8} % in the median.",
        lambda: [float(regrets_at_first("tunedprior").mean()), float(regrets_at_first("random search").median())],
    ),
    Claim(
        FIELD,
        "which is the worst of our twenty there: {8.1} times BoTorch's regret, where all twenty have {1.45} times.",
        on_an_unlucky_seed,
    ),
    Claim(
        FIELD,
        "with twelve seeds on six pairs and five in four other contests, is level with ours: {0.99} over the ten, at "
        "some fifty times the time of a suggestion. On storm_c1thr_c3lat_flip ours has {4.06} times its regret.",
        against_multi_task,
    ),
    Claim(
        FIELD_TABLES,
        "were made with Python {3.12}.3, torch {2.11}.0 and NumPy {2.5}.2, as were most of BoTorch's and RGPE's. Ours, "
        "which they are compared with, were made with Python {3.11}.7, torch {2.13}.0 and NumPy {2.4}.6.",
        versions,
    ),
    Claim(
        FIELD,
        "the ratios over Ax, Vizier, HEBO and SMAC3 there are {1.57}, {1.64}, {2.15} and {1.50}.",
        on_arylhal,
    ),
    Claim(FIELD, "Of {704} such runs {338} are there.", of_the_slow_contests),
    Claim(
        FIELD,
        "a campaign takes Ax's BOTL {2.5} minutes, Vizier with old trials {1.9}, BayBE {1.0} and `MultiTaskGP` {0.7},",
        lambda: minutes("Ax BOTL", "Vizier, old trials as prior", "BayBE", "MultiTaskGP"),
    ),
    Claim(
        FIELD,
        "without that pair {0.59} over BoTorch on the pairs would be {0.74}.",
        lambda: [geometric_mean(BOTORCH), without_the_best_pair()],
    ),
]
