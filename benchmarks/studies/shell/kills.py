"""The command line is killed at random moments: is every result that it acknowledged there, once, as it was told?"""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import optuna

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.errors import TunedPriorError

#: What is kept of each job.
OF_KILLS = ("killed", "commands", "acknowledged", "finished unseen", "lost", "doubled", "damaged")
SPACE = {"heat": (20.0, 90.0), "flow": (0.0, 1.0)}
CAMPAIGN = "campaign.db"
_COMMAND = [sys.executable, "-c", "from tunedprior.cli.program import main; main()"]


@dataclass(frozen=True)
class KillJob:
    """One campaign whose commands are killed.

    Attributes:
        seed: Of what is done, and when it is killed.
        kills: How many commands are to be killed.
    """

    seed: int
    kills: int = 20


@dataclass
class Ledger:
    """What must be in the campaign, and what may be.

    Attributes:
        told: The value of each result that the command line acknowledged, by trial.
        unseen: Values whose command was killed: each may be there, or not.
        acknowledged: How many results were acknowledged in all.
    """

    told: dict[int, float] = field(default_factory=dict)
    unseen: set[float] = field(default_factory=set)
    acknowledged: int = 0

    def verdict(self, there: Mapping[int, float]) -> tuple[int, int]:
        """How many results are lost (not there, or changed), and how many are there that should not be."""
        lost = sum(there.get(trial) != value for trial, value in self.told.items())
        allowed = Counter(self.told.values()) + Counter(self.unseen)
        doubled = sum((Counter(there.values()) - allowed).values())
        return lost, doubled


def after_kills(job: KillJob) -> list[float]:
    """In the order of OF_KILLS."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng, ledger = random.Random(job.seed), Ledger()
    count = Counter[str]()
    with tempfile.TemporaryDirectory(prefix="tunedprior-kills-") as folder:
        place = Path(folder)
        opt = Optimizer(SPACE, direction="maximize", storage=f"sqlite:///{place / CAMPAIGN}", seed=job.seed)
        usual = _seconds(place)
        while count["killed"] < job.kills:
            words, value = _next_command(opt, ledger, rng, place)
            answer = run_or_kill(words, place, usual * _moment(rng))
            count["commands"] += 1
            count["killed"] += answer is None
            _note(ledger, words, value, answer)
            try:
                there = results_in(place / CAMPAIGN)
            except (TunedPriorError, sqlite3.Error):
                count["damaged"] += 1
                break
            lost, doubled = ledger.verdict(there)
            count["lost"], count["doubled"] = max(count["lost"], lost), max(count["doubled"], doubled)
            count["finished unseen"] += _learn(ledger, there, set(value) if answer is None else set())
    return [float(count[name]) if name != "acknowledged" else float(ledger.acknowledged) for name in OF_KILLS]


def _moment(rng: random.Random) -> float:
    """When to kill, as a share of the time a command takes: any time, or the last quarter, when the work is done."""
    return rng.uniform(0.0, 1.2) if rng.random() < 0.5 else rng.uniform(0.75, 1.0)


def run_or_kill(words: list[str], folder: Path, after: float) -> dict | None:
    """What the command said, as JSON; None if it had not finished and was killed."""
    process = subprocess.Popen(
        [*_COMMAND, *words, "--json"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        said, _ = process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return None
    return json.loads(said) if said else {}


def results_in(path: Path) -> dict[int, float]:
    """The values in the campaign, by trial, as somebody who comes later reads them; an error if it is damaged."""
    with sqlite3.connect(path) as connection:
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("damaged")
    told = Optimizer.load(f"sqlite:///{path}").trials.told
    return {trial.id: trial.value for trial in told}


def _seconds(folder: Path) -> float:
    """How long a command takes here."""
    begun = time.perf_counter()
    run_or_kill(["suggest", CAMPAIGN], folder, 600.0)
    return time.perf_counter() - begun


def _next_command(opt: Optimizer, ledger: Ledger, rng: random.Random, folder: Path) -> tuple[list[str], list[float]]:
    """A command as people give it, and the values it tells, which are all different."""
    value = round(rng.uniform(0, 100), 9)
    pending = [trial.id for trial in opt.trials.pending]
    kind = rng.choice(["suggest", "suggestion", "suggestion", "own", "own", "sheet", "amend", "undo"])
    if kind == "suggestion" and pending:
        return ["record", CAMPAIGN, "--trial", str(rng.choice(pending)), f"y={value}"], [value]
    if kind == "sheet":
        rows = [(rng.uniform(20, 90), rng.random(), round(rng.uniform(0, 100), 9)) for _ in range(3)]
        lines = "".join(f"{heat!r},{flow!r},{y!r}\n" for heat, flow, y in rows)
        (folder / "results.csv").write_text("heat,flow,y\n" + lines)
        return ["record", CAMPAIGN, "results.csv", "--own"], [y for _, _, y in rows]
    if kind == "amend" and ledger.told:
        return ["amend", CAMPAIGN, str(rng.choice(list(ledger.told))), f"y={value}"], [value]
    if kind == "undo" and ledger.told:
        return ["undo", CAMPAIGN], []
    if kind in ("own", "suggestion"):
        return ["record", CAMPAIGN, f"heat={rng.uniform(20, 90)!r}", f"flow={rng.random()!r}", f"y={value}"], [value]
    return ["suggest", CAMPAIGN], []


def _note(ledger: Ledger, words: list[str], values: list[float], answer: dict | None) -> None:
    """What must be there from now on, and what may be."""
    if answer is None:
        ledger.unseen |= set(values)
        changed = {"amend": [int(words[2])] if words[0] == "amend" else [], "undo": list(ledger.told)[-1:]}
        for trial in changed.get(words[0], []):  # it may have been changed, or not
            ledger.unseen.add(ledger.told.pop(trial))
        return
    for one in answer.get("recorded", []):
        ledger.told[one["trial"]] = one["values"]["y"]
        ledger.acknowledged += 1
    if words[0] == "amend" and "trial" in answer:
        ledger.told[answer["trial"]] = values[0]
        ledger.acknowledged += 1
    for one in answer.get("taken_back", []):
        ledger.told.pop(one["trial"], None)


def _learn(ledger: Ledger, there: Mapping[int, float], killed: set[float]) -> int:
    """What killed commands did finish must stay from now on; how many results of the last one that are."""
    finished = 0
    for trial, value in there.items():
        if trial not in ledger.told and value in ledger.unseen:
            ledger.told[trial] = value
            ledger.unseen.discard(value)
            finished += value in killed
    ledger.told = {trial: ledger.told[trial] for trial in there if trial in ledger.told} | ledger.told  # in their order
    return finished
