"""What an optimiser was made with, and what its models say: the part of it that only looks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

import pandas as pd

from tunedprior.acquisition.functions import AcquisitionChoice
from tunedprior.average.surrogate import Average
from tunedprior.campaign.advice import Recommendation, noise_in, recommended
from tunedprior.campaign.explaining import Asked, results_by_origin, surrogate_of, taught_by
from tunedprior.campaign.fitted import Fitted
from tunedprior.campaign.measured import number
from tunedprior.campaign.notebook import Notebook, locked
from tunedprior.campaign.outlook import Remaining, Replication, remaining, replication
from tunedprior.campaign.prediction import predicted, predicted_beforehand
from tunedprior.campaign.reason_words import origins_in_words
from tunedprior.campaign.sources import OldSource
from tunedprior.campaign.suggester import Suggester
from tunedprior.campaign.telling import Suggestion, trial_meant
from tunedprior.checks import listed
from tunedprior.errors import InputError
from tunedprior.insight.reasons import Reasons
from tunedprior.insight.trust import Trust, TrustSoFar
from tunedprior.lessons.taught import Taught
from tunedprior.models.surrogate import Surrogate
from tunedprior.problem.box import as_table
from tunedprior.problem.goals import Goal
from tunedprior.problem.objective import Objective, codes_of_run
from tunedprior.problem.old_data_report import OldDataReport
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import Trial, as_given, settings_of

# A setting, a suggestion, a row of a table, a trial or its number.
_Explainable = Setting | Suggestion | Trial | pd.Series | pd.DataFrame | int


class Viewer(Notebook):
    """What there is to see of an `Optimizer`; nothing here changes what was told or asked for."""

    _seed: int
    _report: OldDataReport
    _fitted: Fitted | None
    _trust: dict[str, TrustSoFar]

    # -- what it was made with: for reading ------------------------------------------------------------

    @property
    def suggester(self) -> Suggester:
        """What makes the suggestions; it may be shared by any number of optimisers, threads and processes."""
        return self._suggester

    @property
    def surrogate(self) -> Surrogate:
        """What turns observations into a model: `Average`, `TunedPrior`, `Standard`, or the one that was given."""
        return self._suggester.surrogate

    @property
    def space(self) -> Space:
        """What may be set."""
        return self._suggester.space

    @property
    def target(self) -> str:
        """The name of the response."""
        return self._suggester.objective.target

    @property
    def direction(self) -> Goal:
        """What is wanted of the (first) response."""
        return self._suggester.objective.direction

    @property
    def noise_std(self) -> float | None:
        """The measurement noise, where it is known."""
        return self._suggester.objective.noise_std

    @property
    def acquisition(self) -> AcquisitionChoice:
        """What makes a setting worth trying."""
        return self._suggester.acquisition

    @property
    def beta(self) -> str | float:
        """GP-UCB's schedule."""
        return self._suggester.beta

    @property
    def old_sources(self) -> tuple[OldSource, ...]:
        """Where old data came from: a name, a path and a fingerprint for each data set."""
        return self._made_with.old

    @property
    def seed(self) -> int:
        """What makes suggestions repeatable."""
        return self._seed

    @property
    def old_data_report(self) -> OldDataReport:
        """What was found when old data was read: what was assumed, what was left out, what looks wrong."""
        return self._report

    # -- looking ---------------------------------------------------------------------------------------

    @locked
    def predict(self, settings: Setting | Sequence[Setting] | pd.DataFrame) -> pd.DataFrame:
        """What the model expects at each setting, in the response's units, with the index of the table.

        `mean`; `std`, its uncertainty; `measured_std`, the uncertainty of a measurement there, which has noise too: 95
        of 100 measurements should lie within 1.96 of these. Before the first result nothing is known of the response's
        units: with old data then, those of the old response stand for them.

        Of several responses there are these columns for each, under its name. Where something is required, or a run
        failed, `probability` is that of a run that works and meets all that is required.
        """
        table = as_table(settings, self.space.names)
        codes = codes_of_run(table, self.surrogate.box)
        index = settings.index if isinstance(settings, pd.DataFrame) else table.index
        if not len(self._history):
            return predicted_beforehand(self.surrogate, codes).set_axis(index)
        return predicted(self._model(), codes, self._suggester.aims).set_axis(index)

    @locked
    def recommend(self, candidates: Any = None) -> Recommendation:
        """The setting to use, with a 95 % interval: by all results together, and not by a lucky measurement alone.

        Args:
            candidates: Recommend one of these settings; any that was tried or that the model expects most of, when left
                out.
        """
        self._refuse_if_nothing_told("recommend")
        pool = None if candidates is None else self._suggester.pool(candidates)
        return recommended(self._suggester, self._model(), self._seed, pool)

    @locked
    def remaining(self, more_than: float = 0.0, candidates: Any = None) -> Remaining:
        """What may still be gained on the recommended setting: whether it is time to stop.

        Args:
            more_than: The probability of a gain of more than this is given, in units of the response.
            candidates: The settings to choose from, if not all of the space.
        """
        self._refuse_if_nothing_told("remaining")
        pool = None if candidates is None else self._suggester.pool(candidates)
        more_than = number(more_than, "more_than", least=0.0)
        return remaining(self._suggester, self._model(), self._seed, more_than, pool)

    @locked
    def replicate(self, candidates: Any = None) -> Replication:
        """Whether repeating a setting, and which, makes the recommended setting better than a new one would.

        Nothing is asked for by it: run the setting again and tell what came of it, if that is worthwhile.
        """
        self._refuse_if_nothing_told("replicate")
        under_way = settings_of(self._history.pending)
        instead = self._suggester.suggest(self._history, under_way, self._seed, candidates, self._model())
        return replication(self._suggester, self._model(), instead)

    @property
    @locked
    def noise(self) -> float | dict[str, float]:
        """The standard deviation of the noise, as the model has it; of several responses by name.

        Of a response that is modelled by its logarithm, as a share of the response.
        """
        self._refuse_if_nothing_told("noise")
        found = noise_in(self._model(), self._suggester.aims)
        return found if self._suggester.others else found[self.target]

    def _refuse_if_nothing_told(self, what: str) -> None:
        missing = [one.target for one in self._suggester.aims.objectives if not one.told(self._history.told)]
        if missing:
            failed = " (every run failed)" if any(trial.failed for trial in self._history.told) else ""
            raise InputError(f"{what} needs a result; nothing was told of {listed(missing)} yet{failed}.")

    @property
    @locked
    def trust(self) -> Trust | dict[str, Trust]:
        """How much each belief about the old data is trusted by now, how the objective goes with it, and since when.

        Of several responses by name, for those that there is old data of.
        """
        aims, others = self._suggester.aims, self._suggester.others
        if not others:
            return self._trust_in(aims.main, self.surrogate)
        each = {one.target: others.get(one.target, self.surrogate) for one in aims.responses}
        known = {name: one for name, one in each.items() if isinstance(one, Average) and one.known}
        return {name: self._trust_in(aims.named(name), one) for name, one in known.items()}

    def _trust_in(self, response: Objective, average: Surrogate) -> Trust:
        if not isinstance(average, Average) or average.alone or not average.known:
            no_old_data = isinstance(average, Average) and not average.known
            has = "no old data that is used" if no_old_data else f"the one model {type(average).__name__}"
            raise InputError(
                "Trust is a matter of several beliefs, so it takes old data and prior='average'; this Optimizer has "
                f"{has}."
            )
        so_far = self._trust.get(response.target) or TrustSoFar(average, response, self._suggester.aims)
        self._trust[response.target] = so_far.after(tuple(response.told(self._history.told)))
        return self._with_origins(response, self._trust[response.target].trust)

    @overload
    def explain(self, setting: None = None, candidates: Any = None) -> Taught: ...
    @overload
    def explain(self, setting: _Explainable, candidates: Any = None) -> Reasons: ...
    @locked
    def explain(self, setting: _Explainable | None = None, candidates: Any = None) -> Taught | Reasons:
        """Without a setting, what the old data taught; with one, why it: both in words and as tables.

        Args:
            setting: A pending suggestion, any other setting, or a trial or its number.
            candidates: The settings that the suggestion was picked from, if not all of the space.
        """
        fitted = self._model() if len(self._history) else None
        if setting is None:
            return taught_by(self._suggester, fitted)
        trial = trial_meant(setting, self._history, self.space)
        at = self._setting(setting) if trial is None else trial.setting
        trust = {one.target: trust for one in self._suggester.aims.responses if (trust := self._trust_now(one))}
        asked = Asked(self._suggester, self._history, fitted, at, trial, trust, self._seed, candidates)
        return asked.reasons()

    def _setting(self, setting: Any) -> Setting:
        return as_given(as_table(setting, self.space.names).iloc[0].to_dict(), self.space)

    def _trust_now(self, response: Objective) -> Trust | None:
        """Trust in old data of a response, without what it was before; None if there is nothing to speak of."""
        average = surrogate_of(self._suggester, response)
        if not isinstance(average, Average) or average.alone or not average.known:
            return None
        so_far = self._trust.get(response.target) or TrustSoFar(average, response, self._suggester.aims)
        return self._with_origins(response, so_far.only_after(tuple(response.told(self._history.told))))

    def _with_origins(self, response: Objective, trust: Trust) -> Trust:
        """Trust in old data of the first response says which results it gave without a model; said once is enough."""
        if not response.is_main:
            return trust
        results = results_by_origin(self._history, self._suggester)
        return replace(trust, where_from=origins_in_words(results, self._suggester.aims))

    # -- how it is done --------------------------------------------------------------------------------

    def _model(self) -> Fitted:
        """The model of everything told, made once after each `tell`."""
        if self._fitted is None or self._fitted.history.told is not self._history.told:
            self._fitted = self._suggester.fit(self._history, self._seed, self._fitted)
        return self._fitted
