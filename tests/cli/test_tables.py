import pytest
from rich.console import Console

from tunedprior.cli.output import build_bullet_list, make_table

NAMES = ["trial", "src_flow", "dst_flow", "airgap", "post_airgap", "src_equib", "dst_equib", "viscosity", "y"]
NOTE = "the pump was restarted twice, and the second valve was left open for a minute"


def drawn(what: object, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(what)
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("count", [1, 3])
def test_no_table_breaks_words(width: int, count: int) -> None:
    rows = [{**dict.fromkeys(NAMES, 10.0625 + k), "note": NOTE} for k in range(count)]
    lines = drawn(make_table(rows, "Runs"), width)
    words = " ".join(lines).replace("│", " ").replace("┃", " ").split()
    for name in NAMES:
        assert name in words
    assert words.count("10.0625") >= len(NAMES)
    assert set(NOTE.split()) <= set(words)
    assert max(map(len, lines)) <= width
    assert lines[0].rstrip() == "Runs"


def test_tables_side_by_side_share_their_first_column() -> None:
    lines = drawn(make_table([dict.fromkeys(NAMES, 1.5)] * 2), 40)
    heads = [line for line in lines if "┃" in line]
    assert len(heads) > 1
    assert all("trial" in line for line in heads)


def test_sentences_are_indented_as_a_whole() -> None:
    assert drawn(build_bullet_list(["one two three", "four"]), 12) == ["  • one two ", "    three   ", "  • four    "]


def test_a_title_is_as_wide_as_the_terminal() -> None:
    title = "Recommended setting (by the model, with a 95 % interval)"
    for row in ({"flow": 0.5}, dict.fromkeys(NAMES, 0.5)):
        assert drawn(make_table([row], title), 80)[0].rstrip() == title
