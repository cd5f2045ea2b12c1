"""Slow answers to compare with: plain loops over Python numbers, nothing imported from the package.

Kernel functions take a list of m points (each a list of numbers) and work on complex numbers too, so that
`gradient` can differentiate them by a complex step, exact to rounding.
"""

import cmath
import decimal
import itertools
import math


def _products(points):
    """The elementwise product of all points: one number per input."""
    return [math.prod(point[d] for point in points) for d in range(len(points[0]))]


# -- Table 1, and the two constructions ------------------------------------------------------------


def linear(points):
    return sum(_products(points))


def polynomial(points, degree, offset):
    return (sum(_products(points)) + offset) ** degree


def sinh(points, scale):
    return cmath.sinh(scale * sum(_products(points)))


def exponential(points, scale):
    return cmath.exp(scale * sum(_products(points)))


def log_ratio(points):
    return math.prod(cmath.log((1 + p) / (1 - p)) for p in _products(points))


def squared_exponential(points, lengthscales):
    exponent = 0.0
    for d, p in enumerate(_products(points)):
        nu = lengthscales[d] ** -2
        exponent += nu * p - nu / 2 * sum(point[d] ** 2 for point in points)
    return cmath.exp(exponent)


def stationary_squared_exponential(points, lengthscales, steps=400, reach=9.0):
    """c ∫ ϑ_ω(x₁)⋯ϑ_ω(x_m) dω with ϑ_ω(x) = exp(-((x - ω)/ℓ)²) and c = √(2/π)/ℓ, input by input, by quadrature."""
    total = 1.0
    for d, ell in enumerate(lengthscales):
        centre = sum(complex(point[d]).real for point in points) / len(points)
        step = 2 * reach * ell / steps
        integral = 0.0
        for k in range(steps + 1):
            place = centre - reach * ell + k * step
            integral += cmath.exp(-sum(((point[d] - place) / ell) ** 2 for point in points)) * step
        total *= math.sqrt(2 / math.pi) / ell * integral
    return total


def reweighted_by_places(points, anchors, alpha, lengthscales, steps=60, reach=6.0):
    """c ∫ s(ω)² ϑ_ω(x₁)⋯ϑ_ω(x_m) dω with s(ω) = Σ_j α_j ϑ_ω(a_j), by quadrature over a box of places."""
    axes, cell = [], 1.0
    for d, ell in enumerate(lengthscales):
        centre = sum(point[d] for point in points) / len(points)
        step = 2 * reach * ell / steps
        axes.append([centre - reach * ell + k * step for k in range(steps + 1)])
        cell *= step * math.sqrt(2 / math.pi) / ell
    total = 0.0
    for place in itertools.product(*axes):
        theta = [stationary_feature(point, place, lengthscales) for point in points]
        s = sum(a * stationary_feature(anchor, place, lengthscales) for a, anchor in zip(alpha, anchors, strict=True))
        total += cell * s**2 * math.prod(theta)
    return total


def stationary_feature(point, place, lengthscales):
    return math.exp(-sum(((x - w) / ell) ** 2 for x, w, ell in zip(point, place, lengthscales, strict=True)))


def dot_product(points, coefficients):
    chi = sum(_products(points))
    return sum(xi * chi**q for q, xi in enumerate(coefficients))


def direct_product(points, coefficients):
    return math.prod(sum(xi * p**q for q, xi in enumerate(coefficients)) for p in _products(points))


def reweighted(kernel, points, anchors, alpha):
    total = 0
    for a_j, alpha_j in zip(anchors, alpha, strict=True):
        for a_k, alpha_k in zip(anchors, alpha, strict=True):
            total += alpha_j * alpha_k * kernel([a_j, a_k, *points])
    return total


# -- features and weights ------------------------------------------------------------------------------


def indices(num_inputs, max_degree):
    """Every multi-index of total degree ≤ max_degree, in no particular order."""
    everything = itertools.product(range(max_degree + 1), repeat=num_inputs)
    return [index for index in everything if sum(index) <= max_degree]


def dot_product_squared_weight(index, xi):
    degree = sum(index)
    return math.factorial(degree) / math.prod(math.factorial(i) for i in index) * xi(degree)


def direct_product_squared_weight(index, xi):
    return math.prod(xi(i) for i in index)


def squared_exponential_squared_weight(index, lengthscales):
    return math.prod(ell ** (-2 * i) / math.factorial(i) for ell, i in zip(lengthscales, index, strict=True))


def monomial(point, index):
    return math.prod(x**i for x, i in zip(point, index, strict=True))


def squared_exponential_feature(point, index, lengthscales):
    envelope = math.exp(-sum((x / ell) ** 2 for x, ell in zip(point, lengthscales, strict=True)) / 2)
    return monomial(point, index) * envelope


# -- tables and derivatives ----------------------------------------------------------------------------


def every_choice(kernel, tables):
    """kernel at every choice of one row from each table, as {(i_1, …, i_m): value}."""
    ranges = [range(len(table)) for table in tables]
    return {
        choice: complex(kernel([table[i] for table, i in zip(tables, choice, strict=True)])).real
        for choice in itertools.product(*ranges)
    }


def gradient(kernel, points, which):
    """∂kernel/∂points[which], by a complex step."""
    step = 1e-40
    result = []
    for d in range(len(points[which])):
        moved = [list(point) for point in points]
        moved[which][d] += 1j * step
        result.append(complex(kernel(moved)).imag / step)
    return result


# -- beliefs -------------------------------------------------------------------------------------------


def l4(points, squared_weight, feature, max_degree):
    """Σ_i τ_i⁴ ϑ_i(x₁)ϑ_i(x₂)ϑ_i(x₃)ϑ_i(x₄) up to a total degree."""
    return sum(
        squared_weight(index) ** 2 * math.prod(feature(point, index) for point in points)
        for index in indices(len(points[0]), max_degree)
    )


def squared_exponential_l4(points, lengthscales, terms=60):
    """exp(-½ ΣΣ ν_d x²) Π_d Σ_k (ν_d² x₁_d⋯x₄_d)^k/(k!)²."""
    total = 1.0
    for d, p in enumerate(_products(points)):
        nu = lengthscales[d] ** -2
        series, term = 0.0, 1.0
        for k in range(terms):
            series += term
            term *= nu**2 * p / (k + 1) ** 2
        total *= series * cmath.exp(-nu / 2 * sum(point[d] ** 2 for point in points))
    return total


def ridge_inverse(kernel, anchors, lam):
    """M = (K_A + λI)⁻¹, a list of rows (or of columns: it is symmetric)."""
    gram = [[complex(kernel([a, b])).real for b in anchors] for a in anchors]
    unit = [[float(i == j) for j in range(len(anchors))] for i in range(len(anchors))]
    return [ridge(gram, row, lam) for row in unit]


def prior_variance(kernel, anchors, alpha, lam):
    """s_f² = αᵀ(K_A + λI)α/|A|."""
    total = 0.0
    for j, a_j in enumerate(anchors):
        for k, a_k in enumerate(anchors):
            total += alpha[j] * alpha[k] * (complex(kernel([a_j, a_k])).real + (lam if j == k else 0.0))
    return total / len(anchors)


def matched(four, points, anchors, alpha):
    """Σ_jk α_jα_k L₄: the loop of the Theorem, with L₄ for K₄."""
    return reweighted(four, points, anchors, alpha)


def uncertain(kernel, four, points, anchors, alpha, lam):
    """s_f² K₂ + Σ_jk (α_jα_k - s_f² M_jk) L₄."""
    variance, inverse = prior_variance(kernel, anchors, alpha, lam), ridge_inverse(kernel, anchors, lam)
    total = variance * kernel(points)
    for j, a_j in enumerate(anchors):
        for k, a_k in enumerate(anchors):
            total += (alpha[j] * alpha[k] - variance * inverse[j][k]) * four([a_j, a_k, *points])
    return total


def aligned(kernel, points, anchors, alpha, lam):
    """ĝ(x)ĝ(x') + s_f² (K₂(x, x') - k(x)ᵀ M k(x'))."""
    variance, inverse = prior_variance(kernel, anchors, alpha, lam), ridge_inverse(kernel, anchors, lam)
    x, z = points
    left = [kernel([a, x]) for a in anchors]
    right = [kernel([a, z]) for a in anchors]
    known = sum(left[j] * inverse[j][k] * right[k] for j in range(len(anchors)) for k in range(len(anchors)))
    g_x = sum(a * k for a, k in zip(alpha, left, strict=True))
    g_z = sum(a * k for a, k in zip(alpha, right, strict=True))
    return g_x * g_z + variance * (kernel(points) - known)


# -- machines ------------------------------------------------------------------------------------------


def solve(matrix, right):
    """Gaussian elimination with pivoting; None when singular."""
    rows = [[*row, r] for row, r in zip(matrix, right, strict=True)]
    n = len(rows)
    for column in range(n):
        pivot = max(range(column, n), key=lambda row: abs(rows[row][column]))
        if abs(rows[pivot][column]) < 1e-12:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(n):
            if row != column:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def box_qp(quadratic, linear_term, upper):
    """The minimiser of ½ βᵀQβ + cᵀβ in [0, upper]ⁿ, by trying every set of active bounds."""
    n = len(linear_term)
    best = None
    for state in itertools.product(("low", "free", "high"), repeat=n):
        beta = [upper if s == "high" else 0.0 for s in state]
        free = [i for i in range(n) if state[i] == "free"]
        if free:
            right = [-linear_term[i] - sum(quadratic[i][j] * beta[j] for j in range(n)) for i in free]
            found = solve([[quadratic[i][j] for j in free] for i in free], right)
            if found is None or any(not -1e-12 <= value <= upper + 1e-12 for value in found):
                continue
            for i, value in zip(free, found, strict=True):
                beta[i] = value
        value = sum(
            beta[i] * (linear_term[i] + 0.5 * sum(quadratic[i][j] * beta[j] for j in range(n))) for i in range(n)
        )
        if best is None or value < best[0]:
            best = (value, beta)
    return best[1]


def ridge(gram, y, lam):
    n = len(y)
    return solve([[gram[i][j] + (lam if i == j else 0.0) for j in range(n)] for i in range(n)], y)


def subset_ridge(gram, y, lam, kept):
    """α and J = ‖y - K_AS α‖² + λ αᵀK_S α at its least, for the rows `kept`."""
    moments = [[sum(row[i] * row[j] for row in gram) + lam * gram[i][j] for j in kept] for i in kept]
    right = [sum(row[i] * value for row, value in zip(gram, y, strict=True)) for i in kept]
    alpha = solve(moments, right)
    residuals = [
        value - sum(a * row[j] for a, j in zip(alpha, kept, strict=True)) for row, value in zip(gram, y, strict=True)
    ]
    norm = sum(a * b * gram[i][j] for a, i in zip(alpha, kept, strict=True) for b, j in zip(alpha, kept, strict=True))
    return alpha, sum(r * r for r in residuals) + lam * norm


def pruned_rows(gram, y, lam, most):
    """Rows added one by one, half as many again as wanted, then removed one by one: always refitted, always least J."""
    kept = []
    while len(kept) < int(1.5 * most):
        others = [row for row in range(len(y)) if row not in kept]
        kept = min(([*kept, row] for row in others), key=lambda some: subset_ridge(gram, y, lam, some)[1])
    while len(kept) > most:
        fewer = [[row for row in kept if row != left_out] for left_out in kept]
        kept = min(fewer, key=lambda some: subset_ridge(gram, y, lam, some)[1])
    return sorted(kept)


def subset_process(kernel, points, y, lam, kept):
    """q(x)ᵀ(Q + λI)⁻¹q(x') as a function, and yᵀ(Q + λI)⁻¹y/n, for the process q = k_S(x)ᵀK_S⁻¹k_S(x') on all rows."""

    def number(*pair):
        return complex(kernel(list(pair))).real

    chosen = [points[row] for row in kept]
    gram = [[number(a, b) for b in chosen] for a in chosen]

    def q(x, z):
        right = [number(a, z) for a in chosen]
        return sum(number(a, x) * share for a, share in zip(chosen, solve(gram, right), strict=True))

    n = len(points)
    ridged = [[q(points[i], points[j]) + (lam if i == j else 0.0) for j in range(n)] for i in range(n)]
    signal = sum(a * b for a, b in zip(y, solve(ridged, y), strict=True)) / n

    def explained(x, z):
        right = solve(ridged, [q(a, z) for a in points])
        return sum(q(a, x) * share for a, share in zip(points, right, strict=True))

    return explained, signal


def normal_equations(points, y, indices, lengthscales):
    """Σ_j φ(a_j)φ(a_j)ᵀ and Σ_j φ(a_j)y_j of a squared exponential, row by row."""
    gram, moment = [[0.0] * len(indices) for _ in indices], [0.0] * len(indices)
    tau = [math.sqrt(squared_exponential_squared_weight(index, lengthscales)) for index in indices]
    for point, response in zip(points, y, strict=True):
        phi = [tau[i] * squared_exponential_feature(point, index, lengthscales) for i, index in enumerate(indices)]
        for i, one in enumerate(phi):
            moment[i] += one * response
            gram[i] = [total + one * other for total, other in zip(gram[i], phi, strict=True)]
    return gram, moment


# -- Algorithm 1 in as many digits as are asked for -----------------------------------------------------


def decimal_kernel(kind, parameter):
    """A kernel of Table 1 for points of `decimal.Decimal`s, by its name; ν = 1/parameter² for the first."""

    def kernel(points):
        products, one = _products(points), decimal.Decimal(1)
        if kind == "squared exponential":
            squares = sum(x * x for point in points for x in point)
            return ((sum(products) - squares / 2) / parameter**2).exp()
        if kind == "polynomial":
            return (sum(products) + parameter) ** 4
        if kind == "exponential":
            return (sum(products) * parameter).exp()
        if kind == "sinh":
            power = (sum(products) * parameter).exp()
            return (power - one / power) / 2
        return math.prod(((one + p) / (one - p)).ln() for p in products)  # log ratio

    return kernel


def exact_reweighted(kind, parameter, anchors, y, lam, pairs, digits=50):
    """Σ_jk α_jα_k K₄(a_j, a_k, x, x') with α = (K + λI)⁻¹y for each pair (x, x'), as floats.

    Every number is that of the float it was given as; elimination without pivots will do, as the matrix is positive
    definite, and loses no more digits than its condition has.
    """
    with decimal.localcontext() as context:
        context.prec = digits
        exact = lambda row: [decimal.Decimal(float(value)) for value in row]  # noqa: E731
        kernel = decimal_kernel(kind, None if parameter is None else decimal.Decimal(float(parameter)))
        anchors, alpha, lam = [exact(row) for row in anchors], exact(y), decimal.Decimal(float(lam))
        n = len(anchors)
        matrix = [[kernel([a, b]) for b in anchors] for a in anchors]
        for i in range(n):
            matrix[i][i] += lam
        for i in range(n):
            for below in range(i + 1, n):
                factor = matrix[below][i] / matrix[i][i]
                for j in range(i, n):
                    matrix[below][j] -= factor * matrix[i][j]
                alpha[below] -= factor * alpha[i]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                alpha[i] -= matrix[i][j] * alpha[j]
            alpha[i] /= matrix[i][i]
        return [float(reweighted(kernel, [exact(x), exact(z)], anchors, alpha)) for x, z in pairs]


# -- Gaussian processes --------------------------------------------------------------------------------


def distance(x, z, lengthscales):
    return math.sqrt(sum(((a - b) / ell) ** 2 for a, b, ell in zip(x, z, lengthscales, strict=True)))


def stationary(kind, lengthscales):
    """The kernel k(x, z) with variance 1, by its name."""
    shapes = {
        "squared exponential": lambda r: math.exp(-(r**2) / 2),
        "matern 1/2": lambda r: math.exp(-r),
        "matern 3/2": lambda r: (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r),
        "matern 5/2": lambda r: (1 + math.sqrt(5) * r + 5 * r**2 / 3) * math.exp(-math.sqrt(5) * r),
    }
    return lambda x, z: shapes[kind](distance(x, z, lengthscales))


def gp_posterior(kernel, X, y, noise, mean, x):
    """Mean and variance of f(x), given y_i = f(X_i) + ε_i, ε_i ~ N(0, noise_i), and prior mean mean(x)."""
    n = len(y)
    gram = [[kernel(X[i], X[j]) + (noise[i] if i == j else 0.0) for j in range(n)] for i in range(n)]
    cross = [kernel(x, X[i]) for i in range(n)]
    weights = solve(gram, [y[i] - mean(X[i]) for i in range(n)])
    shadow = solve(gram, cross)
    centre = mean(x) + sum(c * w for c, w in zip(cross, weights, strict=True))
    return centre, kernel(x, x) - sum(c * s for c, s in zip(cross, shadow, strict=True))


def process(kernels, shares, constant):
    """k(x, z) = c + Σ_r h_r K_r(x, z)."""
    return lambda x, z: (
        constant + sum(share * kernel(x, z) for kernel, share in zip(kernels, shares, strict=True) if share)
    )


def joint_posterior(kernel, X, y, noise, amplitude, points):
    """Means and covariances of f ~ GP(0, amplitude·kernel) at several points, its noise of variance amplitude·noise."""
    n = len(y)
    gram = [[amplitude * (kernel(X[i], X[j]) + (noise if i == j else 0.0)) for j in range(n)] for i in range(n)]
    cross = [[amplitude * kernel(x, X[i]) for i in range(n)] for x in points]
    weights = solve(gram, y)
    solved = [solve(gram, row) for row in cross]
    means = [sum(c * w for c, w in zip(row, weights, strict=True)) for row in cross]
    covariances = [
        [
            amplitude * kernel(x, z) - sum(c * s for c, s in zip(row, other, strict=True))
            for z, other in zip(points, solved, strict=True)
        ]
        for x, row in zip(points, cross, strict=True)
    ]
    return means, covariances


def expected_improvement(mean, variance, best):
    """E[max(f - best, 0)], f ~ N(mean, variance)."""
    deviation = math.sqrt(variance)
    z = (mean - best) / deviation
    return (mean - best) * (1 + math.erf(z / math.sqrt(2))) / 2 + deviation * math.exp(-z * z / 2) / math.sqrt(
        2 * math.pi
    )


def log_density(covariance, y):
    """log N(y; 0, covariance), by its Cholesky factor."""
    n = len(y)
    factor = [[0.0] * n for _ in range(n)]
    white, total = [], -n / 2 * math.log(2 * math.pi)
    for i in range(n):
        for j in range(i + 1):
            rest = covariance[i][j] - sum(factor[i][k] * factor[j][k] for k in range(j))
            factor[i][j] = math.sqrt(rest) if i == j else rest / factor[j][j]
        white.append((y[i] - sum(factor[i][k] * white[k] for k in range(i))) / factor[i][i])
        total -= white[i] ** 2 / 2 + math.log(factor[i][i])
    return total


def leave_one_out_error(gram, y, lam):
    """Mean squared error of ridge predictions, each from all other rows."""
    n, total = len(y), 0.0
    for out in range(n):
        rest = [i for i in range(n) if i != out]
        alpha = ridge([[gram[i][j] for j in rest] for i in rest], [y[i] for i in rest], lam)
        total += (y[out] - sum(a * gram[out][i] for a, i in zip(alpha, rest, strict=True))) ** 2
    return total / n


# -- regret bounds -------------------------------------------------------------------------------------


def information_gain(gram, chosen, noise):
    """½ log det(I + K_S/noise) for the list S of chosen rows, which may repeat; by elimination."""
    rows = [[gram[i][j] / noise + (place == other) for other, j in enumerate(chosen)] for place, i in enumerate(chosen)]
    total = 0.0
    for column in range(len(rows)):
        total += math.log(rows[column][column]) / 2
        for below in range(column + 1, len(rows)):
            factor = rows[below][column] / rows[column][column]
            rows[below] = [a - factor * b for a, b in zip(rows[below], rows[column], strict=True)]
    return total


def greedy_information_gains(gram, trials, noise):
    """The gain of sets of 1, …, T rows, each of which adds the row that gains most."""
    chosen, gains = [], []
    for _ in range(trials):
        tried = [(information_gain(gram, [*chosen, row], noise), row) for row in range(len(gram))]
        gain, row = max(tried, key=lambda one: one[0])
        chosen.append(row)
        gains.append(gain)
    return gains


def largest_information_gain(gram, trials, noise):
    """The largest gain of T rows, which may repeat, by trying all of them."""
    every = itertools.combinations_with_replacement(range(len(gram)), trials)
    return max(information_gain(gram, list(chosen), noise) for chosen in every)


def ridge_norm_and_miss(gram, f, lam):
    """‖h‖ in the RKHS and max |f - h| of h = K(K + λI)⁻¹f."""
    n, alpha = len(f), ridge(gram, f, lam)
    h = [sum(gram[i][j] * alpha[j] for j in range(n)) for i in range(n)]
    return math.sqrt(sum(a * b for a, b in zip(alpha, h, strict=True))), max(
        abs(a - b) for a, b in zip(f, h, strict=True)
    )
