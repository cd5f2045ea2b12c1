"""Example 1 of the paper, end to end: what the XOR table teaches about features.

Four points, labelled like exclusive-or. A support vector machine with a quadratic kernel learns that only the
product x₀x₁ matters, and the Theorem turns that into the prior of a Gaussian process. Three places where the paper's
text slips are marked and explained.

Run it with: python examples/01_xor.py
"""

import torch

from tunedprior.kernels import Polynomial
from tunedprior.kernels.weight_space import compute_weight_posterior
from tunedprior.machines import SupportVectorClassifier

corners = torch.tensor([[-1, -1], [1, -1], [-1, 1], [1, 1]], dtype=torch.float64)
labels = torch.tensor([-1, 1, 1, -1], dtype=torch.float64)

# K_m = (Σ_d x_d x'_d ⋯ + 1)², whose features are all monomials up to degree 2.
kernel = Polynomial(degree=2, offset=torch.tensor(1.0, dtype=torch.float64), num_inputs=2)
names = [
    "*".join(f"x{d}" for d, power in enumerate(i) for _ in range(power)) or "1" for i in kernel.list_multi_indices(2)
]
tau = kernel.compute_weights(2).detach()

trained = SupportVectorClassifier(lam=1.0).fit(kernel, corners, labels)
print("alpha            ", (trained.alpha * 8).round(decimals=9).tolist(), "/ 8")

# Slip 1. The paper says the trained model is +x0*x1. With the labels it prints, g(1, 1) must be negative: it is -x0*x1.
at_corner = trained(torch.ones(1, 2, dtype=torch.float64)).item()
print("g(1, 1)          ", round(at_corner, 9))

tuned = trained.make_reweighted_kernel()
tau_tuned = tuned.compute_weights(2).detach()
print("feature          ", names)
print("tau before       ", [round(t, 4) for t in tau.tolist()])
print("tau after        ", [round(t, 4) + 0.0 for t in tau_tuned.tolist()])

# Slip 2. The prior's covariance holds the squares of tau, so 1/2 for x0*x1. The paper prints 1/sqrt(2), tau itself.
print("prior variances  ", [round(t, 4) for t in (tau_tuned**2).tolist()])

# Slip 3. The paper reads tau ⊙ s as the model's coefficients in the features ϑ. They are tau² ⊙ s: here -1 for x0*x1,
# as g = -x0*x1 says, while the prior's standard deviation for that coefficient is |-1| / tau = 1/sqrt(2).
s = trained.alpha @ kernel.evaluate_features(corners, 2)
coefficients = (tau**2 * s).detach()
print("coefficients of g", [round(c, 4) + 0.0 for c in coefficients.tolist()])

# The re-weighted kernel is what the paper says: ½ x0 x1 x0' x1'.
x, y = torch.tensor([[0.5, -0.8]], dtype=torch.float64), torch.tensor([[0.3, 0.9]], dtype=torch.float64)
by_hand = 0.5 * x.prod().item() * y.prod().item()
print("K(x, x')         ", round(tuned.evaluate_m_kernel(x, y).item(), 9), "=", round(by_hand, 9))

# So one look at an objective that shares the feature, even with the sign turned round, settles it everywhere.
look = torch.tensor([[0.9, 0.9]], dtype=torch.float64)
posterior = compute_weight_posterior(tuned.evaluate_features(look, 2), tau_tuned, look.prod(-1), noise_variance=1e-6)
belief = posterior.mean @ tuned.evaluate_features(torch.tensor([[-1.0, 1.0]], dtype=torch.float64), 2)[0]
print("after one look at f = +x0*x1, the belief at (-1, 1) is", round(belief.item(), 4))
