"""What a model expects at settings, in the response's units."""

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from torch import Tensor

from tunedprior.acquisition.posterior import compute_miscalibration, predict_moments
from tunedprior.average.surrogate import Average
from tunedprior.campaign.composing import compute_feasibility_probability
from tunedprior.campaign.fitted import FittedModels, ResponseModel
from tunedprior.errors import InputError
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import LARGE, isolate_computation
from tunedprior.problem.aims import Goals
from tunedprior.problem.objective import Objective

#: The standard deviations within which 95 of 100 lie.
DEVIATIONS = 1.959963984540054


def predict_responses(fitted: FittedModels, codes: Float[Tensor, "n k"], aims: Goals) -> pd.DataFrame:
    """`mean`, `std` and `measured_std` of the response; of several, of each under its name.

    Where something is required or a run failed, `probability` is that of a run that works and meets all of it.
    """
    if len(aims.responses) == 1 and fitted.main in fitted.parts:
        table = predict_response(fitted.parts[fitted.main], aims.main, codes)
        if aims.requirements or fitted.success_model is not None:
            table["probability"] = compute_feasibility_probability(fitted, aims, codes).numpy()
        return table
    told = [one for one in aims.responses if one.name in fitted.parts]
    found = {one.name: predict_response(fitted.parts[one.name], one, codes) for one in told}
    if not found:
        raise InputError("There is nothing to predict from yet: every run failed. Tell at least one result first.")
    table = pd.concat(found, axis=1)
    if aims.requirements or fitted.success_model is not None:
        table["probability", ""] = compute_feasibility_probability(fitted, aims, codes).numpy()
    return table


def predict_interval(part: ResponseModel, response: Objective, codes: Float[Tensor, "n k"]) -> Float64[ndarray, "3 n"]:
    """Mean, and the ends of a 95 % interval of the response at settings, in its units and within its limits."""
    told = part.observations
    with isolate_computation(len(told) >= LARGE), torch.no_grad():
        mean, variance = predict_moments(part.model, codes)
        spread = DEVIATIONS * compute_miscalibration(part.model) * variance.clamp_min(0.0).sqrt()
    turned = torch.stack([mean, mean - response.sign * spread, mean + response.sign * spread]).numpy()
    found = response.sign * (told.shift + told.scale * turned)
    with np.errstate(over="ignore"):  # what is beyond all numbers is infinite
        return (np.exp(found) if response.log else found).clip(*part.limits)


def predict_response(part: ResponseModel, response: Objective, codes: Float[Tensor, "n k"]) -> pd.DataFrame:
    """`mean`, `std` and `measured_std` of one response, in its units.

    The last has the model's noise, and is larger where the model predicts its own observations worse than it says.
    Of a response that is modelled by its logarithm they are those of a log-normal distribution.
    """
    told = part.observations
    with isolate_computation(len(told) >= LARGE), torch.no_grad():
        mean, variance = predict_moments(part.model, codes)
        _, measured = predict_moments(part.model, codes, measured=True)
        factor = compute_miscalibration(part.model)
    middle = response.sign * (told.shift + told.scale * mean.numpy())
    spread = told.scale * variance.sqrt().numpy()
    measured_spread = factor * told.scale * measured.sqrt().numpy()
    if response.log:
        with np.errstate(over="ignore"):  # what is beyond all numbers is infinite
            wide = np.exp(middle + measured_spread**2 / 2) * np.sqrt(np.expm1(measured_spread**2))
            narrow = np.exp(middle + spread**2 / 2) * np.sqrt(np.expm1(spread**2))
            middle, spread, measured_spread = np.exp(middle + spread**2 / 2), narrow, wide
    return pd.DataFrame({"mean": middle.clip(*part.limits), "std": spread, "measured_std": measured_spread})


def predict_from_old_data(surrogate: Surrogate, codes: Float[Tensor, "n k"]) -> pd.DataFrame:
    """The same before the first result, from old data alone: its sign is open, so the mean is the same everywhere.

    Nothing is known of the response's units yet: those of the (first) old response stand for them.
    """
    if not isinstance(surrogate, Average) or not surrogate.sources:
        raise InputError("There is nothing to predict from yet. Tell at least one result first.")
    old = surrogate.sources[0]
    with isolate_computation(), torch.no_grad():
        std = old.units[0] * surrogate.compute_prior_variance(codes).sqrt().numpy()
    return pd.DataFrame({"mean": old.middle, "std": std, "measured_std": std})
