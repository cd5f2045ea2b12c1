"""Compute suggestions, predictions, reasons and reports in background threads of the web page.

Recording a result never waits for them. One thread makes suggestions, another one reports and reasons, with a bounded
queue. Requests for the same thing share one answer.
"""

import atexit
import sys
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.util import find_spec
from threading import Condition, Thread
from typing import Any

import numpy as np
import pandas as pd
from optuna.study import Study

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.errors import InputError, TunedPriorError
from tunedprior.history.trials import History, collect_settings
from tunedprior.report import report_html
from tunedprior.suggestion.prediction import DEVIATIONS
from tunedprior.suggestion.recommendation import Recommendation
from tunedprior.web import idempotency
from tunedprior.web.entries import BusyError, NotFoundError
from tunedprior.web.shared import compute_version

# Seconds to wait for another server that thinks about the same form, and for what is being worked on at the end.
_MOST_SECONDS = 120.0
_ELSEWHERE = "This was asked for elsewhere, and nothing came of it. Ask again."
#: So many suggestions may be asked for at once.
MOST = 24
#: So many reports and reasons may wait to be worked out, and so many requests may wait for them.
MOST_QUESTIONS, MOST_WAITING = 8, 48


@dataclass(frozen=True)
class ResponseInterval:
    """The 95% prediction interval of a response."""

    response: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class ModelSummary:
    """The recommendation and the trust in old data for one version of the history.

    Attributes:
        version: Of the history that it is about.
        recommended: The setting to use; None while nothing speaks for one, and where there is a front.
        trust: A sentence for each old data set.
    """

    version: str
    recommended: Recommendation | None = None
    trust: tuple[str, ...] = ()


@dataclass(frozen=True)
class SuggestionRequest:
    """The state of a request for suggestions: pending, done (with trial numbers), or failed (with a reason)."""

    trials: tuple[int, ...] = ()
    refusal: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the request has succeeded or failed."""
        return bool(self.trials or self.refusal)


class _BackgroundWorker(ABC):
    """A thread with its own optimiser, which begins with the first thing there is to do.

    Args:
        open_campaign: Opens the campaign.
        name: The name of the thread.
    """

    def __init__(self, open_campaign: Callable[[], Optimizer], name: str) -> None:
        self._open_campaign, self._name = open_campaign, name
        self._news, self._is_ending = Condition(), False
        self._thread: Thread | None = None

    @cached_property
    def _optimizer(self) -> Optimizer:
        """The optimiser, which only the thread uses."""
        return self._open_campaign()

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds`; return whether all work is done."""
        with self._news:
            return self._news.wait_for(self._is_idle, seconds)

    @abstractmethod
    def _is_idle(self) -> bool:
        """Whether nothing waits and nothing is being worked on."""

    @abstractmethod
    def _take_work(self) -> Callable[[], None] | None:
        """What is to be done next; None if nothing waits."""

    def _wake(self) -> None:
        """See that there is a thread, and that it knows there is something to do."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
            atexit.register(self._end)
        self._news.notify_all()

    def _end(self) -> None:
        """Finish what is being worked on, and nothing else: PyTorch must not be at work when the interpreter ends."""
        with self._news:
            self._is_ending = True
            self._news.notify_all()
        if self._thread is not None:
            self._thread.join(_MOST_SECONDS)

    def _work(self) -> None:
        while (work := self._await_work()) is not None:
            work()

    def _await_work(self) -> Callable[[], None] | None:
        """What is to be done next, as soon as there is something; None at the end."""
        with self._news:
            while not self._is_ending:
                work = self._take_work()
                if work is not None:
                    return work
                self._news.wait()
        return None


class SuggestionWorker(_BackgroundWorker):
    """A thread with its own optimiser that makes suggestions, then model summaries.

    Args:
        open_campaign: Opens the campaign.
        study: The study that holds it.
    """

    def __init__(self, open_campaign: Callable[[], Optimizer], study: Study) -> None:
        super().__init__(open_campaign, "suggestions")
        self._register = idempotency.make_register(study)
        self._asked: dict[str, SuggestionRequest] = {}
        self._waiting: deque[tuple[str, int]] = deque()
        self._wanted = ""  # the version of the history that a summary is wanted of
        self._summary: ModelSummary | None = None
        self._expected: dict[int, tuple[ResponseInterval, ...]] = {}

    def ask(self, form: str, count: int) -> None:
        """Request `count` suggestions, unless this form was received before."""
        with self._news:
            if form not in self._asked:
                self._asked[form] = SuggestionRequest()
                self._waiting.append((form, count))
                self._wake()

    def get_request(self, form: str) -> SuggestionRequest | None:
        """Return the state of a form's request; None for an unknown form."""
        with self._news:
            known = self._asked.get(form)
        if known is None and idempotency.is_form_number(form):
            trials = self._register.get_outcome(form)
            if trials or self._register.is_claimed(form, idempotency.LONG_LEASE):
                return SuggestionRequest(trials or ())
        return known

    @property
    def is_suggesting(self) -> bool:
        """Whether suggestions are being computed."""
        with self._news:
            return not all(one.is_done for one in self._asked.values())

    def get_model_summary(self, history: History) -> ModelSummary | None:
        """Return the summary for this history; None while it is being computed."""
        version = compute_version(history)
        with self._news:
            if self._summary is not None and self._summary.version == version:
                return self._summary
            if self._wanted != version:
                self._wanted = version
                self._wake()
            return None

    def get_intervals(self, number: int) -> tuple[ResponseInterval, ...]:
        """Return the last prediction intervals of a suggestion; an empty tuple if there are none."""
        with self._news:
            return self._expected.get(number, ())

    # -- how it is done --------------------------------------------------------------------------------

    def _is_idle(self) -> bool:
        return not self._wanted and not self.is_suggesting

    def _take_work(self) -> Callable[[], None] | None:
        if self._waiting:
            return partial(self._suggest, *self._waiting.popleft())
        return self._update_summary if self._wanted else None

    def _suggest(self, form: str, count: int) -> None:
        try:
            found = _suggest_once(self._optimizer, self._register, form, count)
        except TunedPriorError as error:
            found = SuggestionRequest(refusal=str(error))
        except Exception as error:  # whatever it is, the thread must go on for everybody else
            traceback.print_exc(file=sys.stderr)
            said = (
                f"Something unforeseen happened: {type(error).__name__}. The window that the server runs in has more."
            )
            found = SuggestionRequest(refusal=said)
        with self._news:
            self._asked[form] = found
            self._news.notify_all()

    def _update_summary(self) -> None:
        """Work out what the models say of what is known by now."""
        try:
            expected, summary = _summarise_campaign(self._optimizer)
        except Exception:  # likewise
            traceback.print_exc(file=sys.stderr)
            with self._news:
                expected, summary = {}, ModelSummary(self._wanted)
        with self._news:
            self._summary = summary
            self._expected.update(expected)
            self._wanted = ""  # whoever has seen more since asks again
            self._news.notify_all()


@dataclass
class _Question:
    """Something to be worked out, for all who wait for it."""

    work: Callable[[], bytes]
    answer: "Future[bytes]" = field(default_factory=Future)
    waiting: int = 1


class ExplanationWorker(_BackgroundWorker):
    """A thread with its own optimiser that makes reports and reasons, one at a time.

    Whoever asks for what already waits gets the same answer; what is being worked on may be of a moment ago, and is not
    shared. The last answer to each question is kept, and given again while the history is the same.

    Args:
        open_campaign: Opens the campaign.
    """

    def __init__(self, open_campaign: Callable[[], Optimizer]) -> None:
        super().__init__(open_campaign, "explaining")
        self._queue: dict[str, _Question] = {}
        self._present: _Question | None = None
        self._report: tuple[str, bytes] | None = None
        self._reasons: tuple[str, dict[int, list[str]]] = ("", {})

    def request_report(self) -> "Future[bytes]":
        """Return the report as one page, the previous one if nothing has changed."""
        return self._ask("report", self._render_report)

    def request_reasons(self, number: int, draw: Callable[[list[str]], bytes]) -> "Future[bytes]":
        """Return the page with the reasons for a suggestion.

        Args:
            number: The trial's.
            draw: Makes the page of the sentences; there are none if there is no telling.
        """
        return self._ask(f"why {number}", lambda: draw(self._explain(number)))

    def _is_idle(self) -> bool:
        return not self._queue and self._present is None

    def _ask(self, key: str, work: Callable[[], bytes]) -> "Future[bytes]":
        with self._news:
            there = self._queue.get(key)
            everybody = [*self._queue.values(), *([] if self._present is None else [self._present])]
            is_full = there is None and len(self._queue) >= MOST_QUESTIONS
            if is_full or sum(one.waiting for one in everybody) >= MOST_WAITING:
                raise BusyError(
                    "Too many reports and reasons are being worked out at this moment. Everything else goes on. Try "
                    f"this page again in {BusyError.retry_after} seconds."
                )
            if there is not None:
                there.waiting += 1
                return there.answer
            self._queue[key] = _Question(work)
            self._wake()
            return self._queue[key].answer

    def _take_work(self) -> Callable[[], None] | None:
        if not self._queue:
            return None
        self._present = self._queue.pop(next(iter(self._queue)))
        return partial(self._resolve, self._present)

    def _resolve(self, asked: _Question) -> None:
        try:
            asked.answer.set_result(asked.work())
        except Exception as error:  # whatever it is, the thread must go on for everybody else
            if not isinstance(error, TunedPriorError):
                traceback.print_exc(file=sys.stderr)
            asked.answer.set_exception(error)
        with self._news:
            self._present = None
            self._news.notify_all()

    def _render_report(self) -> bytes:
        if not can_render_report():
            raise NotFoundError("Nothing is installed that draws reports.")
        version = compute_version(self._optimizer.trials)
        if self._report is None or self._report[0] != version:
            self._report = version, report_html(self._optimizer).encode()
        return self._report[1]

    def _explain(self, number: int) -> list[str]:
        history = self._optimizer.trials
        if all(one.id != number for one in history.pending):
            return []
        version = compute_version(history)
        if self._reasons[0] != version:
            self._reasons = version, {}
        if number not in self._reasons[1]:
            self._reasons[1][number] = list(self._optimizer.explain(number).sentences)
        return self._reasons[1][number]


def can_render_report() -> bool:
    """Return whether the packages for drawing the report are installed."""
    return find_spec("plotly") is not None


def _suggest_once(optimizer: Optimizer, register: idempotency.FormRegister, form: str, count: int) -> SuggestionRequest:
    with idempotency.acquire_claim(register, form, idempotency.LONG_LEASE, _MOST_SECONDS) as settle:
        if settle is None:
            trials = register.get_outcome(form)
            return SuggestionRequest(trials or (), "" if trials else _ELSEWHERE)
        numbers = tuple(one.trial for one in optimizer.ask(count))
        settle(numbers)
        return SuggestionRequest(numbers)


def _summarise_campaign(optimizer: Optimizer) -> tuple[dict[int, tuple[ResponseInterval, ...]], ModelSummary]:
    """Predict the responses of pending suggestions, and summarise what the models say.

    The first value holds the intervals of each pending trial by its number. What cannot be computed yet is left out.
    """
    history = optimizer.trials
    expected: dict[int, tuple[ResponseInterval, ...]] = {}
    summary = ModelSummary(compute_version(history))
    if len(history):
        with suppress(InputError):  # there may be nothing to predict from yet: every run failed
            if history.pending:
                table = optimizer.predict(collect_settings(history.pending))
                expected = {
                    one.id: _compute_intervals(table.iloc[row], optimizer, history)
                    for row, one in enumerate(history.pending)
                }
        with suppress(InputError):  # no prediction yet, or several objectives, which have a front instead
            summary = replace(summary, recommended=optimizer.recommend())
    with suppress(InputError):  # there is no old data
        trust = optimizer.trust
        several = trust.items() if isinstance(trust, Mapping) else [("", trust)]
        sentences = [f"{name}: {said}" if name else said for name, one in several for said in one.sentences]
        summary = replace(summary, trust=tuple(sentences))
    return expected, summary


def _compute_intervals(row: "pd.Series[Any]", optimizer: Optimizer, history: History) -> tuple[ResponseInterval, ...]:
    """Return the prediction interval of each numeric response from a row of `predict`."""
    found = []
    for one in optimizer.suggester.goals.responses:
        at = row[one.name] if isinstance(row.index, pd.MultiIndex) and one.name in row.index else row
        if not one.labels and "mean" in at.index:
            mean, spread = float(at["mean"]), DEVIATIONS * float(at["measured_std"])
            low, high = np.clip([mean - spread, mean + spread], *one.infer_limits(history.told)).tolist()
            found.append(ResponseInterval(one.name, mean, low, high))
    return tuple(found)
