"""An Optuna study as a table: one row for each finished trial."""

from collections.abc import Sequence

import pandas as pd
from optuna.study import Study, StudyDirection
from optuna.trial import TrialState

from tunedprior.errors import InputError
from tunedprior.files.content import ReadTable

#: What stands for the value of a trial that failed.
FAILED = "failed"


def read_study(study: Study, names: Sequence[str], what: str) -> ReadTable:
    """Parameters as columns, and the value under the last of the names; trials without a result are left out."""
    if len(study.directions) > 1:
        raise InputError(
            f"{what} must have one response; the study has {len(study.directions)} objectives. Choose one: "
            "pass study.trials_dataframe() with its columns renamed."
        )
    response = names[-1]
    rows, numbers, left_out = [], [], 0
    for trial in study.get_trials(deepcopy=False):
        failed = trial.state == TrialState.FAIL
        if not (failed or trial.state == TrialState.COMPLETE) or not trial.params:
            left_out += 1
            continue
        if response in trial.params:
            raise InputError(
                f"{what}: the study has a parameter {response!r}, so its values cannot have that name. "
                "Name the response with target=."
            )
        rows.append({**trial.params, response: FAILED if failed else trial.value})
        numbers.append(trial.number)
    said = (
        (f"Trials without settings or result (pruned, running, waiting) are left out: {left_out}.",) if left_out else ()
    )
    table = pd.DataFrame(rows, dtype=object) if rows else pd.DataFrame(columns=list(names), dtype=object)
    return ReadTable(
        table, f"the study {study.study_name!r}", said, numbers, "trial", get_directions(study, [response])
    )


def get_directions(study: Study, responses: Sequence[str]) -> dict[str, str]:
    """For each of its values, by these names, whether the study was to maximise or to minimise it."""
    words = {StudyDirection.MAXIMIZE: "maximize", StudyDirection.MINIMIZE: "minimize"}
    return {name: words[one] for name, one in zip(responses, study.directions, strict=True) if one in words}
