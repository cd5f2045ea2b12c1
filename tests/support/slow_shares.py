"""Slow answers about shares and rows: plain loops over Python numbers, nothing imported from the package."""

import itertools


def _mean(values):
    return sum(values) / len(values)


def _variance(values):
    return _mean([(value - _mean(values)) ** 2 for value in values])


def sobol_indices(function, levels):
    """First-order, total and second-order indices over all combinations of levels, each as likely as any other."""
    every = list(itertools.product(*levels))
    values = {setting: function(setting) for setting in every}
    whole = _variance(list(values.values()))

    def explained(inputs):
        """var E[f | these inputs]."""
        groups = {}
        for setting, value in values.items():
            groups.setdefault(tuple(setting[i] for i in inputs), []).append(value)
        return _variance([_mean(group) for group in groups.values()])

    numbers = range(len(levels))
    first = [explained([i]) / whole for i in numbers]
    total = [1 - explained([j for j in numbers if j != i]) / whole for i in numbers]
    pairs = [[0.0 if i == j else explained([i, j]) / whole - first[i] - first[j] for j in numbers] for i in numbers]
    return first, total, pairs


def ridge(gram, y, lam):
    """α with (K + λI)α = y, by elimination."""
    n = len(y)
    rows = [[*(gram[i][j] + (lam if i == j else 0.0) for j in range(n)), y[i]] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(n):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]
