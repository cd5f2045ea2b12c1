"""One campaign of a peer: the same ground, first settings, noise and budget for all."""

import math
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.peers.by_name import ALL_PEERS
from benchmarks.peers.calling import Called, PeerError
from benchmarks.studies.field.grounds import Ground, Nearest, ground_of
from benchmarks.studies.field.jobs import FieldJob

#: What a process does before its seconds are counted: imports and first calls are not a suggestion's.
_WARMING = partial(FieldJob, problem="Branin", noise=0.0, seed=0, trials=4)
_WARMING_ROWS = 20


@dataclass
class Course:
    """How a campaign went.

    Attributes:
        regrets: After each trial, of the setting that seems best by then.
        seconds: What each suggestion took: learning what came before, and choosing.
    """

    regrets: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def regrets(job: FieldJob, pairs: Path | None) -> list[float]:
    """Simple regret after each trial; from a peer's failure on, NaN."""
    try:
        found = course(ground_of(job, pairs), _at_work(job.peer), job)
    except PeerError as error:
        print(f"{job}: {error}", file=sys.stderr)
        return [math.nan] * job.trials
    return found.regrets


def seconds_and_mebibytes(job: FieldJob, pairs: Path | None) -> list[float]:
    """What each suggestion took, the first one with all that is learnt from old data; last, the most memory held.

    A peer that fails has no cost.
    """
    try:
        with _warm(job) as peer:
            return [*course(ground_of(job, pairs), peer, job).seconds, peer.mebibytes()]
    except PeerError as error:
        print(f"{job}: {error}", file=sys.stderr)
        return [math.nan]


def course(ground: Ground, peer: Called, job: FieldJob) -> Course:
    """Trial after trial; with noise, what measured best seems best, and its regret is the true one."""
    rng = np.random.default_rng((job.seed, 1))  # the same noise for every peer, trial by trial
    nearest, done, best = Nearest(ground.task), Course(), -math.inf
    first = ground.first(ALL_PEERS[job.peer].first)
    spent = peer.begin(ground.task)
    for trial in range(job.trials):
        if trial < len(first):
            chosen = first[trial]
        else:
            chosen, choosing = peer.choose()
            done.seconds.append(spent + choosing)
            spent = 0.0
        setting = nearest(chosen)
        response = ground.respond(setting)
        measured = response + job.noise * rng.standard_normal()
        spent += peer.learn(setting, measured)
        if measured > best:
            best, regret = measured, ground.regret(response)
        done.regrets.append(regret)
    return done


#: The peer that this process talks with: one at a time, kept for the next campaign.
_kept: list[Called] = []


def _at_work(name: str) -> Called:
    """A peer's process: the one of the last campaign, if it is the same peer's."""
    if _kept and (_kept[0].name != name or not _kept[0].running):
        _kept.pop().close()
    if not _kept:
        _kept.append(Called(name))
    return _kept[0]


@contextmanager
def _warm(job: FieldJob) -> Iterator[Called]:
    """A new process of a peer that has done a small campaign."""
    old = ("same", _WARMING_ROWS) if ALL_PEERS[job.peer].uses_old else (None, 0)
    warming = _WARMING(old=old[0], rows=old[1], peer=job.peer)
    with closing(Called(job.peer)) as peer:
        course(ground_of(warming, None), peer, warming)
        yield peer
