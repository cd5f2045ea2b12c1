"""Every acquisition class that BoTorch has: it works with the mixture, or is refused when the Optimizer is made."""

import inspect
import re
from functools import cache
from pathlib import Path

import botorch.acquisition
import numpy as np
import pandas as pd
import pytest
import torch
from botorch.acquisition import AcquisitionFunction, qKnowledgeGradient

from tunedprior import Optimizer, SearchConfig
from tunedprior.acquisition.functions import _KNOWN
from tunedprior.errors import InputError
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.models.surrogate import Surrogate

SPACE = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}
PAGE = (Path(__file__).parents[2] / "docs" / "asking.md").read_text()


def documented(mark: str) -> set[str]:
    """The classes that the page names under this mark."""
    (part,) = re.findall(rf"<!-- acquisitions: {mark} -->(.*?)<!-- end -->", PAGE, flags=re.DOTALL)
    first_column = [line.split("|")[1] if line.startswith("|") else line for line in part.splitlines()]
    return set(re.findall(r"`(\w+)`", "\n".join(first_column)))


def to_be_had() -> list[str]:
    """The classes that need nothing but what an Optimizer can give them."""
    found = []
    for name in botorch.acquisition.__all__:
        one = getattr(botorch.acquisition, name)
        if not (inspect.isclass(one) and issubclass(one, AcquisitionFunction)) or inspect.isabstract(one):
            continue
        needed = [
            parameter.name
            for parameter in inspect.signature(one).parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        if set(needed) <= set(_KNOWN) and "model" in needed:
            found.append(name)
    return sorted(found)


@cache
def surrogate() -> Surrogate:
    random = np.random.default_rng(3)
    old = pd.DataFrame(random.uniform(-1, 1, (20, 2)), columns=list(SPACE))
    return Optimizer(SPACE, old.assign(y=np.sin(3 * old["a"]) * old["b"]), direction="maximize", seed=0).surrogate


@pytest.fixture(autouse=True)
def a_short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a class works does not depend on how long it is searched and sampled."""
    monkeypatch.setattr("tunedprior.acquisition.optimisation._RAW_SAMPLES", 8)
    monkeypatch.setattr("tunedprior.acquisition.optimisation._RESTARTS", 2)
    monkeypatch.setattr("tunedprior.acquisition.functions._MC_SAMPLES", 8)
    monkeypatch.setattr("tunedprior.acquisition.functions._MC_POINTS", 8)


def test_the_page_names_every_class() -> None:
    assert documented("work") | documented("refused") == set(to_be_had())
    assert not documented("work") & documented("refused")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(documented("work")))
@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.NumericsWarning")  # it would rather we used LogEI
def test_a_class_that_works(name: str) -> None:
    opt = Optimizer(
        SPACE,
        direction="maximize",
        seed=1,
        search=SearchConfig(acquisition=getattr(botorch.acquisition, name), model=surrogate()),
    )
    opt.tell(pd.DataFrame({"a": [-0.5, 0.1, 0.8], "b": [0.2, -0.7, 0.4]}), [0.1, 0.9, 0.3])
    first, second = opt.ask(n=2)  # the second with a pending setting
    assert opt.space.allows(first)
    assert opt.space.allows(second)
    assert first != second


@pytest.mark.parametrize("name", sorted(documented("refused")))
def test_a_class_that_does_not_is_refused_at_once(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} does not work with the model that Average makes"):
        Optimizer(
            SPACE,
            direction="maximize",
            search=SearchConfig(acquisition=getattr(botorch.acquisition, name), model=surrogate()),
            seed=0,
        )


def test_knowledge_gradient_works_with_a_single_process() -> None:
    """It was broken by a sampler of another size than its fantasies."""
    opt = Optimizer(
        SPACE,
        direction="maximize",
        search=SearchConfig(acquisition=qKnowledgeGradient, model=StandardSurrogate(surrogate().box)),
        seed=0,
    )
    assert opt.config.search.acquisition is qKnowledgeGradient


class Nonsense(AcquisitionFunction):
    """Not a number, with a gradient."""

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return X.sum((-2, -1)) * float("nan")


def test_a_class_that_gives_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="Nonsense should give one finite number for each setting"):
        Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=Nonsense, model=surrogate()), seed=0)
