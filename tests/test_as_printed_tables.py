"""The tables of Algorithm 1 as printed, computed from the stored results without the code that wrote them."""

import pytest

from support.cells import methods_in, wrong_cells
from support.claims_as_printed import AS_PRINTED, SETS, WITHOUT_ACKLEY, variant
from support.stored import PAPER, SHIFTED, STANDARD, TUNED, runs

EXPERIMENTS = "docs/experiments.md"


@pytest.mark.parametrize(("name", "seeds"), list(zip(("choosing", "confirming"), SETS, strict=True)))
def test_algorithm1_as_printed_and_what_differs_from_it(name: str, seeds: range) -> None:
    expected = {
        method: {problem: variant([problem], method, STANDARD, seeds) for problem in PAPER}
        | {
            "geometric mean": variant(PAPER, method, STANDARD, seeds),
            f"over {TUNED}": variant(PAPER, method, TUNED, seeds),
            "… without Ackley": variant(WITHOUT_ACKLEY, method, TUNED, seeds),
        }
        for method in methods_in(EXPERIMENTS, f"as printed, {name} seeds")
    }
    assert set(expected) == set(runs("as_printed")["method"]) - {STANDARD}
    assert wrong_cells(EXPERIMENTS, f"as printed, {name} seeds", expected) == []


def test_algorithm1_as_printed_on_shifted_copies() -> None:
    expected = {
        method: {
            head: estimate
            for name, seeds in zip(("choosing", "confirming"), SETS, strict=True)
            for head, estimate in (
                *((f"{problem}, {name}", variant([problem], method, STANDARD, seeds)) for problem in SHIFTED),
                (f"over {TUNED}, {name}", variant(SHIFTED, method, TUNED, seeds)),
            )
        }
        for method in methods_in(EXPERIMENTS, "as printed, shifted")
    }
    assert AS_PRINTED in expected
    assert wrong_cells(EXPERIMENTS, "as printed, shifted", expected) == []
