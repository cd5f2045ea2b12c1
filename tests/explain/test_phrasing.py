import numpy as np
import pandas as pd
import pytest

from tunedprior import Optimizer
from tunedprior.explain.suggestions import _format_rank, _format_share


@pytest.mark.parametrize(
    ("share", "said"),
    [(1.0, "first"), (0.8, "first"), (0.6, "more sure than most"), (0.3, "less sure than most"), (0.0, "last")],
)
def test_where_a_setting_stands_has_words(share: float, said: str) -> None:
    assert _format_rank(share, "first", "last", "sure") == said


@pytest.mark.parametrize(
    ("share", "said"),
    [(1.0, "among the highest"), (0.0, "among the lowest"), (0.6, "more than at 60 %"), (0.3, "less than at 70 %")],
)
def test_nothing_is_more_than_at_all_settings(share: float, said: str) -> None:
    assert _format_share(share) == said


def test_reasons_are_short_at_first() -> None:
    x = np.linspace(0.0, 1.0, 12)
    opt = Optimizer({"x": (0.0, 1.0)}, pd.DataFrame({"x": x, "y": -((x - 0.6) ** 2)}), direction="maximize", seed=0)
    for _ in range(4):
        opt.tell(asked := opt.ask(), -((asked["x"] - 0.5) ** 2))
    why = opt.explain(opt.ask())
    assert why.summary == why.sentences[: len(why.summary)]
    assert len(why.summary) == 4 < len(why.sentences)
    assert why.sentences[-1] not in str(why)
    assert why.to_dict()["summary"] == why.summary


def test_pass_and_fail_have_no_units() -> None:
    x = np.linspace(0.0, 1.0, 12)
    old = pd.DataFrame({"x": x, "y": np.where(x > 0.4, "pass", "fail")})
    opt = Optimizer({"x": (0.0, 1.0)}, old, direction="maximize", seed=0)
    opt.tell([{"x": 0.2}, {"x": 0.9}], [1.0, 2.0])
    said = " ".join(opt.explain({"x": 0.8}).sentences)
    assert "in its own units" not in said
    assert "What old data expects there is " in said
