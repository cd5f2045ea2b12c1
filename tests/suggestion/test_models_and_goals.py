"""Targets, requirements, costs, trade-offs, batches, candidates, stopping: with every kind of model."""

import math

import pandas as pd
import pytest
import torch
from botorch.models.model import Model
from botorch.posteriors import TransformedPosterior

from support.builders import SPACE, box_of, old_data, smooth
from support.optimizers import make_optimizer
from tunedprior import Optimizer, SearchConfig, Target, pretrain
from tunedprior.errors import InputError
from tunedprior.goals.observations import Observations
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.space.encoding import Box
from tunedprior.suggestion.composing import AcquisitionBuilder
from tunedprior.suggestion.response_models import FittedModels, ResponseModel
from tunedprior.suggestion.suggester import Suggester
from tunedprior.weight_prior.tuned_prior import TunedPrior


class SampledModel(Model):
    """A model whose posterior BoTorch knows by samples alone: through a transform that does nothing."""

    num_outputs = 1

    def __init__(self, inner: Model) -> None:
        super().__init__()
        self.inner = inner

    @property
    def batch_shape(self) -> torch.Size:
        return torch.Size()

    def posterior(self, X: torch.Tensor, *args: object, **options: object) -> TransformedPosterior:
        inner = self.inner.posterior(X, *args, **options)
        return TransformedPosterior(inner, lambda y: y, lambda mean, _: mean, lambda _, variance: variance)


class SampledSurrogate:
    """A surrogate of one's own, with such a model."""

    def __init__(self, box: Box) -> None:
        self.box = box

    def __call__(self, observations: Observations) -> Model:
        return SampledModel(StandardSurrogate(self.box)(observations))


BOX = box_of(SPACE)
MODELS = {
    "TunedPrior": lambda: TunedPrior(pretrain(old_data(smooth), SPACE)),
    "SingleTaskGP": lambda: StandardSurrogate(BOX),
    "sampled": lambda: SampledSurrogate(BOX),
}
GOALS = {
    "target": {"direction": Target(0.3)},
    "requirement": {"requirements": {"purity": ">= 0"}},
    "label": {"requirements": {"holds": "pass"}},
    "cost": {"cost": lambda setting: 1 + abs(setting["a"])},
    "front": {"objectives": {"y": "maximize", "purity": "maximize"}},
    "weights": {"objectives": {"y": "maximize", "purity": "minimize"}, "preference": {"y": 1.0, "purity": 0.3}},
}


def results_of(opt: Optimizer, setting: dict[str, float]) -> dict[str, object]:
    a, b = setting["a"], setting["b"]
    known = {"y": smooth(setting), "purity": math.cos(a + b / 5), "holds": a < 0.8}
    return {one.name: known[one.name] for one in opt.suggester.goals.responses}


def tell(opt: Optimizer, setting: dict[str, float]) -> None:
    found = results_of(opt, setting)
    opt.tell(setting, found if len(found) > 1 else found["y"])


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_is_pursued_with_every_model(goal: str, model: str) -> None:
    opt = make_optimizer(SPACE, seed=2, search=SearchConfig(initial=4, model=MODELS[model]()), **GOALS[goal])
    for _ in range(6):
        tell(opt, opt.ask())
    opt.tell(opt.ask(), float("nan"))  # a failed run
    batch = opt.ask(n=2)
    assert batch[0] != batch[1]
    table = pd.DataFrame(opt.space.sobol(5, seed=9))
    assert dict(opt.ask(candidates=table)) in table.to_dict("records")
    assert opt.predict(table).notna().to_numpy().all()
    assert "probability" in str(opt.predict(table).columns)
    if goal != "front":
        assert opt.recommend().setting.keys() == SPACE.keys()
    if goal not in ("front", "weights"):
        assert opt.estimate_remaining().bound >= 0


@pytest.mark.parametrize("goal", GOALS)
def test_samples_say_what_the_closed_form_says(goal: str) -> None:
    """The same process, once as components and once by its samples alone."""
    surrogate = StandardSurrogate(BOX)
    opt = make_optimizer(SPACE, seed=2, search=SearchConfig(initial=4, model=surrogate), **GOALS[goal])
    for setting in opt.space.sobol(8, seed=4):
        tell(opt, setting)
    fitted = opt.suggester.fit(opt.trials, 0)
    sampled = FittedModels(
        fitted.history,
        {
            name: ResponseModel(one.observations, SampledModel(one.model), surrogate, limits=one.limits)
            for name, one in fitted.models.items()
        },
        fitted.main,
        fitted.box,
        fitted.success_model,
        fitted.cost,
    )
    X = BOX.encode(opt.space.sobol(24, seed=11))
    closed, by_samples = (
        AcquisitionBuilder(opt.suggester.goals, one, X[:0], 0).build_acquisition()(X[:, None]).detach()
        for one in (fitted, sampled)
    )
    likely = closed > closed.max() - 3  # samples know little of what is improbable
    assert likely.sum() > 1
    torch.testing.assert_close(by_samples[likely], closed[likely], rtol=0, atol=0.5)
    probabilities = [
        AcquisitionBuilder(opt.suggester.goals, one, X[:0], 0).compute_feasibility_probability(X)
        for one in (fitted, sampled)
    ]
    torch.testing.assert_close(*probabilities, rtol=0, atol=0.15 if goal == "label" else 0.06)


def test_another_response_can_have_a_model_of_its_own() -> None:
    opt = Optimizer(
        SPACE,
        direction="maximize",
        requirements={"purity": ">= 0"},
        search=SearchConfig(initial=3, model=StandardSurrogate(BOX)),
        seed=0,
    )
    assert opt.suggester.other_surrogates == {"purity": opt.surrogate}
    other = TunedPrior(pretrain(old_data(smooth), SPACE))
    made = Suggester(opt.space, opt.surrogate, opt.suggester.goals, other_surrogates={"purity": other})
    assert made.other_surrogates == {"purity": other}


def test_other_acquisitions_than_improvement_take_one_response() -> None:
    with pytest.raises(InputError, match="acquisition='ei'"):
        Optimizer(SPACE, direction=Target(0.3), search=SearchConfig(acquisition="ucb"), seed=0)
