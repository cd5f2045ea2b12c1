"""Small campaigns of every kind, told by hand: nothing in them is searched for."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from support.optimizers import make_optimizer
from tunedprior import Goals, Optimizer, Target

HTML = "<b>heat</b> & $x$ °C"


def old_table(names: list[str], count: int = 12, **responses: Callable[[np.ndarray], np.ndarray]) -> pd.DataFrame:
    x = np.random.default_rng(0).uniform(0, 1, (count, len(names)))
    given = responses or {"y": lambda x: np.sin(3 * x[:, 0]) + 0.3 * x[:, -1]}
    return pd.DataFrame(x, columns=names).assign(**{name: rule(x) for name, rule in given.items()})


def plain(old: bool = True, count: int = 6, **options: Any) -> Optimizer:
    """Two inputs, and a response that is that of the old data turned around."""
    opt = make_optimizer({"a": (0.0, 1.0), "b": (0.0, 1.0)}, old_table(["a", "b"]) if old else None, **options)
    for a, b in np.random.default_rng(1).uniform(0, 1, (count, 2)).tolist():
        opt.tell({"a": a, "b": b}, 2 - np.sin(3 * a) - 0.3 * b * a)
    return opt


def nothing_told() -> Optimizer:
    return plain(old=False, count=0)


def only_old_data() -> Optimizer:
    return plain(count=0)


def one_result() -> Optimizer:
    return plain(count=1)


def equal_results() -> Optimizer:
    opt = plain(count=0)
    opt.tell([{"a": 0.1, "b": 0.2}, {"a": 0.8, "b": 0.7}], [1.0, 1.0])
    return opt


def suggested_and_failed() -> Optimizer:
    """With suggestions, own settings, a failed run, a note, a pending one and one that was set aside."""
    opt = plain(count=2, direction="minimize")
    opt.tell(opt.ask(), 1.2)
    opt.tell(opt.ask(), failed=True, note="<i>burst</i>")
    opt.tell(opt.ask(), 0.7)
    opt.cancel(opt.ask())
    opt.withdraw(1)
    opt.ask()
    return opt


def one_input() -> Optimizer:
    opt = Optimizer(
        {"x": (1.0, 1000.0, "log")},
        pd.DataFrame({"x": [1.0, 10.0, 100.0, 900.0], "y": [1.0, 2.0, 3.0, 2.0]}),
        direction="maximize",
        seed=0,
    )
    opt.tell([{"x": 2.0}, {"x": 30.0}, {"x": 500.0}], [1.0, 3.0, 2.0])
    return opt


def categories_only() -> Optimizer:
    """One of them can be set to nothing else."""
    opt = Optimizer(
        {"gas": ["air", "argon", None], "pump": ["old", "new"], "lamp": ["on"]}, direction="maximize", seed=0
    )
    opt.tell(
        [
            {"gas": "air", "pump": "old", "lamp": "on"},
            {"gas": None, "pump": "new", "lamp": "on"},
            {"gas": "argon", "pump": "new", "lamp": "on"},
        ],
        [1.0, 3.0, 2.0],
    )
    return opt


def all_failed() -> Optimizer:
    opt = plain(count=0)
    opt.tell([{"a": 0.1, "b": 0.2}, {"a": 0.8, "b": 0.7}], failed=True)
    return opt


def several_objectives() -> Optimizer:
    """Three objectives, one of them a target on a logarithmic scale, a requirement, and old data of one response."""
    settings = {"b": [*range(11), 5]}
    first, second = old_table(["a"], more=lambda x: x[:, 0]), old_table(["a"], more=lambda x: -(x[:, 0] ** 2))
    opt = Optimizer(
        {"a": (0.0, 1.0), "b": (0, 10, 1)},
        {"first": first.assign(**settings), "second": second.assign(**settings)},
        objectives=Goals.parse(
            objectives={"more": "maximize", "less": "minimize", "near": Target(0.3, 0.5)},
            requirements={"purity": ">= 0.5", "passes": "pass"},
            log=["near"],
        ),
        seed=0,
    )
    for a, b in [(0.1, 2), (0.5, 7), (0.9, 4), (0.3, 9)]:
        told = {"more": a, "less": a * b, "near": 0.2 + a, "purity": 1 - a / 2, "passes": "pass" if a < 0.8 else "fail"}
        opt.tell({"a": a, "b": b}, told)
    opt.tell({"a": 0.7, "b": 1}, {"more": 0.7})
    return opt


def weighed_objectives() -> Optimizer:
    opt = Optimizer(
        {"a": (0.0, 1.0)},
        objectives=Goals.parse(objectives={"u": "maximize", "v": "minimize"}, preference={"u": 1.0, "v": 2.0}),
        seed=0,
    )
    opt.tell([{"a": 0.1}, {"a": 0.6}, {"a": 0.9}], [{"u": 1.0, "v": 2.0}, {"u": 2.0, "v": 2.0}, {"u": 3.0, "v": 4.0}])
    return opt


def a_target() -> Optimizer:
    return plain(direction=Target(1.5))


def a_logarithm() -> Optimizer:
    return plain(log=True, target="rate", old=False)


def a_mixture() -> Optimizer:
    opt = Optimizer(
        {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)},
        direction="maximize",
        constraints=["a + b + c == 1"],
        seed=0,
    )
    opt.tell(
        [{"a": 0.2, "b": 0.3, "c": 0.5}, {"a": 0.6, "b": 0.3, "c": 0.1}, {"a": 0.1, "b": 0.1, "c": 0.8}], [1, 2, 3]
    )
    return opt


def half_the_square() -> Optimizer:
    return plain(old=False, constraints=["a + b <= 1.6"])


def html_in_names() -> Optimizer:
    choices, target = ["</script>", "$y$", "&amp;"], "<script>alert(1)</script>"
    old = old_table([HTML], **{target: lambda x: x[:, 0]}).assign(**{"ß→x": choices[1:] * 6})
    opt = Optimizer({HTML: (0.0, 1.0), "ß→x": choices}, old, direction="maximize", target=target, seed=0)
    opt.tell({HTML: 0.2, "ß→x": "$y$"}, 1.0, note="<img src=x onerror=alert(1)>")
    opt.tell({HTML: 0.9, "ß→x": "&amp;"}, 2.0)
    opt.ask()
    return opt


def the_papers_algorithm() -> Optimizer:
    return plain(prior="reweighted", count=4)


def without_old_data() -> Optimizer:
    return plain(old=False)


#: Each is made once: whoever changes one makes it anew, by its function.
CAMPAIGNS: dict[str, Callable[[], Optimizer]] = {
    one.__name__: cache(one)
    for one in (
        nothing_told, only_old_data, one_result, equal_results, suggested_and_failed, one_input, categories_only,
        all_failed, several_objectives, weighed_objectives, a_target, a_logarithm, a_mixture, half_the_square,
        html_in_names, the_papers_algorithm, without_old_data, plain,
    )
}  # fmt: skip
