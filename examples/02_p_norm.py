"""The m-kernel trick's own example: a machine with a p-norm, trained by evaluations of K_4 alone.

With 1/p + 1/m = 1 and m even, here m = 4 and p = 4/3, the machine solves

    primal  min over w of 1/p sum_i |w_i|^p + 1/(2 lam) sum_j (y_j - w.phi(a_j))^2
    dual    min over alpha of 1/m sum_jkln alpha_j alpha_k alpha_l alpha_n K_4(a_j, a_k, a_l, a_n)
                              + lam/2 alpha.alpha - alpha.y

with the features phi = tau^(2/m) ⊙ ϑ. Where the gradient of the primal is zero, sign(w) |w|^(p-1) = s with
s = sum_j alpha_j phi(a_j) and lam alpha = y - g. So w = s^(m-1), the dual's first term is 1/m sum_i s_i^m, and
g(x) = sum_jkl alpha_j alpha_k alpha_l K_4(a_j, a_k, a_l, x). The features never appear in the dual; here they are few,
and the primal is solved as well.

Run it with: python examples/02_p_norm.py
"""

import numpy as np
import torch
from scipy.optimize import approx_fprime, minimize

from tunedprior.beliefs import AlignedKernel
from tunedprior.kernels import Polynomial, ReweightedKernel
from tunedprior.machines import LeastSquares

LAM, P = 1e-3, 4 / 3
random = torch.Generator().manual_seed(0)
old, new = (2 * torch.rand(rows, 3, generator=random, dtype=torch.float64) - 1 for rows in (14, 500))
y, truth = (3 * x[:, 0] * x[:, 1] - 2 * x[:, 2] for x in (old, new))

# 14 rows and 20 features, all monomials of three inputs up to degree 3; two of them matter.
kernel = Polynomial(degree=3, offset=torch.tensor(1.0, dtype=torch.float64), num_inputs=3).requires_grad_(False)
names = [
    "*".join(f"x{d}" for d, power in enumerate(i) for _ in range(power)) or "1" for i in kernel.list_multi_indices(3)
]
tau, theta, right = kernel.compute_weights(3), kernel.evaluate_features(old, 3), y.numpy()
k4 = kernel.evaluate_m_kernel(old, old, old, old).numpy()


def dual(alpha: np.ndarray) -> tuple[float, np.ndarray]:
    """The dual and its gradient, K_4(a_j, ., ., .) summed over three rows + lam alpha - y."""
    summed = k4 @ alpha @ alpha @ alpha
    return alpha @ (summed / 4 + LAM / 2 * alpha - right), summed + LAM * alpha - right


def hessian(alpha: np.ndarray) -> np.ndarray:
    """3 K^A_2 + lam I: K_4 summed over two rows is the kernel of the paper's Theorem."""
    return 3 * k4 @ alpha @ alpha + LAM * np.eye(len(alpha))


def primal(w: np.ndarray, phi: np.ndarray) -> tuple[float, np.ndarray]:
    """The primal and its gradient, in explicit features."""
    missed = right - phi @ w
    value = (np.abs(w) ** P).sum() / P + missed @ missed / (2 * LAM)
    return value, np.sign(w) * np.abs(w) ** (P - 1) - phi.T @ missed / LAM


somewhere = np.linspace(-1, 1, len(old))
differences = approx_fprime(somewhere, lambda alpha: dual(alpha)[0], 1e-7)
print(f"gradient off by    {np.abs(differences / dual(somewhere)[1] - 1).max():.0e}")

usual = LeastSquares(LAM).fit(kernel, old, y)  # p = m = 2: the dual is ridge regression's
solved = minimize(dual, usual.alpha.numpy(), jac=True, hess=hessian, method="trust-exact", options={"gtol": 1e-8})
alpha = torch.as_tensor(solved.x)
phi = kernel.evaluate_implied_features(old, 3, 4).numpy()
precise = {"maxiter": 10_000, "maxcor": 50, "ftol": 1e-15, "gtol": 1e-9}
direct = minimize(primal, np.zeros(len(names)), args=(phi,), jac=True, method="L-BFGS-B", options=precise)
print(f"dual = primal      {-solved.fun:.6f} = {direct.fun:.6f}")
print(f"weights off by     {np.abs((phi.T @ solved.x) ** 3 - direct.x).max():.0e}")

# What the p-norm does: coefficients of the monomials, of both machines. The same lam; both fit the rows.
s2, s4 = theta.mT @ usual.alpha, theta.mT @ alpha
for label, coefficients in (("p = 2", tau**2 * s2), ("p = 4/3", tau**2 * s4**3)):
    told = {name: round(c, 2) + 0.0 for name, c in zip(names, coefficients.tolist(), strict=True)}
    others = max(abs(c) for name, c in told.items() if name not in ("x2", "x0*x1"))
    error = (kernel.evaluate_features(new, 3) @ coefficients - truth).square().mean().sqrt()
    print(f"{label:18} {told['x0*x1']} x0*x1, {told['x2']} x2, others up to {others}; error {error:.3f}")

# The re-weighted kernel is in it: where the dual's gradient is zero, (K^A_2 + lam I) alpha = y. The machine is ridge
# regression with the kernel that its own alpha re-weights; Algorithm 1 re-weights with the alpha of p = 2 instead.
own = ReweightedKernel(kernel, old, alpha)(old).to_dense()
print(f"fixed point off by {(own @ alpha + LAM * alpha - y).abs().max():.0e}")

# A moment function is an m-kernel whose features are the draws f of a process: M_4(a, a', x, x') is the mean of
# f(a) f(a') f(x) f(x'). For f ~ GP(0, K_2), M_2 is K_2 again, and M_4 has a term for each of three pairings,
# K_2(a, a') K_2(x, x') + K_2(a, x) K_2(a', x') + K_2(a, x') K_2(a', x). Re-weighted with alpha, the first is
# |g|^2 K_2(x, x'), which has learnt nothing, and each of the others g(x) g(x'): the objective is a multiple of g.
# The belief "aligned" is that, plus what the rows left open of g.
x, z = new[:1], new[1:2]
gram, at_x, at_z, between = (kernel(*both).to_dense() for both in ((old, old), (old, x), (old, z), (x, z)))
pairings = gram * between + at_x @ at_z.mT + at_z @ at_x.mT
norm = usual.alpha @ gram @ usual.alpha
by_moments = (usual.alpha @ pairings @ usual.alpha - norm * between.item()) / 2
print(f"g(x) g(x')         {(usual(x) * usual(z)).item():.6f} = {by_moments.item():.6f} by moments")
ridge = gram + LAM * torch.eye(len(old), dtype=torch.float64)
left_open = (usual.alpha @ ridge @ usual.alpha / len(old)) * (between - at_x.mT @ torch.linalg.solve(ridge, at_z))
aligned = AlignedKernel(kernel, old, usual.alpha, LAM)(x, z).to_dense()
print(f"aligned            {aligned.item():.6f} = moments + {left_open.item():.6f} left open")
