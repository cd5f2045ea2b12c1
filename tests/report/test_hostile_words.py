"""Names, categories and notes that are HTML: text in a report, and nothing else."""

import re

import pytest

from tunedprior import Optimizer
from tunedprior.report import report_html

SCRIPT, IMAGE = "</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>"


@pytest.mark.usefixtures("short_search")
def test_whatever_people_wrote_is_text() -> None:
    opt = Optimizer(
        {IMAGE: (0.0, 1.0), "kind": [SCRIPT, "<b>bold</b>"]}, direction="maximize", target=f"y{SCRIPT}", seed=0
    )
    for k in range(4):
        opt.tell({IMAGE: 0.1 + 0.2 * k, "kind": [SCRIPT, "<b>bold</b>"][k % 2]}, float(k), note=f"{IMAGE}{k}")
    opt.ask()
    page = report_html(opt, title=SCRIPT, shadow=False)
    assert "alert(1)" in page  # it is there, as text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<b>bold" not in page
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert not any(re.match(r"\s*alert", one) for one in scripts)
