"""However long servers are held up, and wherever: of those that are given one form, exactly one acts upon it."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from random import Random

import optuna
import pytest
from optuna.study import Study

from tunedprior.web import claims

# Before and after each look and each writing of a claim that nobody disputes, and some more.
MOMENTS = range(14)
MOST_SECONDS = 20
own = threading.local()


def ignore() -> None:
    """Nothing holds it up."""


def at_moment(moment: int, hold: Callable[[], object]) -> Callable[[], None]:
    """Held up once, before or after one look or writing: the first moment is before the first."""
    passed = count()

    def held() -> None:
        if next(passed) == moment:
            hold()

    return held


def now_and_then(seed: int) -> Callable[[], None]:
    """Held up at a third of all moments, mostly for longer than a claim takes."""
    random = Random(seed)
    return lambda: time.sleep(random.uniform(0, 0.1)) if random.random() < 1 / 3 else None


def claimed(study: Study, form: str, held: Callable[[], None] = ignore) -> bool:
    own.held = held
    try:
        return claims.claimed(study, form)
    finally:
        own.held = ignore


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    def with_delays(use: Callable[..., object]) -> Callable[..., object]:
        def used(*arguments: object) -> object:
            held = getattr(own, "held", ignore)
            held()
            found = use(*arguments)
            held()
            return found

        return used

    for name in ("study_attributes", "set_study_attribute"):
        monkeypatch.setattr(claims, name, with_delays(getattr(claims, name)))
    return optuna.create_study()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(200) as pool:
        yield pool


@pytest.mark.parametrize("moment", MOMENTS)
def test_whoever_is_held_up_at_any_moment_one_acts(study, threads, moment: int) -> None:
    form, there, go_on = claims.new_form(), threading.Event(), threading.Event()

    def hold() -> None:
        there.set()
        go_on.wait(0.2)  # the other may wait for this one in turn

    first = threads.submit(claimed, study, form, at_moment(moment, hold))
    first.add_done_callback(lambda _: there.set())
    assert there.wait(MOST_SECONDS)
    second = threads.submit(claimed, study, form)
    second.add_done_callback(lambda _: go_on.set())
    assert first.result() + second.result() == 1


def test_whatever_is_held_up_now_and_then_one_acts(study, threads) -> None:
    forms = [claims.new_form() for _ in range(60)]
    found: dict[str, list[Future[bool]]] = {}
    for seed, form in enumerate(forms):
        delays = [now_and_then(10 * seed + one) for one in range(2 + seed % 3)]
        found[form] = [threads.submit(claimed, study, form, held) for held in delays]
    assert [sum(one.result() for one in found[form]) for form in forms] == [1] * len(forms)


class InTurns:
    """Threads that go on one at a time, in an order drawn at random: between two looks or writings any may be next.

    Args:
        seed: Of the order.
    """

    def __init__(self, seed: int) -> None:
        self._random, self._news = Random(seed), threading.Condition()
        self._waiting: list[int] = []
        self._next: int | None = None
        self._left = 0

    def acting(self, study: Study, form: str, claimants: int) -> int:
        """How many of them act."""
        self._left = claimants
        with ThreadPoolExecutor(claimants) as pool:
            return sum(pool.map(lambda _: self._claimed(study, form), range(claimants)))

    def _claimed(self, study: Study, form: str) -> bool:
        self.hold()
        try:
            return claimed(study, form, self.hold)
        finally:
            with self._news:
                self._left -= 1
                self._draw()

    def hold(self) -> None:
        """Wait for one's turn."""
        me = threading.get_ident()
        with self._news:
            self._waiting.append(me)
            self._draw()
            assert self._news.wait_for(lambda: self._next == me, MOST_SECONDS)
            self._next = None

    def _draw(self) -> None:
        """Whose turn it is, once nobody is on the move."""
        if self._waiting and len(self._waiting) == self._left:
            self._next = self._waiting.pop(self._random.randrange(self._left))
            self._news.notify_all()


def test_in_whatever_order_they_look_and_write_one_acts(study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_PAUSE", 0.0)
    for seed in range(250):
        assert InTurns(seed).acting(study, claims.new_form(), 2 + seed % 3) == 1, seed


def test_a_database_that_is_always_slow_keeps_nobody_from_acting(study, threads) -> None:
    form = claims.new_form()
    found = [threads.submit(claimed, study, form, lambda: time.sleep(0.06)) for _ in range(2)]
    assert sum(one.result() for one in found) == 1


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lets pass as long as it takes until claims lapse."""
    clock, passed = time.time, [0.0]
    monkeypatch.setattr("tunedprior.web.claims.time.time", lambda: clock() + passed[0])

    def let_pass() -> None:
        passed[0] += 121

    return let_pass


@pytest.mark.parametrize("moment", MOMENTS)
def test_who_was_held_up_until_its_claim_lapsed_leaves_the_form_to_the_next(study, later, threads, moment: int) -> None:
    form = claims.new_form()
    next_one: list[bool] = []

    def hold() -> None:
        later()
        next_one.append(threads.submit(claimed, study, form).result())

    first = claimed(study, form, at_moment(moment, hold))
    assert first + sum(next_one) == 1
    assert first != any(next_one)


@pytest.mark.parametrize("moment", MOMENTS)
def test_who_was_held_up_alone_acts_after_all(study, later, moment: int) -> None:
    assert claimed(study, claims.new_form(), at_moment(moment, later))


def test_a_claim_of_a_server_that_was_ended_lapses(study, later) -> None:
    form = claims.new_form()
    assert claims.claimed(study, form)
    assert not claims.claimed(study, form)
    later()
    assert not claims.is_claimed(study, form)
    assert claims.claimed(study, form)
    claims.settle(study, form, [1, 2])
    assert not claims.claimed(study, form)
    later()
    assert not claims.claimed(study, form)
    assert claims.settled(study, form) == (1, 2)


def test_a_claim_that_is_given_back_can_be_had_again(study) -> None:
    form, other = claims.new_form(), claims.new_form()
    assert claims.claimed(study, form)
    assert claims.claimed(study, other)
    claims.release(study, form)
    assert not claims.is_claimed(study, form)
    assert claims.is_claimed(study, other)
    assert claims.claimed(study, form)


def test_nobody_waits_for_a_server_that_lost_its_database(study) -> None:
    for moment in range(6):
        form = claims.new_form()
        with pytest.raises(ZeroDivisionError):
            claimed(study, form, at_moment(moment, lambda: 1 / 0))
        assert claimed(study, form)
