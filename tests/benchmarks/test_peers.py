"""Peers: the language they are spoken to in, the list of them, and those that run in this environment."""

import ast
import dataclasses
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.peers import calling
from benchmarks.peers.by_name import ALL_PEERS, RANDOM, Entry
from benchmarks.peers.calling import Called, PeerError
from benchmarks.peers.kinds import several_tasks
from benchmarks.peers.kinds.by_chance import drawn
from benchmarks.peers.kinds.by_ranking import Ranking, weights
from benchmarks.peers.kinds.gaussian import BoTorch, GaussianPeer
from benchmarks.peers.kinds.several_tasks import FreeSign, FullRank, MultiTask
from benchmarks.peers.tasks import Input, OldSet, Setting, Task

INPUTS = (Input("a", 0.0, 2.0), Input("b", 1e-2, 10.0, log=True), Input("c", choices=("x", "y")))


def response(setting: Setting) -> float:
    return -((setting["a"] - 0.6) ** 2) - np.log10(setting["b"]) ** 2 / 4 + 0.3 * (setting["c"] == "y")


def old_set(rng: np.random.Generator, sign: float) -> OldSet:
    settings = tuple(drawn(Task(INPUTS), rng) for _ in range(12))
    return OldSet(settings, tuple(float(sign * response(one)) for one in settings))


def task(pool: bool = True) -> Task:
    rng = np.random.default_rng(3)
    old = {"alike": old_set(rng, 1.0), "reversed": old_set(rng, -2.0)}
    return Task(INPUTS, old, tuple(drawn(Task(INPUTS), rng) for _ in range(30)) if pool else None, 5, 1)


def campaign(kind: type[GaussianPeer], given: Task, trials: int) -> list[Setting]:
    """Settings that a peer chose after one that it did not choose."""
    peer, chosen = kind(given), []
    peer.learn(first := drawn(given, np.random.default_rng(9)), response(first))
    for _ in range(trials):
        chosen.append(peer.choose())
        peer.learn(chosen[-1], response(chosen[-1]))
    return chosen


def test_a_task_survives_its_way_through_json() -> None:
    for one in (task(), task(pool=False), Task(INPUTS)):
        assert Task.from_plain(json.loads(json.dumps(one.as_plain()))) == one


def test_every_peer_is_where_its_entry_says() -> None:
    folder = Path(calling.__file__).parent / "kinds"
    for name, entry in ALL_PEERS.items():
        tree = ast.parse((folder / f"{entry.module}.py").read_text())
        assert entry.kind in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}, name


def test_errors_and_ends_of_a_peer_reach_the_caller() -> None:
    peer = Called(RANDOM)
    try:
        with pytest.raises(PeerError, match="random search: AttributeError"):  # before it was given anything
            peer.choose()
        assert peer.running
        given = dataclasses.replace(task(), trials=2)
        assert peer.begin(given) >= 0
        setting, seconds = peer.choose()
        assert setting in given.pool
        assert seconds >= 0
        peer.learn(setting, 1.0)
        assert 1 < peer.mebibytes() < 250  # its own, without what this process holds: PyTorch alone takes more
    finally:
        peer.close()
    assert not peer.running
    with pytest.raises(PeerError, match="was closed"):
        peer.choose()


def test_a_peer_that_ends_is_noticed() -> None:
    peer = Called(RANDOM)
    try:
        peer.begin(task())
        os.kill(peer._process.pid, signal.SIGKILL)
        with pytest.raises(PeerError, match="ended by itself"):
            peer.choose()
    finally:
        peer.close()


def test_a_peer_that_ends_is_asked_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", os.devnull)  # a Python that cannot find its own library
    peer = Called(RANDOM)
    try:
        with pytest.raises(PeerError, match=r"random search ended by itself: .*\w"):
            peer.begin(task())
    finally:
        peer.close()


def test_a_peer_that_cannot_start_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ALL_PEERS, "nobody", Entry("no_such_module", "Nobody"))
    peer = Called("nobody")
    try:
        with pytest.raises(PeerError, match=r"nobody: ModuleNotFoundError.*no_such_module"):
            peer.begin(task())
    finally:
        peer.close()


@pytest.mark.parametrize("kind", [BoTorch, MultiTask, FreeSign, Ranking])
def test_choices_come_from_the_pool_once_and_depend_on_the_seed_alone(
    kind: type[GaussianPeer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(several_tasks, "_MOST_STEPS", 10)
    monkeypatch.setattr(several_tasks, "_FIRST_STEPS", 2)
    given = task()
    chosen = campaign(kind, given, 2)
    torch.manual_seed(77)  # what others draw must not matter
    assert campaign(kind, given, 2) == chosen
    assert all(one in given.pool for one in chosen)
    assert chosen[0] != chosen[1]


def test_in_a_box_numbers_keep_to_their_ends_and_choices_to_their_values() -> None:
    for one in campaign(BoTorch, task(pool=False), 2):
        assert list(one) == ["a", "b", "c"]
        assert 0 <= one["a"] <= 2
        assert 1e-2 <= one["b"] <= 10
        assert one["c"] in ("x", "y")


def test_the_ensemble_drops_an_old_set_that_ranks_the_other_way() -> None:
    given = task()
    peer, rng = Ranking(given), np.random.default_rng(0)
    settings = [drawn(given, rng) for _ in range(10)]
    inputs = peer.rows(settings)
    y = torch.tensor([response(one) for one in settings], dtype=torch.double)[:, None]
    model, _ = peer.fitted(inputs, y)
    found = weights(list(model.models[:2]), model.models[2], inputs, y, torch.Generator().manual_seed(0))
    assert float(found.sum()) == pytest.approx(1)
    assert found[1] == 0
    assert found[0] > 0.2


def test_the_task_covariance_begins_with_any_signs_and_is_a_covariance() -> None:
    kernel = FullRank(torch.tensor([-0.9, 0.9, 0.8], dtype=torch.double))
    expected = torch.tensor([[1.0, -0.81, -0.72], [-0.81, 1.0, 0.72], [-0.72, 0.72, 1.0]], dtype=torch.double)
    torch.testing.assert_close(kernel.covariance.detach(), expected)
    kernel.partial.data = torch.tensor([0.99, -0.99, 0.5], dtype=torch.double)
    kernel.amplitudes.data = torch.tensor([2.0, 0.5], dtype=torch.double)
    covariance = kernel.covariance.detach()
    torch.testing.assert_close(covariance.diagonal(), torch.tensor([1.0, 4.0, 0.25], dtype=torch.double))
    assert torch.linalg.eigvalsh(covariance).min() > 0
    assert covariance[1, 0] > 0 > covariance[2, 0]
