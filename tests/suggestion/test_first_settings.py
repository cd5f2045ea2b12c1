"""The first settings: by what old data expects, or by a Sobol design; and what the user knows."""

import numpy as np
import pandas as pd
import pytest
import torch

from tunedprior import Optimizer, SearchConfig, Suggester, TransferConfig
from tunedprior.errors import InputError
from tunedprior.model_averaging.average import Average
from tunedprior.space.search_space import Space
from tunedprior.suggestion.first_settings import compute_design_position, is_designed
from tunedprior.suggestion.priors import make_plain_surrogate

SPACE = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}
PEAK = {"a": 0.4, "b": -0.3}


def response(table: pd.DataFrame) -> np.ndarray:
    """Highest at PEAK, lowest at the corner (-1, 1)."""
    return -((table["a"] - PEAK["a"]) ** 2 + (table["b"] - PEAK["b"]) ** 2).to_numpy()


def old(sign: float = 1.0, rows: int = 40, seed: int = 0) -> pd.DataFrame:
    settings = pd.DataFrame(np.random.default_rng(seed).uniform(-1, 1, (rows, 2)), columns=["a", "b"])
    return settings.assign(y=5 + sign * response(settings))


def distance(setting: dict, place: dict) -> float:
    return float(np.hypot(setting["a"] - place["a"], setting["b"] - place["b"]))


def test_where_old_data_expects_the_best_comes_first() -> None:
    opt = Optimizer(SPACE, old(), direction="maximize", seed=1)
    first, second = opt.ask(n=2)
    assert distance(first, PEAK) < 0.25
    assert second in Space.parse(SPACE).sobol(2, seed=1)


@pytest.mark.parametrize(
    ("direction", "sign", "relation"),
    [
        ("maximize", 1.0, "same"),
        ("minimize", -1.0, "same"),
        ("maximize", -1.0, "opposite"),
        ("minimize", 1.0, "opposite"),
    ],
)
def test_with_a_known_relation_the_first_suggestion_is_the_old_optimum(
    direction: str, sign: float, relation: str
) -> None:
    """The objective has its optimum at PEAK in all four: where a transfer that knows the sign goes first."""
    opt = Optimizer(SPACE, old(sign), direction=direction, relation=relation, seed=1)
    assert distance(opt.ask(), PEAK) < 0.25


def test_a_response_that_turned_round_is_found_out_by_the_model() -> None:
    """The first setting is the worst one, the second one of the design; then the model goes where old data is low."""
    opt = Optimizer(SPACE, old(-1.0), direction="maximize", seed=1)
    asked = []
    for _ in range(3):
        asked.append(opt.ask())
        opt.tell(asked[-1], float(response(pd.DataFrame([asked[-1]]))[0]))
    assert distance(asked[0], {"a": -1.0, "b": 1.0}) < 0.25
    assert distance(asked[2], PEAK) < 0.5


def test_labels_name_the_good_end_whatever_the_direction() -> None:
    table = old()
    table["y"] = np.where(response(table) > -0.5, "pass", "fail")
    for direction in ("maximize", "minimize"):
        first = Optimizer(SPACE, table, direction=direction, relation="same", seed=1).ask()
        assert distance(first, PEAK) < 0.6


def test_from_candidates_the_opening_picks_the_best_among_them() -> None:
    pool = pd.DataFrame(np.random.default_rng(3).uniform(-1, 1, (60, 2)), columns=["a", "b"])
    first = Optimizer(SPACE, old(), direction="maximize", seed=1).ask(candidates=pool)
    row = int(((pool - pd.Series(first)) ** 2).sum(axis=1).idxmin())
    assert pd.Series(response(pool)).rank()[row] > 54


def test_without_old_data_or_when_asked_for_the_design_is_sobol() -> None:
    plain, asked, suggested = (
        Optimizer(SPACE, direction="maximize", seed=1),
        Optimizer(SPACE, old(), direction="maximize", seed=1, search=SearchConfig(design="sobol")),
        [],
    )
    assert plain.suggester.initial == asked.suggester.initial == 3
    for opt in (plain, asked):
        suggested.append(opt.ask(n=3))
    assert suggested[0] == suggested[1] == Space.parse(SPACE).sobol(3, seed=1)
    assert Optimizer(SPACE, old(), direction="maximize", seed=0).suggester.initial == 5
    many = {f"x{number}": (0.0, 1.0) for number in range(6)}
    table = pd.DataFrame(np.random.default_rng(0).random((20, 6)), columns=list(many)).assign(y=range(20))
    assert Optimizer(many, table, direction="maximize", seed=0).suggester.initial == 7


def test_after_the_opening_the_design_and_the_model_take_turns() -> None:
    """Old data may mislead: settings of a Sobol design (no more than there are parameters) come in between."""
    opt, sobol = Optimizer(SPACE, old(), direction="maximize", seed=1), Space.parse(SPACE).sobol(8, seed=1)
    asked = []
    for _ in range(8):
        asked.append(opt.ask())
        opt.tell(asked[-1], float(response(pd.DataFrame([asked[-1]]))[0]))
    assert [position for position, setting in enumerate(asked) if setting in sobol] == [1, 3]
    designed = [position for position in range(9) if is_designed(position, num_opening=2, initial=6)]
    assert designed == [0, 1, 2, 4]
    assert [position for position in range(5) if is_designed(position, num_opening=0, initial=3)] == [0, 1, 2]


def test_substitutes_stand_for_the_design_and_not_for_the_opening() -> None:
    """Two settings from elsewhere, the two of the opening, and then as if the opening had come first."""
    places = [compute_design_position(position, 2, num_opening=2, initial=8) for position in range(2, 9)]
    assert places == [0, 1, 4, 5, 6, 7, 8]
    assert [compute_design_position(position, 0, num_opening=2, initial=1) for position in range(4)] == [0, 1, 2, 3]
    assert compute_design_position(8, 8, num_opening=2, initial=8) == 8  # so many results say more than old data


def test_from_candidates_the_settings_in_between_are_some_of_them() -> None:
    pool = pd.DataFrame(np.random.default_rng(3).uniform(-1, 1, (60, 2)), columns=["a", "b"])
    seconds = []
    for seed in range(4):
        opt = Optimizer(SPACE, old(), direction="maximize", seed=seed)
        for _ in range(2):
            setting = opt.ask(candidates=pool)
            opt.tell(setting, float(response(pd.DataFrame([setting]))[0]))
        seconds.append((setting["a"], setting["b"]))
    assert len(set(seconds)) > 1
    assert set(seconds) <= set(pool.itertuples(index=False, name=None))


def test_several_old_sets_take_turns() -> None:
    other = old().assign(y=lambda table: -((table["a"] + 0.6) ** 2) - (table["b"] - 0.6) ** 2)
    first, second, third = Optimizer(SPACE, {"here": old(), "there": other}, direction="maximize", seed=1).ask(n=3)
    assert distance(first, PEAK) < 0.25
    assert distance(second, {"a": -0.6, "b": 0.6}) < 0.3
    assert third in Space.parse(SPACE).sobol(3, seed=1)


@pytest.mark.slow
def test_a_relation_is_believed_until_the_evidence_is_against_it() -> None:
    """With the right word the sign is right from the second result on; a wrong word is given up."""
    settings = pd.DataFrame(Space.parse(SPACE).sobol(12, seed=5))
    values = response(settings)
    signs = {}
    for relation in ("same", "opposite", "unknown"):
        opt = Optimizer(SPACE, old(), direction="maximize", relation=relation, seed=0)
        for setting, value in list(zip(settings.to_dict("records"), values, strict=True))[:2]:
            opt.tell(setting, value)
        few = opt.trust.relations["positive"].item()
        for setting, value in list(zip(settings.to_dict("records"), values, strict=True))[2:]:
            opt.tell(setting, value)
        signs[relation] = few, opt.trust.relations["positive"].item()
        (said,) = opt.trust.sentences
        assert ("against the relation that was given" in said) == (relation == "opposite")
    assert signs["opposite"][0] < signs["unknown"][0] < signs["same"][0]
    assert min(late for _, late in signs.values()) > 0.9


def test_relations_by_name_and_their_mistakes() -> None:
    sets = {"here": old(), "there": old(-1.0, seed=1)}
    opt = Optimizer(SPACE, sets, direction="maximize", relation={"there": "opposite"}, seed=0)
    assert isinstance(opt.surrogate, Average)
    assert [one.sign for one in opt.surrogate.sources] == [0, -1]
    for wrong, said in (
        ("reverse", "relation must be one of"),
        ({"here": "reverse"}, "A relation must be one of"),
        ({"elsewhere": "same"}, "relation names"),
    ):
        with pytest.raises(InputError, match=said):
            Optimizer(SPACE, sets, direction="maximize", relation=wrong, seed=0)
    with pytest.raises(InputError, match="and there is none"):
        Optimizer(SPACE, direction="maximize", relation="same", seed=0)
    with pytest.raises(InputError, match="for prior='average' alone"):
        Optimizer(SPACE, old(), direction="maximize", relation="same", transfer=TransferConfig(prior="aligned"), seed=0)
    with pytest.raises(InputError, match="design must be one of"):
        Optimizer(SPACE, old(), direction="maximize", search=SearchConfig(design="grid"), seed=0)


def test_design_and_relation_are_saved(tmp_path) -> None:
    old().to_csv(tmp_path / "old.csv", index=False)
    opt = Optimizer(
        SPACE,
        tmp_path / "old.csv",
        direction="maximize",
        relation="same",
        seed=4,
        search=SearchConfig(design="old data"),
    )
    first = opt.ask()
    opt.save(tmp_path / "campaign.json")
    again = Optimizer.load(tmp_path / "campaign.json")
    assert isinstance(again.surrogate, Average)
    assert again.surrogate.sources[0].sign == 1
    assert again.suggester.search.design == "old data"
    fresh = Optimizer(SPACE, tmp_path / "old.csv", direction="maximize", relation="same", seed=4)
    assert fresh.ask() == first
    assert again.ask() == opt.ask()


def test_a_suggester_of_any_model_has_a_design() -> None:
    space = Space.parse(SPACE)
    suggester = Suggester(space, make_plain_surrogate(space))
    assert suggester.initial == 3
    assert torch.equal(suggester.surrogate.evaluate_opening(torch.zeros(4, 2).double()), torch.zeros(0, 4).double())
