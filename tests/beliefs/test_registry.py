"""A new belief is one file: a class that is registered, and every part of the package knows it by its name."""

from collections.abc import Iterator

import pytest
import torch
from botorch.acquisition import LogExpectedImprovement
from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel

from support.builders import (
    SPACE,
    assert_allowed,
    average_over,
    flipped,
    observed,
    old_data,
    smooth,
    told,
    weighed_after,
)
from support.mixtures import make_closed_form
from tunedprior import Optimizer, SearchConfig, TransferConfig
from tunedprior.beliefs import KernelBelief, forget, get_belief, list_beliefs, register
from tunedprior.errors import InputError
from tunedprior.goals.observations import Observations
from tunedprior.machines.machine import Fit
from tunedprior.model_averaging.average import Average
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.suggestion.config import list_prior_names

# -- all that a new belief takes -----------------------------------------------------------------------


class LoudBelief(KernelBelief):
    """The objective is as smooth as g, and varies as much as g does: K = s² K_RBF, with s² = E[g²] at a few points."""

    name = "loud"

    def make_kernel(self, fit: Fit) -> Kernel:
        """From any fit: only g itself is asked for."""
        corners = torch.cartesian_prod(*[torch.tensor([-0.5, 0.5], dtype=torch.float64)] * 2)
        kernel = ScaleKernel(RBFKernel()).double()
        kernel.outputscale = fit(corners).square().mean()
        kernel.base_kernel.lengthscale = 0.7
        return kernel.requires_grad_(False)


# ------------------------------------------------------------------------------------------------------


@pytest.fixture
def loud() -> Iterator[str]:
    register(LoudBelief)
    yield LoudBelief.name
    forget(LoudBelief.name)


def test_it_is_known_by_its_name_until_it_is_forgotten(loud: str) -> None:
    assert isinstance(get_belief(loud), LoudBelief)
    assert [one.name for one in list_beliefs()].count(loud) == 1
    assert loud in list_prior_names()
    register(LoudBelief)  # once more, as when its file is imported again
    assert [one.name for one in list_beliefs()].count(loud) == 1
    forget(loud)
    assert loud not in [one.name for one in list_beliefs()]
    assert loud not in list_prior_names()
    register(LoudBelief)


def test_an_optimizer_can_have_it_for_its_prior(loud: str) -> None:
    opt = told(
        Optimizer(SPACE, old_data(flipped, rows=15), direction="maximize", seed=1, transfer=TransferConfig(prior=loud)),
        4,
    )
    assert isinstance(opt.surrogate, Average)
    assert {label.belief for label in opt.surrogate.hypotheses.labels} == {loud}
    for _ in range(2):
        setting = opt.ask()
        assert_allowed(SPACE, setting)
        opt.tell(setting, smooth(setting))


def test_an_average_can_hold_it_beside_others(loud: str) -> None:
    held = ("uninformed", "shape", "aligned", loud)
    average = average_over(beliefs=held)
    assert isinstance(average, Average)
    after = weighed_after(average, observed(5))
    labels = [label.belief for label in after.hypotheses.labels]
    assert set(labels) == set(held)
    mine = torch.tensor([label == loud for label in labels])
    assert 0 < after.weights[mine].sum() < 1
    opt = told(Optimizer(SPACE, direction="maximize", seed=1, search=SearchConfig(model=average)), 5)
    assert_allowed(SPACE, opt.ask())
    assert loud in set(opt.trust.beliefs["belief"])
    assert loud not in {label.belief for label in average_over().hypotheses.labels}  # unless asked for


def test_its_gradient_needs_no_rule(loud: str) -> None:
    """It has no `section` of its own: automatic differentiation serves the acquisition with gradients by hand."""
    average, observations = average_over(beliefs=("uninformed", "shape", "aligned", loud)), observed(6)
    among = average.hypotheses
    # Some of every belief, whatever they are worth after these observations.
    first = {label.belief: row for row, label in reversed(list(enumerate(among.labels)))}
    last = {label.belief: row for row, label in enumerate(among.labels)}
    rows = torch.tensor(sorted({*first.values(), *last.values()}))
    assert loud in first
    processes, members = among.processes.take(rows), torch.arange(len(rows))
    model = MixtureOfProcesses(
        processes, torch.ones(len(rows)).double(), members, average.box, observations.X, observations.y
    )
    acquisition = LogExpectedImprovement(model, best_f=float(observations.y.max()))
    X = observed(9, seed=8).X.requires_grad_()
    values = acquisition(X[:, None])
    (slopes,) = torch.autograd.grad(values.sum(), X)
    found, gradients = make_closed_form(acquisition).evaluate_with_gradients(X.detach())
    torch.testing.assert_close(found, values.detach(), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(gradients, slopes, rtol=1e-7, atol=1e-8)


def test_the_average_predicts_with_it(loud: str) -> None:
    """Alone it is a Gaussian process with that kernel, so it follows what was observed."""
    average = average_over(beliefs=(loud,), alone=True)
    observations = observed(12)
    exact = Observations(observations.X, observations.y, noise_std=0.0)
    mean = average.fit(exact)[0].posterior(exact.X[:, None]).mixture_mean[:, 0]
    torch.testing.assert_close(mean, exact.y, rtol=0, atol=0.02)


# -- what is refused -----------------------------------------------------------------------------------


def test_an_unknown_name_is_refused_wherever_it_is_given() -> None:
    known = ", ".join(one.name for one in list_beliefs()[:5])
    with pytest.raises(InputError, match=f"There is no belief 'loud'; known are {known}"):
        get_belief("loud")
    with pytest.raises(InputError, match="There is no belief 'loud'"):
        forget("loud")
    with pytest.raises(InputError, match="There is no belief 'loud'"):
        average_over(beliefs=("uninformed", "loud"))
    with pytest.raises(InputError, match=f"prior must be one of {', '.join(list_prior_names())}; got 'loud'"):
        Optimizer(SPACE, old_data(rows=10), direction="maximize", transfer=TransferConfig(prior="loud"), seed=0)


def test_a_taken_name_is_refused(loud: str) -> None:
    before = list_beliefs()

    class Other(LoudBelief):
        """Another class of the same name."""

    class Impostor(KernelBelief):
        name = "aligned"

    for kind in (Other, Impostor):
        with pytest.raises(InputError, match=f"There is a belief '{kind.name}' already. Choose another name."):
            register(kind)
    assert list_beliefs() == before
    assert loud in [one.name for one in before]


def test_a_belief_without_a_kernel_says_what_is_missing() -> None:
    class Silent(KernelBelief):
        name = "silent"

    (known,) = average_over().sources
    with pytest.raises(
        NotImplementedError,
        match="Silent must define `make_kernel`, or `make_kernel_from_alpha` and `make_kernel_from_features`",
    ):
        Silent().make_kernel(known.fits[0])

    class OddFit:
        """A `Fit`, and of neither kind that there is."""

        kernel, lam = RBFKernel(), 0.1

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x.sum(-1)

    with pytest.raises(InputError, match="must be an AlphaFit or a FeatureFit; got OddFit"):
        get_belief("aligned").make_kernel(OddFit())
