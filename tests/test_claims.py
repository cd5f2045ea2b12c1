"""Every sentence with a figure is what the stored results say, computed without the code that wrote the reports."""

import pytest

from support.claims import CLAIMS
from support.measures import DOCUMENTS
from support.prose import Claim, Exempt, agrees, figures_in, places, prose
from support.words import EXEMPT, SAID, Said


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.plain[:50])
def test_a_figure_is_what_was_measured(claim: Claim) -> None:
    assert len(places(claim.document, claim.plain)) == 1, "the document no longer says so: change the claim with it"
    values = claim.values()
    assert len(values) == len(claim.figures)
    wrong = [pair for pair in zip(claim.figures, values, strict=True) if not agrees(*pair)]
    assert wrong == [], "printed, and what it should be"


@pytest.mark.parametrize("said", SAID, ids=lambda said: said.text[:50])
def test_words_for_figures_are_borne_out(said: Said) -> None:
    assert len(places(said.document, said.text)) == 1, "the document no longer says so: change the claim with it"
    assert said.holds()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_figure_is_unchecked(document: str) -> None:
    known: list[Claim | Exempt] = [one for one in (*CLAIMS, *EXEMPT) if one.document == document]
    spans = [span for one in known for span in one.covered()]
    unchecked = [
        f"{figure}: …{prose(document)[max(0, place - 60) : place + 60]}…"
        for place, figure in figures_in(document)
        if not any(start <= place < end for start, end in spans)
    ]
    assert unchecked == [], "neither claimed (tests/support/claims.py) nor exempt"


def test_exempt_phrases_are_there() -> None:
    assert [one.text for one in EXEMPT if not places(one.document, one.text)] == []


def test_a_wrong_figure_would_be_noticed() -> None:
    assert agrees("0.62", 0.6249)
    assert not agrees("0.62", 0.6261)
    assert agrees("0.62", (0.63, 0.64)) is False
    assert agrees("1,234", 1234.4)
    assert not agrees("48", 46.9)
