"""Arguments of the wrong type are refused in words, and nothing that was told before is lost."""

import numpy as np
import pandas as pd
import pytest
import torch

from tunedprior import Goals, Optimizer, SearchConfig, optimize
from tunedprior.errors import InputError
from tunedprior.space.search_space import Space

SPACE = {"x": (0.0, 1.0), "gas": ["air", "argon"]}
NAMES = {
    "np": np,
    "pd": pd,
    "torch": torch,
    "optimize": optimize,
    "Optimizer": Optimizer,
    "SearchConfig": SearchConfig,
    "Goals": Goals,
    "Space": Space,
    "SPACE": SPACE,
}
REFUSED = {
    "opt.ask(2.5)": "n must be a whole number, 1 or more; got 2.5",
    "opt.ask('4')": "n must be a whole number, 1 or more; got '4'",
    "opt.ask(True)": "n must be a whole number",
    "opt.ask(0)": "n must be a whole number, 1 or more; got 0",
    "opt.ask(opt.history)": r"Write ask\(candidates=…\)",
    "opt.tell(0.5, first)": "tell takes the setting first and then its value",
    "opt.tell(None, 0.5)": "A setting is a dict of names and values, .* got NoneType",
    "opt.tell('air', 0.5)": "A setting is a dict of names and values, .* got str 'air'",
    "opt.tell([0.5, 'air'], 0.5)": "Each setting must be a dict of names and values; got float 0.5",
    "opt.tell(first, '0.42')": r"got the text '0.42'. Write a number, with a point",
    "opt.tell(first, pd.Timestamp('2020-01-01'))": "Values must be numbers, .* got Timestamp",
    "opt.tell(first, np.datetime64('2020-01-01'))": "Values must be numbers, .* got datetime64",
    "opt.tell(first, np.timedelta64(3, 'D'))": "Values must be numbers, .* got timedelta64",
    "opt.tell([first, second], np.array([1, 2], dtype='datetime64[D]'))": "Values must be numbers",
    "opt.tell(dict(first, x=np.datetime64('2020-01-01')), 1.0)": "'x' must be numbers; got the date",
    "opt.tell(first, 1j)": "Values must be numbers",
    "opt.tell(first, 10**400)": "Values must be finite",
    "opt.tell(first, {'z': 1.0})": "The responses are y; got 'z'",
    "opt.tell([first, second], torch.zeros(2, 2))": r"in one column; got shape \(2, 2\)",
    "opt.tell([first, second], [[1.0, 2.0], [3.0, 4.0]])": "Values must be numbers, .* got list",
    "opt.tell([first, second], opt.history)": r"in one column; got shape \(2, \d+\)",
    "opt.tell(first, 1.0, failed='no')": "failed must be True or False; got str 'no'",
    "opt.tell(first, 1.0, failed=0.5)": "failed must be True or False; got float 0.5",
    "opt.tell(first, 1.0, failed=None)": "failed must be True or False; got NoneType",
    "opt.tell(first, 1.0, note=3)": "note must be text; got int 3",
    "opt.tell(first, 1.0, trial='1')": "A trial is given by its number .* got str '1'",
    "opt.tell([first, second], [1.0, 2.0], trial=1)": "trial is the number of one suggestion; got 2 settings",
    "opt.tell(opt.history.assign(trial='one'), [1.0, 2.0])": "The trial's number is 'one', which is no number",
    "opt.tell(opt.history.assign(direction='north'), [1.0, 2.0])": "'direction' is the history's own.*Rename yours",
    'Optimizer(SPACE, direction="maximize", seed=0).resume(None)': "The history must be a pandas.DataFrame, the path of a file .* got NoneType",
    "opt.cancel('air')": "'air' is not among them",
    "opt.cancel([first, {'x': 7.0}])": "is not among them",
    "opt.shadow([first, second])": "one at a time; got list of 2",
    "opt.amend('first', 1.0)": "A trial is given by its number",
    "opt.amend(first, 1.0)": "Nothing was told of trial 1 yet.*Use tell",
    "opt.withdraw(9)": "no result with the number 9. Nothing was told yet",
    "Optimizer([('x', (0.0, 1.0))], direction=\"maximize\", seed=0)": "A search space is a dict .* got list",
    "Optimizer(pd.DataFrame({'x': [0.0], 'y': [1.0]}), SPACE, direction=\"maximize\", seed=0)": "got DataFrame. Old data is the argument after it",
    "Optimizer(SPACE, direction=\"maximize\", noise_std='0.1', seed=0)": "noise_std must be a finite number, 0 or more; got '0.1'",
    'Optimizer(SPACE, direction="maximize", search=SearchConfig(cost=3.0), seed=0)': "cost must be a function of a setting; got float",
    "Optimizer(SPACE, direction=\"maximize\", requirements=['purity >= 3'], seed=0)": "requirements is a dict of responses",
    "Optimizer(SPACE, objectives=['y'], seed=0)": "objectives is a dict of responses",
    "Optimizer(SPACE, direction=3.0, seed=0)": "For a value to come close to, write Target",
    "Optimizer(SPACE, objectives=Goals.parse(\"maximize\", log='z'), seed=0)": "log must be True, False or names of objectives",
    "opt.tell(first, 1.0, noise_std='much')": "noise_std of 'y' must be a finite number, 0 or more; got 'much'",
    "opt.tell(first, 1.0, cost='much')": "cost must be a number above 0",
    "Optimizer(SPACE, direction=\"maximize\", target=['y'], seed=0)": r"target must be the name of the response, as text; got \['y'\]",
    'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=2.5), seed=0)': "initial must be a whole number, 1 or more; got 2.5",
    "Optimizer(SPACE, direction=\"maximize\", search=SearchConfig(initial='two'), seed=0)": "initial must be a whole number, 1 or more; got 'two'",
    'optimize(lambda s: None, SPACE, 3, direction="maximize", seed=0)': "must return one number.* <lambda> returned NoneType None",
    'optimize(lambda s: (1.0, 2.0), SPACE, 3, direction="maximize", seed=0)': "must return one number.* returned tuple",
    "optimize(lambda s: '1.0', SPACE, 3, direction=\"maximize\", seed=0)": "must return one number.* returned str '1.0'",
}

TAKEN = (
    "assert len(opt.ask(n=2.0)) == 2",
    "opt.tell([first, second], torch.tensor([[0.25], [0.5]], requires_grad=True)); assert opt.best.value == 0.5",
    "opt.tell([first, second], pd.DataFrame({'y': [0.3, 0.4]})); assert opt.best.value == 0.4",
    "opt.tell([first, second], pd.Series([0.3, 0.4], index=[7, 9])); assert opt.best.value == 0.4",
    "opt.tell([first, second], [[0.3], [0.4]]); assert opt.best.value == 0.4",
    "opt.tell(first, torch.tensor(0.5, requires_grad=True)); assert opt.best.value == 0.5",
    "opt.tell(first, np.array([[0.5]])); assert opt.best.value == 0.5",
    "opt.tell(first, __import__('decimal').Decimal('0.5')); assert opt.best.value == 0.5",
    "opt.tell(first, np.float32(0.5)); assert opt.best.value == 0.5",
    "opt.tell(first, True); assert opt.best.value == 1.0",
    "opt.tell(first, None, failed=1); assert opt.trials.told[0].failed",
    "opt.tell([first, second], [1.0, None], failed=np.array([False, True])); assert opt.best.value == 1.0",
    "opt.tell(opt.history.iloc[1], 2.0); assert opt.best.id == 2",
    "opt.cancel([first, second]); assert opt.pending == []",
    "opt.cancel(2); assert opt.pending == [first]",
    "opt.cancel(pd.Series(first)); assert opt.pending == [second]",
)


@pytest.fixture
def names() -> dict[str, object]:
    """What the code may use; `opt` has two pending settings, `first` and `second`."""
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    first, second = opt.ask(n=2)
    return {**NAMES, "opt": opt, "first": first, "second": second}


@pytest.mark.parametrize("code", REFUSED)
def test_it_is_refused_in_words(code: str, names: dict[str, object]) -> None:
    before = names["opt"].trials
    with pytest.raises(InputError, match=REFUSED[code]):
        exec(code, names)
    assert names["opt"].trials is before


@pytest.mark.parametrize("code", TAKEN)
def test_it_is_taken(code: str, names: dict[str, object]) -> None:
    exec(code, names)
