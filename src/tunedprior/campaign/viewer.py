"""`Viewer`, the part of `Optimizer` that reads: its arguments, predictions, recommendation, trust and explanations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, overload

import pandas as pd

from tunedprior.acquisition.functions import AcquisitionChoice
from tunedprior.campaign.notebook import TrialRecorder, lock_method
from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.explain.source_explanation import PriorExplanation
from tunedprior.explain.suggestions import (
    Reasons,
    SettingExplainer,
    describe_origins,
    explain_old_data,
    get_surrogate,
    group_by_origin,
)
from tunedprior.explain.trust import Trust, TrustHistory
from tunedprior.goals.goal import Goal
from tunedprior.goals.objective import Objective, encode_run_settings
from tunedprior.history.parsing import Suggestion, check_number, find_trial
from tunedprior.history.trials import Trial, collect_settings, recognise_setting
from tunedprior.models.surrogate import Surrogate
from tunedprior.source_data.rows import OldDataReport
from tunedprior.space.encoding import to_settings_table
from tunedprior.space.search_space import Setting, Space
from tunedprior.storage.file_guard import OldSource
from tunedprior.suggestion.prediction import predict_from_old_data, predict_responses
from tunedprior.suggestion.recommendation import Recommendation, estimate_noise, recommend_setting
from tunedprior.suggestion.response_models import FittedModels
from tunedprior.suggestion.stopping import RemainingGain, Replication, estimate_remaining, evaluate_replication
from tunedprior.suggestion.suggester import Suggester
from tunedprior.weight_prior.sources import BeliefWeighingSurrogate, SourceSurrogate

# A setting, a suggestion, a row of a table, a trial or its number.
_Explainable = Setting | Suggestion | Trial | pd.Series | pd.DataFrame | int


class Viewer(TrialRecorder):
    """The properties and predictions of an `Optimizer`; nothing here changes the campaign."""

    _seed: int
    _report: OldDataReport
    _fitted: FittedModels | None
    _trust: dict[str, TrustHistory]

    # -- what it was made with: for reading ------------------------------------------------------------

    @property
    def suggester(self) -> Suggester:
        """The pure function that makes suggestions; optimisers, threads and processes may share it."""
        return self._suggester

    @property
    def surrogate(self) -> Surrogate:
        """The function from observations to a model: `Average`, `TunedPrior`, `StandardSurrogate`, or a given one."""
        return self._suggester.surrogate

    @property
    def space(self) -> Space:
        """The search space."""
        return self._suggester.space

    @property
    def target(self) -> str:
        """The name of the response."""
        return self._suggester.objective.name

    @property
    def direction(self) -> Goal:
        """The goal of the (first) response."""
        return self._suggester.objective.direction

    @property
    def noise_std(self) -> float | None:
        """The measurement noise, where it is known."""
        return self._suggester.objective.noise_std

    @property
    def acquisition(self) -> AcquisitionChoice:
        """The acquisition function: "ei", "ucb" or a BoTorch class."""
        return self._suggester.search.acquisition

    @property
    def beta(self) -> str | float:
        """GP-UCB's schedule."""
        return self._suggester.search.beta

    @property
    def old_sources(self) -> tuple[OldSource, ...]:
        """The sources of old data: a name, a path and a fingerprint for each data set."""
        return self._made_with.old_sources

    @property
    def seed(self) -> int:
        """The seed, which makes suggestions repeatable."""
        return self._seed

    @property
    def old_data_report(self) -> OldDataReport:
        """What was assumed, left out or looked wrong when old data was read."""
        return self._report

    # -- looking ---------------------------------------------------------------------------------------

    @lock_method
    def predict(self, settings: Setting | Sequence[Setting] | pd.DataFrame) -> pd.DataFrame:
        """Predict the response at settings, in its units, with the index of the table.

        `mean`; `std`, its uncertainty; `measured_std`, the uncertainty of a noisy measurement: 95 of 100 measurements
        should lie within 1.96 of these. Before the first result the response's units are not known; with old data,
        those of the old response are used.

        Of several responses there are these columns for each, under its name. With requirements or failed runs,
        `probability` is that of a run that works and meets all requirements.
        """
        table = to_settings_table(settings, self.space.names)
        X = encode_run_settings(table, self.surrogate.box)
        index = settings.index if isinstance(settings, pd.DataFrame) else table.index
        if not len(self._history):
            return predict_from_old_data(self.surrogate, X).set_axis(index)
        return predict_responses(self._fit_model(), X, self._suggester.goals).set_axis(index)

    @lock_method
    def recommend(self, candidates: Any = None) -> Recommendation:
        """Recommend the best setting by the model of all results, rather than by one lucky measurement.

        There is a 95 % interval of the response at the setting.

        Args:
            candidates: Recommend one of these settings; when left out, a tried setting or the maximum of the posterior
                mean.
        """
        self._refuse_if_nothing_told("recommend")
        pool = None if candidates is None else self._suggester.parse_candidates(candidates)
        return recommend_setting(self._suggester, self._fit_model(), self._seed, pool)

    @lock_method
    def estimate_remaining(self, more_than: float = 0.0, candidates: Any = None) -> RemainingGain:
        """Estimate the gain that is left over the recommended setting (simple regret), to decide when to stop.

        Args:
            more_than: Also give the probability of a gain of more than this, in units of the response.
            candidates: The settings to choose from, if not all of the space.
        """
        self._refuse_if_nothing_told("remaining")
        pool = None if candidates is None else self._suggester.parse_candidates(candidates)
        more_than = check_number(more_than, "more_than", least=0.0)
        return estimate_remaining(self._suggester, self._fit_model(), self._seed, more_than, pool)

    @lock_method
    def replicate(self, candidates: Any = None) -> Replication:
        """Whether a repetition, and of which setting, improves the recommended setting more than a new setting would.

        It suggests nothing by itself: run the setting again and tell the result, if that is worthwhile.
        """
        self._refuse_if_nothing_told("replicate")
        pending_settings = collect_settings(self._history.pending)
        instead = self._suggester.suggest(self._history, pending_settings, self._seed, candidates, self._fit_model())
        return evaluate_replication(self._suggester, self._fit_model(), instead)

    @property
    @lock_method
    def noise(self) -> float | dict[str, float]:
        """The standard deviation of the noise as the model estimates it; of several responses by name.

        For a response modelled by its logarithm, it is a share of the response.
        """
        self._refuse_if_nothing_told("noise")
        found = estimate_noise(self._fit_model(), self._suggester.goals)
        return found if self._suggester.other_surrogates else found[self.target]

    def _refuse_if_nothing_told(self, what: str) -> None:
        missing = [one.name for one in self._suggester.goals.objectives if not one.select_measured(self._history.told)]
        if missing:
            failed = " (every run failed)" if any(trial.failed for trial in self._history.told) else ""
            raise InputError(f"{what} needs a result; nothing was told of {format_list(missing)} yet{failed}.")

    @property
    @lock_method
    def trust(self) -> Trust | dict[str, Trust]:
        """The trust in each belief about old data by now, its development, and the sign of the relation.

        Of several responses by name, for those that have old data.
        """
        goals, others = self._suggester.goals, self._suggester.other_surrogates
        if not others:
            return self._update_trust(goals.main, self.surrogate)
        each = {one.name: others.get(one.name, self.surrogate) for one in goals.responses}
        known = {name: one for name, one in each.items() if isinstance(one, SourceSurrogate) and one.sources}
        return {name: self._update_trust(goals.get_response(name), one) for name, one in known.items()}

    def _update_trust(self, response: Objective, surrogate: Surrogate) -> Trust:
        if not isinstance(surrogate, BeliefWeighingSurrogate) or not surrogate.weighs_beliefs:
            no_old_data = isinstance(surrogate, SourceSurrogate) and not surrogate.sources
            has = "no old data that is used" if no_old_data else f"the one model {type(surrogate).__name__}"
            raise InputError(
                "Trust is a matter of several beliefs, so it takes old data and prior='average'; this Optimizer has "
                f"{has}."
            )
        so_far = self._trust.get(response.name) or TrustHistory(surrogate, response, self._suggester.goals)
        self._trust[response.name] = so_far.extend_to(tuple(response.select_measured(self._history.told)))
        return self._fill_origins(response, self._trust[response.name].trust)

    @overload
    def explain(self, setting: None = None, candidates: Any = None) -> PriorExplanation: ...
    @overload
    def explain(self, setting: _Explainable, candidates: Any = None) -> Reasons: ...
    @lock_method
    def explain(self, setting: _Explainable | None = None, candidates: Any = None) -> PriorExplanation | Reasons:
        """Explain in words and tables: what was learnt from old data, or with a setting, why it was suggested.

        Args:
            setting: A pending suggestion, any other setting, or a trial or its number.
            candidates: The settings that the suggestion was chosen from, if not all of the space.
        """
        fitted = self._fit_model() if len(self._history) else None
        if setting is None:
            return explain_old_data(self._suggester, fitted)
        trial = find_trial(setting, self._history, self.space)
        at = self._parse_setting(setting) if trial is None else trial.setting
        trust = {
            one.name: trust for one in self._suggester.goals.responses if (trust := self._compute_current_trust(one))
        }
        explainer = SettingExplainer(self._suggester, self._history, fitted, at, trial, trust, self._seed, candidates)
        return explainer.build_reasons()

    def _parse_setting(self, setting: Any) -> Setting:
        return recognise_setting(to_settings_table(setting, self.space.names).iloc[0].to_dict(), self.space)

    def _compute_current_trust(self, response: Objective) -> Trust | None:
        """The present trust in old data for a response, without its development; None without old data."""
        surrogate = get_surrogate(self._suggester, response)
        if not isinstance(surrogate, BeliefWeighingSurrogate) or not surrogate.weighs_beliefs:
            return None
        so_far = self._trust.get(response.name) or TrustHistory(surrogate, response, self._suggester.goals)
        return self._fill_origins(
            response, so_far.compute_trust_after(tuple(response.select_measured(self._history.told)))
        )

    def _fill_origins(self, response: Objective, trust: Trust) -> Trust:
        """Add to the trust in old data of the first response how its first settings compare with the design's."""
        if not response.is_main:
            return trust
        results = group_by_origin(self._history, self._suggester)
        return replace(trust, where_from=describe_origins(results, self._suggester.goals))

    # -- how it is done --------------------------------------------------------------------------------

    def _fit_model(self) -> FittedModels:
        """The models of all results, fitted once after each `tell`."""
        if self._fitted is None or self._fitted.history.told is not self._history.told:
            self._fitted = self._suggester.fit(self._history, self._seed, self._fitted)
        return self._fitted
