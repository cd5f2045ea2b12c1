"""The process of Algorithm 1's second half: where it looks, and how large it is before it is fitted."""

import pytest
import torch

from support.builders import PLANT, observed, plant_data
from support.cases import table
from tunedprior import pretrain
from tunedprior.errors import InputError
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.tuned_prior import TunedPrior


@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_the_prior_variance_is_the_amplitude_on_average_over_the_box(unit_diagonal: bool) -> None:
    prior = pretrain(plant_data().assign(y=lambda old: 1000 * old["y"]), PLANT)
    model = TunedPrior(prior, unit_diagonal)(observed(6))
    inputs = model.input_transform(table(3000, 2, low=-1.0, high=1.0))
    mean = model.covar_module(inputs, diag=True).mean() / model.covar_module.outputscale
    assert mean.item() == pytest.approx(1.0, rel=0.05)
    assert inputs.abs().max() <= prior.reach


def test_a_unit_diagonal_takes_an_alpha_for_each_row() -> None:
    """Features are right to a share of the mean variance, and a unit diagonal divides by variances far below that."""
    old = plant_data(30)
    many = pretrain(old.assign(y=old["y"] / old["y"].abs().max()), PLANT, as_printed=True, rows_with_alpha=20)
    assert len(many.alpha) == 0
    with pytest.raises(InputError, match=r"an α for each of 500 rows at most. This one has none. Learn from fewer"):
        TunedPrior(many, unit_diagonal=True)


def test_the_standard_process_lives_in_the_unit_cube() -> None:
    model = StandardSurrogate(Box.enclose(Space.parse(PLANT)))(observed(6))
    X = torch.tensor([[-1.0, 1.0], [0.0, 0.5]], dtype=torch.float64)
    assert model.input_transform(X).tolist() == [[0.0, 1.0], [0.5, 0.75]]
