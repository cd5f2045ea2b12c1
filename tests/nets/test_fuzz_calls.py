"""Any order of calls: what was told stays told, suggestions stay inside, and a resumed campaign goes on the same.

Rules for methods to come belong in a subclass, or in `Calls` itself: `told`, `pending` and `space` are its own record
of what should be so, kept without the package.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from nets.strategies import assert_allowed, sized, spaces
from support.optimizers import make_optimizer
from tunedprior.acquisition import optimisation
from tunedprior.errors import InputError
from tunedprior.space.search_space import Space

VALUES = st.one_of(
    st.floats(-10, 10), st.sampled_from([0.0, 1e300, -1e300, 1e-300, math.nan]), st.integers(-3, 3).map(float)
)
MOST_TOLD = 12  # more take longer, and nothing else


class Calls(RuleBasedStateMachine):
    """An Optimizer, and what is known of it from the calls alone."""

    settings = Bundle("settings")

    def __init__(self) -> None:
        super().__init__()
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(optimisation, "_RAW_SAMPLES", 16)
        self._patch.setattr(optimisation, "_RESTARTS", 2)

    def teardown(self) -> None:
        self._patch.undo()

    @initialize(space=spaces(3), direction=st.sampled_from(["maximize", "minimize"]), seed=st.integers(0, 5))
    def begin(self, space: dict[str, Any], direction: str, seed: int) -> None:
        self.space, self.options = space, {"direction": direction, "seed": seed, "target": "response"}
        self.opt = make_optimizer(space, **self.options)
        self.told: list[float] = []
        self.count_pending = 0

    # -- asking and telling ----------------------------------------------------------------------------

    @precondition(lambda self: len(self.told) < MOST_TOLD)
    @rule(target=settings)
    def ask(self) -> Any:
        setting = self.opt.ask()
        assert_allowed(self.space, setting)
        self.count_pending += 1
        return setting

    @precondition(lambda self: self.count_pending < 4)
    @rule(n=st.integers(1, 3))
    def ask_several(self, n: int) -> None:
        batch = self.opt.ask(n=n)
        assert len(batch) == n
        for setting in batch:
            assert_allowed(self.space, setting)
            self.opt.cancel(setting)

    @rule(setting=consumes(settings), value=VALUES)
    def tell(self, setting: Any, value: float) -> None:
        self.opt.tell(setting, value)
        self.told.append(value)
        self.count_pending -= 1

    @precondition(lambda self: len(self.told) < MOST_TOLD and self.count_pending == 0)
    @rule(seed=st.integers(0, 50), value=VALUES, table=st.booleans())
    def tell_what_was_not_asked_for(self, seed: int, value: float, table: bool) -> None:
        setting = Space.parse(self.space).sobol(1, seed)[0]
        self.opt.tell(pd.DataFrame([setting], dtype=object) if table else setting, [value] if table else value)
        self.told.append(value)

    @rule(setting=consumes(settings))
    def cancel(self, setting: Any) -> None:
        self.opt.cancel(setting)
        self.count_pending -= 1
        with pytest.raises(InputError):
            make_optimizer(self.space, **self.options).cancel(setting)

    # -- what must change nothing ----------------------------------------------------------------------

    @rule(
        wrong=st.sampled_from(["missing", "text", "two values", "no value", "no such trial", "stranger"]),
        seed=st.integers(0, 5),
    )
    def tell_wrong(self, wrong: str, seed: int) -> None:
        setting, before = Space.parse(self.space).sobol(1, seed)[0], self.opt.history
        call: dict[str, tuple[Any, ...]] = {
            "missing": ({}, 1.0),
            "text": (setting, "high"),
            "two values": (setting, [1.0, 2.0]),
            "no value": (setting,),
            "no such trial": (setting, 1.0),
            "stranger": (setting | {next(iter(setting)): "stranger to the space"}, 1.0),
        }
        with pytest.raises(InputError):
            self.opt.tell(*call[wrong], **({"trial": 10**6} if wrong == "no such trial" else {}))
        pd.testing.assert_frame_equal(self.opt.history, before)

    @precondition(lambda self: not all(map(math.isnan, self.told)) and len(self.told) < MOST_TOLD)
    @rule(seed=st.integers(0, 5))
    def predict(self, seed: int) -> None:
        before = self.opt.history
        found = self.opt.predict(Space.parse(self.space).sobol(3, seed))
        assert np.isfinite(found.to_numpy()).all()
        assert (found["std"] >= 0).all()
        pd.testing.assert_frame_equal(self.opt.history, before)

    @precondition(lambda self: len(self.told) < MOST_TOLD)
    @rule()
    def resume(self) -> None:
        again = make_optimizer(self.space, **self.options).resume(self.opt.history)
        pd.testing.assert_frame_equal(again.history, self.opt.history)
        mine, theirs = self.opt.ask(), again.ask()
        assert mine == theirs
        self.opt.cancel(mine)

    # -- what always holds -----------------------------------------------------------------------------

    @invariant()
    def everything_told_is_there(self) -> None:
        history = self.opt.history
        told = history["response"].iloc[: len(self.told)].to_numpy(dtype=float)
        np.testing.assert_array_equal(told, np.array(self.told, dtype=float))
        assert len(history) - len(self.opt.trials.set_aside) == len(self.told) + self.count_pending
        values = [value for value in self.told if not math.isnan(value)]
        choose = max if self.options["direction"] == "maximize" else min
        assert (None if self.opt.best is None else self.opt.best.value) == (choose(values) if values else None)


# Odd results, lists of two levels and exhausted spaces are warned of, and go on.
TestCalls = pytest.mark.filterwarnings(
    "ignore::tunedprior.errors.OddResultWarning",
    "ignore::tunedprior.errors.SpaceWarning",
    "ignore::tunedprior.errors.ExhaustedWarning",
)(Calls.TestCase)
TestCalls.settings = sized(5, steps=12)
