"""The mean less two standard deviations."""

from botorch.acquisition import AnalyticAcquisitionFunction
from botorch.utils.transforms import average_over_ensemble_models, t_batch_mode_transform

from tunedprior.acquisition.functions import register_acquisition


@register_acquisition("cautious")
class Cautious(AnalyticAcquisitionFunction):
    """µ(x) - 2σ(x)."""

    @t_batch_mode_transform(expected_q=1)
    @average_over_ensemble_models
    def forward(self, X):
        posterior = self.model.posterior(X)
        return (posterior.mean - 2 * posterior.variance.sqrt())[..., 0, 0]
