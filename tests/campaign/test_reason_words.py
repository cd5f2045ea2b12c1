import numpy as np
import pandas as pd
import pytest

from tunedprior import Optimizer
from tunedprior.campaign.reason_words import _share


@pytest.mark.parametrize(
    ("share", "said"),
    [(1.0, "best"), (0.0, "worst"), (0.34, "better than at 34 % of all settings"), (0.997, "better than at over 99 %")],
)
def test_all_and_none_of_the_settings_have_words(share: float, said: str) -> None:
    assert _share(share, "better than at", "best", "worst").startswith(said)


def test_pass_and_fail_have_no_units() -> None:
    x = np.linspace(0.0, 1.0, 12)
    old = pd.DataFrame({"x": x, "y": np.where(x > 0.4, "pass", "fail")})
    opt = Optimizer({"x": (0.0, 1.0)}, old)
    opt.tell([{"x": 0.2}, {"x": 0.9}], [1.0, 2.0])
    said = " ".join(opt.explain({"x": 0.8}).sentences)
    assert "in its own units" not in said
    assert "Old data expects more than at" in said
