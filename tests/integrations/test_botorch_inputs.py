"""What BoTorch models with old data take, and what they refuse."""

import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize
from botorch.models.transforms.input import Warp
from gpytorch.mlls import ExactMarginalLogLikelihood

from support.builders import vector
from support.errors import raises
from support.tensors import (
    BOUNDS,
    OLD,
    X_OLD,
    X,
    Y,
    ensemble,
    gp,
    mean_of,
    same_predictions,
)
from tunedprior.errors import DomainError, InputError, OldDataWarning
from tunedprior.integrations.botorch import TunedPriorGP, pretrain_on_tensors


def test_without_bounds_the_unit_cube_or_the_range_of_all_settings_is_the_box() -> None:
    inside = [0.1 + 0.8 * (points - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0]) for points in (X, X_OLD)]
    unit = TunedPriorGP(inside[0], Y, old=(inside[1], OLD[1]))
    assert torch.isfinite(unit.posterior(vector([[0.0, 1.0], [1.0, 0.0]])).mean).all()
    model = TunedPriorGP(X, Y, old=OLD)
    with pytest.raises(DomainError, match=r"column 0.*got 10.5 to 10.5.*bounds that hold"):
        model.posterior(vector([[10.5, 0.0]]))


def test_what_was_learnt_beforehand_brings_its_bounds() -> None:
    model = TunedPriorGP(X, Y, old=pretrain_on_tensors(*OLD, BOUNDS))
    assert torch.isfinite(model.posterior(BOUNDS).mean).all()
    with pytest.raises(DomainError, match="column 0"):
        model.posterior(vector([[10.5, 0.0]]))
    with raises(InputError, "2 inputs", "1 column"):
        TunedPriorGP(X[:, :1], Y, old=pretrain_on_tensors(*OLD, BOUNDS))


def test_training_data_beyond_the_bounds_widens_the_box() -> None:
    model = TunedPriorGP(torch.cat([X, vector([[12.0, 0.0]])]), torch.cat([Y, Y[:1]]), old=OLD, bounds=BOUNDS)
    assert torch.isfinite(model.posterior(vector([[11.9, 0.0]])).mean).all()


def test_old_data_that_says_nothing_leaves_a_plain_process() -> None:
    with pytest.warns(OldDataWarning, match="Going on without"):
        model = gp(old=(X_OLD, torch.ones(30)))
    plain = SingleTaskGP(X, Y, input_transform=Normalize(2, bounds=BOUNDS))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(plain.likelihood, plain))
    same_predictions(model, plain, rtol=1e-2)
    with pytest.warns(OldDataWarning, match="Going on without"):
        assert torch.isfinite(mean_of(ensemble(old=(X_OLD, torch.ones(30))))).all()


def test_what_cannot_be_used_is_refused() -> None:
    wrong = [
        ({"old": None}, ("(X_old, y_old)",)),
        ({"old": []}, ("empty list",)),
        ({"old": [X_OLD, OLD]}, ("(X_old, y_old)",)),
        ({"old": (X_OLD[:, :1], OLD[1])}, ("2 inputs",)),
        ({"old": (X_OLD, OLD[1][:-1])}, ("one number",)),
        ({"bounds": BOUNDS.T[:, :1]}, ("bounds", "two rows of 2")),
        ({"bounds": BOUNDS.flip(0)}, ("bounds", "above")),
        ({"prior": "average"}, ("prior", "one of")),
        ({"Y": torch.cat([Y, Y], dim=1)}, ("ModelListGP",)),
        ({"input_transform": Warp(2, indices=[0, 1])}, ("input transform", "Warp", "observations")),
        (
            {"old": pretrain_on_tensors(*OLD, BOUNDS), "input_transform": Normalize(2)},
            ("WeightPrior", "scales settings"),
        ),
    ]
    for options, facts in wrong:
        with raises(InputError, *facts):
            gp(fitted=False, **options)
    with pytest.raises(InputError, match="needs \\(X_old, y_old\\)"):
        ensemble(old=pretrain_on_tensors(*OLD, BOUNDS))


def test_what_was_learnt_can_be_given_instead_of_old_data() -> None:
    same_predictions(gp(old=pretrain_on_tensors(*OLD, BOUNDS)), gp())
    same_predictions(gp(old=list(OLD)), gp())


@pytest.mark.parametrize("model", [gp, ensemble])
def test_a_vector_of_observations_is_said_to_be_one(model) -> None:
    with pytest.raises(InputError, match=rf"n x 1.* got shape \({len(Y)},\)\. Write train_Y\.unsqueeze\(-1\)"):
        model(X=X, Y=Y.squeeze(-1))
