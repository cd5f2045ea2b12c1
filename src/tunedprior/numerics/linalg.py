"""Cholesky factors and linear systems (the only place that factorises matrices), and the marginal likelihood.

The evidence comes in two forms: with the amplitude integrated out (`compute_log_evidence`, which weighs hypotheses),
and maximised over the amplitude (`compute_profile_log_evidence`, which selects λ). The gradient of the first by
length-scales is in `hyperparameters`.
"""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import warn
from tunedprior.errors import FactorisationError, JitterWarning

# Jitter is relative to the mean of the diagonal: the same matrix in other units takes the same step.
_JITTER_LADDER = {
    torch.float64: (1e-12, 1e-10, 1e-8, 1e-6),
    torch.float32: (1e-7, 1e-6, 1e-5, 1e-4),
}

_NEGLIGIBLE = 1e-14  # relative to the largest eigenvalue
_POWER_STEPS = 10


def cholesky(
    matrix: Float[Tensor, "*batch n n"], diagonal: Float[Tensor, "*batch n"] | None = None
) -> Float[Tensor, "*batch n n"]:
    """L with L Lᵀ = matrix, or = matrix + jitter·I with a `JitterWarning` that names the jitter.

    Raises `FactorisationError` when the largest jitter does not help: the matrix is then not a
    covariance matrix, and adding more would change the model.

    Args:
        matrix: A covariance matrix.
        diagonal: What jitter is relative to (its mean is): the diagonal of the matrix, when left out. For a matrix that
            is the small difference of two large ones it is that of the large ones, which its rounding errors go with.
    """
    factor = try_cholesky(matrix)
    return _factorise_with_jitter(matrix, diagonal)[0] if factor is None else factor


def compute_jitter(matrix: Float[Tensor, "n n"]) -> float:
    """The jitter that `cholesky` adds to the diagonal, with a `JitterWarning`; 0 if none."""
    return float(_factorise_with_jitter(matrix, None)[1]) if try_cholesky(matrix) is None else 0.0


def _factorise_with_jitter(
    matrix: Float[Tensor, "*batch n n"], diagonal: Float[Tensor, "*batch n"] | None
) -> tuple[Float[Tensor, "*batch n n"], Float[Tensor, "*batch"]]:
    """L and the jitter it took, for a matrix that has no factor without."""
    if not torch.isfinite(matrix).all():
        bad = int((~torch.isfinite(matrix)).sum())
        raise FactorisationError(
            f"A covariance matrix must be finite; {bad} of {matrix.numel()} entries are not. "
            "Check the inputs and the kernel's parameters for overflow."
        )
    diagonal = matrix.diagonal(dim1=-2, dim2=-1) if diagonal is None else diagonal
    scale = diagonal.mean(-1).abs()[..., None]
    ladder = _JITTER_LADDER[matrix.dtype]
    for relative in ladder:
        jitter = (relative * scale).expand(matrix.shape[:-1])
        factor = try_cholesky(matrix + torch.diag_embed(jitter))
        if factor is not None:
            warn(
                f"Added {relative:g} of the mean diagonal as jitter to factorise a "
                f"{matrix.shape[-1]} x {matrix.shape[-1]} covariance matrix.",
                JitterWarning,
            )
            return factor, (relative * scale)[..., 0]
    smallest = float(torch.linalg.eigvalsh(matrix).min())
    raise FactorisationError(
        f"A covariance matrix must be positive semi-definite; the smallest eigenvalue of this "
        f"{matrix.shape[-1]} x {matrix.shape[-1]} one is {smallest:.3g}, and jitter of {ladder[-1]:g} of its mean "
        "diagonal did not help. Add noise (a larger λ), or remove near-identical points."
    )


def try_cholesky(matrix: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"] | None:
    """L with L Lᵀ = matrix, without jitter; None if a matrix of the batch is not positive definite up to rounding."""
    factor: Tensor
    factor, failed = torch.linalg.cholesky_ex(matrix)
    return None if failed.any() else factor


def compute_cholesky_corner(
    explained: Float[Tensor, "*batch n m"],
    corner: Float[Tensor, "*batch2 m m"],
    may_fail: bool = False,
) -> Float[Tensor, "*batch m m"] | None:
    """C with [[L, 0], [Eᵀ, C]] the Cholesky factor of [[R, B], [Bᵀ, corner]], given E = L⁻¹B (`explained`) for R = LLᵀ.

    C is the factor of the Schur complement corner - EᵀE, with jitter relative to the corner if need be; with `may_fail`
    None instead of jitter.
    """
    left = corner - explained.mT @ explained
    return try_cholesky(left) if may_fail else cholesky(left, corner.diagonal(dim1=-2, dim2=-1))


def solve_posdef(
    matrix: Float[Tensor, "*batch n n"], right: Float[Tensor, "*batch n k"]
) -> Float[Tensor, "*batch n k"]:
    """matrix⁻¹ right, for a positive definite matrix."""
    return torch.cholesky_solve(right, cholesky(matrix))


def append_qr_rows(triangle: Float[Tensor, "p p"], rows: Float[Tensor, "n p"]) -> Float[Tensor, "p p"]:
    """R, upper triangular, with RᵀR = TᵀT + XᵀX for a triangle T and rows X, and no negative number on its diagonal.

    By Householder's QR, with an error of rounding relative to each column of X: in XᵀX it would be squared.
    """
    joined: Tensor = torch.linalg.qr(torch.cat([triangle, rows]), mode="r").R
    return joined * torch.where(joined.diagonal() < 0, -1.0, 1.0)[:, None]


def compute_largest_inverse_eigenvalue(factor: Float[Tensor, "p p"]) -> float:
    """The largest eigenvalue of (LLᵀ)⁻¹ for a Cholesky factor L, by a few steps of the power method."""
    vector = torch.ones_like(factor[:, :1]) + torch.linspace(0, 1, len(factor)).to(factor)[:, None]
    size = 0.0
    for _ in range(_POWER_STEPS):
        vector = torch.cholesky_solve(vector / vector.norm(), factor)
        size = float(vector.norm())
    return size


def compute_symmetric_root(matrix: Float[Tensor, "p p"]) -> Float[Tensor, "p r"]:
    """W with WWᵀ = matrix, for a positive semi-definite matrix, without columns that are zero up to rounding."""
    values, vectors = torch.linalg.eigh(matrix)
    kept = values > _NEGLIGIBLE * values.max()
    root: Tensor = vectors[:, kept] * values[kept].sqrt()
    return root


def compute_log_evidence(
    diagonal: Float[Tensor, "*batch n"], white: Float[Tensor, "*batch n 1"], certainty: float | Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """log ∫ N(y; 0, a LLᵀ) p(a) da + n/2 log 2π, where white = L⁻¹y and a ~ inverse gamma(c, c).

    Args:
        diagonal: The diagonal of the Cholesky factor L.
        white: L⁻¹y.
        certainty: c; the prior weighs as much as 2c observations of amplitude 1.
    """
    prior = torch.as_tensor(certainty).to(white)
    posterior = prior + white.shape[-2] / 2
    misfit = prior + white.square().sum((-2, -1)) / 2
    constant = prior * prior.log() - torch.lgamma(prior) + torch.lgamma(posterior)
    evidence: Tensor = constant - diagonal.log().sum(-1) - posterior * misfit.log()
    return evidence


def compute_amplitude(
    white: Float[Tensor, "*batch n 1"], certainty: Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """1/E[1/a | y] = m/c', where a | y ~ inverse gamma(c', m), c' = c + n/2 and m = c + |L⁻¹y|²/2."""
    misfit: Tensor = certainty + white.square().sum((-2, -1)) / 2
    return misfit / (certainty + white.shape[-2] / 2)


def compute_profile_log_evidence(log_determinant: float, misfit: float, count: int) -> float:
    """max over a of log N(y; 0, a R) = -½ log|R| - n/2 log(yᵀR⁻¹y/n) + const, without the constant.

    Args:
        log_determinant: log|R|.
        misfit: yᵀR⁻¹y.
        count: n.
    """
    return -log_determinant / 2 - count / 2 * log(misfit / count)
