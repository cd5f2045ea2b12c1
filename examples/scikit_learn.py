"""Old data in scikit-learn's Gaussian process: the learnt kernel, next to a squared exponential one.

Run it with: python examples/scikit_learn.py
"""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from tunedprior.integrations.sklearn import TunedPriorKernel

rng = np.random.default_rng(0)
low, high = np.array([[20.0, 0.0], [80.0, 1.0]])  # a temperature and a concentration


def strength(X):
    """What is measured today."""
    return 40 * np.exp(-(((X[:, 0] - 57) / 12) ** 2)) * np.sin(3 * X[:, 1])


X_old = rng.uniform(low, high, (50, 2))
y_old = 7 - strength(X_old) / 3 + rng.normal(0, 0.2, 50)  # another response, which runs backwards
X = rng.uniform(low, high, (12, 2))
y = strength(X) + rng.normal(0, 0.2, 12)

rest = ConstantKernel(1.0, "fixed") + WhiteKernel(1e-3, "fixed")  # the mean, and the noise
kernels = {
    "with old data": TunedPriorKernel((X_old, y_old), within=[low, high]) + rest,
    "without": ConstantKernel(1.0, (1e-3, 1e5)) * RBF([10.0, 0.5], (1e-2, 1e3)) + rest,
}
everywhere = rng.uniform(low, high, (500, 2))
for name, kernel in kernels.items():
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
    error = np.sqrt(np.mean((process.predict(everywhere) - strength(everywhere)) ** 2))
    print(f"{name:14} error {error:5.2f}, of a response from 0 to 40, after {len(X)} runs")
