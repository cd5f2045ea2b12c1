"""Shape annotations of numerical packages are checked in tests, and property tests try the same cases every time."""

import gc
import inspect
import os
import sys

import jaxtyping
import pytest
import torch
from hypothesis import settings

import support.typecheck

# pytest reads this file before any test, in every worker of pytest-xdist too. What was imported before the hook stays
# unchecked, so that would be worth knowing.
assert "tunedprior" not in sys.modules, "tunedprior was imported before its annotations could be checked"
if "TUNEDPRIOR_UNCHECKED" not in os.environ:  # for other versions of what the checks are made of
    jaxtyping.jaxtyped = support.typecheck.jaxtyped
    jaxtyping.install_import_hook(support.typecheck.NUMERICAL, "support.typecheck.checker")

from botorch.acquisition.multi_objective import logei  # noqa: E402

from tunedprior.numerics.isolation import OwnGenerator  # noqa: E402  # after the hook

# BoTorch compiles C++ for hypervolumes when it first needs them. That takes a compiler, and longer than all that is
# done with them here; it computes the same in Python.
logei._load_attempted = True

# PyTorch calls it for every single operation inside such a block: checking its annotations takes longer than those do.
OwnGenerator.__torch_function__ = inspect.unwrap(OwnGenerator.__torch_function__)

# Optuna's suites of tests are in a module that pytest does not collect.
pytest.register_assert_rewrite("optuna.testing.pytest_samplers")

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_collectstart() -> None:
    """Keep what is imported by now out of garbage collection: BayBE collects garbage 58 times while it is imported."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check shapes in the tests of numerical packages, and in no others."""
    support.typecheck.SWITCH.on = support.typecheck.is_numerical(item.nodeid)


# As the command line has it: most objects are gone without garbage collection, which takes a tenth of the time.
gc.set_threshold(100_000, 20, 100)

# Matrices in tests are small: handing them to other threads takes longer than the work itself.
torch.set_num_threads(1)


@pytest.fixture
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few starts and samples, for tests that hold however good suggestions are."""
    monkeypatch.setattr("tunedprior.acquisition.optimisation._RAW_SAMPLES", 16)
    monkeypatch.setattr("tunedprior.acquisition.optimisation._RESTARTS", 2)
    monkeypatch.setattr("tunedprior.acquisition.optimisation._SAMPLES", 64)
    monkeypatch.setattr("tunedprior.acquisition.optimisation._STARTS", 1)
    monkeypatch.setattr("tunedprior.acquisition.functions._MC_SAMPLES", 16)


@pytest.fixture
def coarse_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few points along inputs, for tests that hold however fine pictures are."""
    monkeypatch.setattr("tunedprior.plots.effects_pictures._FINE", 9)
    monkeypatch.setattr("tunedprior.plots.effects_pictures._PAIR_POINTS", 5)
    monkeypatch.setattr("tunedprior.plots.effects_pictures._OLD_POINTS", 7)
    monkeypatch.setattr("tunedprior.plots.effects_pictures._AVERAGED", 12)
