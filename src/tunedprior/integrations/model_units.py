"""Settings, old data and bounds in the units that a BoTorch model computes in: after its input transform."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from botorch.models.transforms.input import InputTransform
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.checks import Numbers, check_responses, check_table
from tunedprior.errors import InputError
from tunedprior.integrations.old_tensors import OldSettings, infer_bounds, parse_old_sets


@dataclass(frozen=True, eq=False)
class ModelUnitData:
    """Old data sets, and the bounds of all settings that the model is to be asked about.

    Attributes:
        old: Settings and responses of each set, or what was learnt from it.
        edges: The lower ends and the upper ends; they hold the training data too.
    """

    old: list[OldSettings]
    edges: Float[Tensor, "2 d"]


class FrozenTransform(torch.nn.Module):
    """An input transform that learns nothing more, whatever mode the model around it is in."""

    def __init__(self, transform: InputTransform) -> None:
        super().__init__()
        self.transform = deepcopy(transform).eval()

    def train(self, mode: bool = True) -> "FrozenTransform":  # noqa: ARG002  # part of PyTorch's signature
        """Nothing changes."""
        return super().train(False)

    def forward(self, X: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d2"]:
        """X as the model computes with it."""
        seen: Tensor = self.transform(X)
        return seen


def convert_to_model_units(
    train_X: Float[Tensor, "*batch n d"], old: Any, bounds: Numbers | None, transform: InputTransform | None
) -> ModelUnitData:
    """What a model is given, all of it after the input transform."""
    sets = parse_old_sets(old)
    if transform is not None:
        _refuse_transform(sets, transform)
    trained = _apply_transform(transform, train_X.detach(), learning=True).flatten(0, -2)
    changed: list[OldSettings] = []
    for one in sets:
        if not isinstance(one, WeightPrior):
            X = check_table(one[0], "X_old", num_inputs=train_X.shape[-1]).to(train_X.device)
            one = _apply_transform(transform, X).cpu(), check_responses(one[1], X, "y_old").cpu()
        changed.append(one)
    if bounds is not None:
        ends = infer_bounds([train_X.detach().flatten(0, -2)], bounds).to(train_X)
        bounds = _apply_transform(transform, ends).sort(0).values.cpu()
    edges = infer_bounds([trained, *(one[0] for one in changed if isinstance(one, tuple))], bounds)
    inside = trained.cpu().double()
    if bounds is None and transform is not None:  # transforms bring search spaces onto the unit cube
        inside = torch.cat([inside, torch.zeros_like(edges[:1]), torch.ones_like(edges[:1])])
    every = torch.cat([edges, inside])
    return ModelUnitData(changed, torch.stack([every.amin(0), every.amax(0)]))


def _apply_transform(
    transform: InputTransform | None, X: Float[Tensor, "*batch n d"], learning: bool = False
) -> Float[Tensor, "*batch n d2"]:
    """X as the model computes with it; `learning` lets the transform take its ranges from X, as from training data."""
    if transform is None:
        return X
    with torch.no_grad():
        if learning:
            transform.to(X).train()
            seen: Tensor = transform(X)
        else:
            seen = transform.preprocess_transform(X)
    return seen


def _refuse_transform(sets: list[OldSettings], transform: InputTransform) -> None:
    if any(isinstance(one, WeightPrior) for one in sets):
        raise InputError(
            "A WeightPrior scales settings itself, in the units it was learnt in; got an input transform too. Leave "
            "input_transform out, or give the old data as (X_old, y_old)."
        )
    if any(parameter.requires_grad for parameter in transform.parameters()):
        raise InputError(
            f"What old data taught holds for fixed inputs; got the input transform {type(transform).__name__}, which "
            "learns from observations. Use one without parameters, such as Normalize."
        )
