"""`Optimizer`: Bayesian optimisation with transfer from old data, with `ask` and `tell`, saving and loading."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from os import PathLike
from threading import RLock
from typing import Any, TypeVar, cast, overload

import pandas as pd
from optuna.storages import BaseStorage
from optuna.study import Study

from tunedprior.acquisition.functions import AcquisitionChoice
from tunedprior.acquisition.optimisation import is_near
from tunedprior.campaign.opening import (
    OpenedCampaign,
    make_config,
    open_campaign,
    open_saved_campaign,
    open_suggester,
)
from tunedprior.campaign.recorder import TrialRecorder
from tunedprior.campaign.recording import RecordReport, UndoReport
from tunedprior.campaign.summary import render_summary_html, render_summary_text, summarise_campaign
from tunedprior.checks import check_positive_integer, format_list, refuse_other_types
from tunedprior.errors import InputError, StorageError
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
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective, encode_run_settings
from tunedprior.history.parsing import (
    Run,
    RunResult,
    Suggestion,
    check_number,
    find_trial,
    get_pending_trial,
    list_boolean_responses,
)
from tunedprior.history.table import make_history_table
from tunedprior.history.trials import History, Trial, collect_settings, recognise_setting
from tunedprior.kernels import FreeKernel
from tunedprior.models.surrogate import Surrogate
from tunedprior.source_data.rows import OldDataReport
from tunedprior.space.encoding import to_settings_table
from tunedprior.space.parameters import Description
from tunedprior.space.search_space import Setting, Space
from tunedprior.storage.journal import encode_campaign_file
from tunedprior.storage.stored_campaign import (
    UNNAMED,
)
from tunedprior.suggestion.candidates import Pool
from tunedprior.suggestion.config import CampaignConfig, Cost, SearchConfig, TransferConfig
from tunedprior.suggestion.prediction import predict_from_old_data, predict_responses
from tunedprior.suggestion.recommendation import (
    BaselineSuggestion,
    Recommendation,
    estimate_noise,
    recommend_setting,
    suggest_baseline,
)
from tunedprior.suggestion.response_models import FittedModels
from tunedprior.suggestion.stopping import RemainingGain, Replication, estimate_remaining, evaluate_replication
from tunedprior.suggestion.suggester import Suggester
from tunedprior.weight_prior.sources import (
    UNKNOWN,
    BeliefWeighingSurrogate,
    OldData,
    SourceSurrogate,
    name_sources,
)

OptimizerT = TypeVar("OptimizerT", bound="Optimizer")
MethodT = TypeVar("MethodT", bound=Callable[..., Any])
# A setting, a suggestion, a row of a table, a trial or its number.
Explainable = Setting | Suggestion | Trial | pd.Series | pd.DataFrame | int


def lock_method(method: MethodT) -> MethodT:
    """Decorate a method to hold the object's `_lock`; such methods may call each other."""

    @wraps(method)
    def call_locked(self: Any, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **options)

    return cast(MethodT, call_locked)


class Optimizer:
    """Suggests the next experiment, from the results so far and from related old data.

    Suggestions depend on the configuration, on the results in their order, and on pending settings alone:
    an Optimizer that `resume`s a saved `history` continues without a difference. It may be shared by threads.

    Args:
        space: Parameter names and their values: `(low, high)`, `(low, high, step)` for a grid (of whole numbers, if all
            three are), `(low, high, "log")` for a logarithmic scale (and `(low, high, "log", 3)` for suggestions of
            three significant digits), a list of values, or an Optuna distribution.
        old_data: A table, the path of a file with one (CSV in any dialect, Excel, Parquet), an Optuna study, or a
            `WeightPrior` learnt before or its file; several such as a list or by name; None: none.
        direction: The goal of the response: `"maximize"`, `"minimize"`, or a value or range to come close to,
            `Target(500.0)` or `Target(480.0, 520.0)`.
        objectives: Several responses and the goal of each by name, instead of target and direction; or `Goals`, which
            also say preferences, limits and logarithmic scales.
        target: The name of the response, in the old data and in the history; `"y"`, when left out.
        requirements: Conditions that results must meet, by response: `">= 0.95"`, `"<= 3"`, `(low, high)`, or `"pass"`
            for a response that is pass or fail. Each has a model, from old data too.
        constraints: Conditions that every suggestion must satisfy, one or a list: linear, as text (`"a + 2*b <= 10"`)
            or `LinearConstraint`; `Mixture`; `OnlyWhen`; or a function of a setting that returns True or False.
        relation: What you know of the old response, one word for all old data sets or a dict by name: `"same"` if it
            rises with the new one, `"opposite"` if it falls, `"unknown"`. It has a high prior probability, which
            results can outweigh.
        noise_std: The standard deviation of the measurement noise in the response's units, where it is known; 0 for an
            exact response; of several objectives by name. It counts as at least 0.14 % of the standard deviation of the
            results, except with the prior `"as printed"`. Estimated when left out.
        seed: Makes suggestions repeatable; drawn and recorded when left out.
        storage: The URL of a database to keep the campaign in, such as `"sqlite:///campaign.db"` or
            `"postgresql://user@host/database"`, or an Optuna storage. The campaign is an Optuna study there. Several
            people and programs may ask and tell at the same time. A campaign that is there already continues, with what
            it learnt from old data.
        name: The name of the campaign in the storage.
        transfer: How old data is used: the prior and its kernel.
        search: How suggestions are searched for: the acquisition function, the first settings, failures, costs, and a
            model of your own.

    >>> opt = Optimizer({"temperature": (20.0, 90.0), "catalyst": ["A", "B"]}, direction="minimize", seed=1)
    >>> setting = opt.ask()
    >>> opt.tell(setting, 0.71)
    >>> opt.best.value
    0.71
    """

    def __init__(
        self,
        space: Mapping[str, Description] | Space,
        old_data: OldData | Sequence[OldData] | Mapping[str, OldData] | None = None,
        direction: Goal | None = None,
        *,
        objectives: Mapping[str, Goal] | Goals | None = None,
        target: str | None = None,
        requirements: Mapping[str, Any] | None = None,
        constraints: Any = (),
        relation: str | Mapping[str, str] = UNKNOWN,
        noise_std: float | Mapping[str, float] | None = None,
        seed: int | None = None,
        storage: str | BaseStorage | None = None,
        name: str = UNNAMED,
        transfer: TransferConfig | None = None,
        search: SearchConfig | None = None,
    ) -> None:
        config = make_config(
            Space.parse(space).add_constraints(constraints),
            Goals.parse(direction, objectives, target=target, requirements=requirements, noise_std=noise_std),
            transfer,
            search,
            sets := name_sources(old_data),
            relation,
        )
        self._start(open_campaign(config, sets, storage, name, seed))

    @classmethod
    def from_config(
        cls: type[OptimizerT],
        config: CampaignConfig,
        old_data: OldData | Sequence[OldData] | Mapping[str, OldData] | None = None,
        storage: str | BaseStorage | None = None,
        name: str = UNNAMED,
    ) -> OptimizerT:
        """Make an optimiser from a configuration, such as the `config` of another one."""
        refuse_other_types(config, CampaignConfig, "config", "a CampaignConfig, such as opt.config")
        return cls._from_opened(open_campaign(config, name_sources(old_data), storage, name, config.seed))

    @classmethod
    def from_suggester(cls: type[OptimizerT], suggester: Suggester, seed: int = 0) -> OptimizerT:
        """Make an optimiser with an existing suggester, so that nothing is learnt from old data again."""
        refuse_other_types(suggester, Suggester, "suggester", "a Suggester, such as opt.suggester")
        return cls._from_opened(open_suggester(suggester, seed))

    @classmethod
    def _from_opened(cls: type[OptimizerT], opened: OpenedCampaign) -> OptimizerT:
        made = cls.__new__(cls)
        made._start(opened)
        return made

    def _start(self, opened: OpenedCampaign) -> None:
        self._suggester, self._config, self._objects = opened.suggester, opened.config, opened.objects
        self._recorder = TrialRecorder(opened.suggester, opened.config, opened.record)
        self._lock = RLock()
        self._report, self._file = opened.report, opened.file
        self._fitted: FittedModels | None = None
        self._offered: Pool | None = None  # the candidates of the last `ask`
        self._trust: dict[str, TrustHistory] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: one for name, one in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    # -- what it is made of ----------------------------------------------------------------------------

    @property
    def config(self) -> CampaignConfig:
        """What the campaign was made with: space, goals, transfer from old data, search, seed and id."""
        return self._config

    @property
    def id(self) -> str:
        """The campaign's unique identifier: sheets of suggestions carry it, and copies of a file share it."""
        return self._recorder.id

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
        """The name of the (first) response."""
        return self._suggester.objective.name

    @property
    def direction(self) -> Goal:
        """The goal of the (first) response."""
        return self._suggester.objective.direction

    @property
    def seed(self) -> int:
        """The seed, which makes suggestions repeatable."""
        return self._config.seed

    @property
    def old_data_report(self) -> OldDataReport:
        """What was assumed, left out or looked wrong when old data was read."""
        return self._report

    @property
    def study(self) -> Study | None:
        """The Optuna study that holds the campaign; None without a storage."""
        return self._recorder.study

    @property
    def _history(self) -> History:
        return self._recorder.history

    @property
    def _has_own_model(self) -> bool:
        return self._config.search.model is not None or self._objects is not None

    # -- asking ----------------------------------------------------------------------------------------

    @overload
    def ask(self, n: None = None, candidates: Any = None) -> Suggestion: ...
    @overload
    def ask(self, n: int, candidates: Any = None) -> list[Suggestion]: ...
    @lock_method
    def ask(self, n: int | None = None, candidates: Any = None) -> Suggestion | list[Suggestion]:
        """Suggest the next setting to try, or with `n` a list of n settings to try side by side.

        No setting is suggested twice while there are others, unless the noise is known not to be zero. When all were
        tried, an `ExhaustedWarning` says so.

        Args:
            n: The number of settings; None for a single one, not in a list.
            candidates: Choose among these settings only, such as a grid of feasible ones: a table, or a file with one.

        >>> opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=0)
        >>> sorted(opt.ask()), len(opt.ask(n=2)), opt.ask(candidates=[{"x": 0.25}])
        (['x'], 2, {'x': 0.25})
        """
        if isinstance(n, pd.DataFrame | list):
            raise InputError("n is how many settings to give. Write ask(candidates=…) to pick from a list.")
        n = None if n is None else check_positive_integer(n, "n")
        pool = None if candidates is None else self._suggester.parse_candidates(candidates)
        if pool is not None and n is not None and n > len(pool):
            raise InputError(f"{n} settings were asked for, and there are {len(pool)} candidates.")
        self._offered = pool
        before = self._history
        settings: list[Setting] = []
        for _ in range(1 if n is None else n):
            settings.append(self._suggest(before.append_all_pending(settings), pool))
        asked = self._recorder.append_suggestions(
            before, settings, lambda settings, known, now: self._replace_taken(settings, known, now, pool)
        )
        return asked if n is not None else asked[0]

    def _suggest(self, history: History, pool: Pool | None) -> Setting:
        """Suggest the next setting after a history: the present one with more pending settings."""
        pending_settings = collect_settings(history.pending)
        fitted = None if self._suggester.is_designing(history, pending_settings) else self._fit_model()
        return self._suggester.suggest(history, pending_settings, self._config.seed, pool, fitted)

    def _replace_taken(
        self, settings: Sequence[Setting], known: History, now: History, pool: Pool | None
    ) -> list[Setting]:
        """Replace those settings that somebody else was given (or nearly) or tried meanwhile.

        Args:
            settings: The chosen settings.
            known: The history that they were chosen for.
            now: The present history.
            pool: The candidates, if there are any.
        """
        box, before = self._suggester.surrogate.box, {one.id for one in known.trials}
        new = collect_settings([one for one in now.trials if one.id not in before])
        found: list[Setting] = []
        for setting in settings:
            at, taken = box.encode([dict(setting)]), [*new, *found]
            again = bool(taken) and bool(is_near(at, encode_run_settings(taken, box), self._suggester.encoded_space)[0])
            found.append(self._suggest(now.append_all_pending(found), pool) if again else setting)
        return found

    @lock_method
    def shadow(self, setting: Setting, candidates: Any = None) -> BaselineSuggestion:
        """The suggestion without old data in place of this pending setting, and the distance of the two.

        It uses all results so far, the same acquisition function, and the settings that were pending when this one was
        suggested.
        """
        trial = get_pending_trial(setting, self._history, self.space, "A shadow is that of a pending setting")
        return suggest_baseline(self._suggester, self._history, trial, self._config.seed, candidates)

    @property
    @lock_method
    def summary(self) -> dict[str, str]:
        """The state of the campaign in a few words, by topic."""
        return summarise_campaign(self._suggester, self._history, self._config.transfer, self._has_own_model)

    def __repr__(self) -> str:
        return render_summary_text(type(self).__name__, self.summary)

    def _repr_html_(self) -> str:
        return render_summary_html(type(self).__name__, self.summary)

    # -- recording -------------------------------------------------------------------------------------

    @lock_method
    def tell(
        self,
        setting: Setting | Sequence[Setting] | pd.DataFrame | pd.Series,
        value: RunResult | None = None,
        failed: bool | Sequence[bool] = False,
        *,
        trial: int | Suggestion | Trial | None = None,
        note: str = "",
        noise_std: float | Sequence[float] | Mapping[str, float] | None = None,
        cost: float | Sequence[float] | None = None,
        who: str = "",
    ) -> None:
        """Record the results of one setting or of several.

        A failed run has the value NaN, or `failed=True`. A setting need not have been suggested, and need not lie on
        the grid: give what was actually run. A setting that `ask` returned is recognised by its trial's number, changed
        or not; any other setting within 5 % of a pending suggestion counts as that one. A setting with another category
        or further off is a trial of its own, and the suggestion stays `pending`, unless `trial=` names it. Columns of a
        table that are no parameters are kept with the trial. Either all results are recorded, or none and an
        `InputError` is raised.

        Args:
            setting: The setting that was run, or several.
            value: The result: a number, or a column with one for each setting. Of several responses a dict by name
                (some may be left out), a list of such dicts, or a table.
            failed: Whether the run gave no value.
            trial: The number of the suggestion that was run, where it is known.
            note: A note to keep with the trial.
            noise_std: The standard deviation of the noise of these values, or one for each setting; of several
                responses by name. For values whose noise is known in particular.
            cost: The cost of each run, one for all or one for each. Once costs are recorded, suggestions maximise the
                improvement per unit of cost.
            who: The person who records it, for the journal.

        >>> opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=0)
        >>> opt.tell({"x": 0.4}, 1.7, note="new bottle")
        >>> opt.tell([{"x": 0.1}, {"x": 0.9}], [0.3, float("nan")])
        >>> opt.best.setting, [trial.state for trial in opt.trials.told]
        ({'x': 0.4}, ['complete', 'complete', 'failed'])
        """
        goals = self._suggester.goals
        run = Run.parse(setting, value, failed, trial, note, self._recorder.columns, goals, noise_std, cost)
        self._recorder.record_run(run, list_boolean_responses(value, goals), who)

    @lock_method
    def record(
        self,
        results: Any,
        *,
        as_run: bool = False,
        skip_recorded: bool = False,
        own: bool = True,
        beyond_limits: bool = False,
        who: str = "",
    ) -> RecordReport:
        """Record a table of suggestions with results filled in; all rows, or none and an `InputError`.

        A row is recognised by its trial's number; a row without one is a run that nobody suggested; a row without a
        result stays open. The `InputError` names each wrong row and the reason: a setting outside of the space, or far
        from the suggestion of that number (another category, or a number more than a quarter of the range away); a
        trial with a result already; a result beyond its declared limits; a cell that is no number. A sheet written for
        another campaign is refused; one without a campaign's id is accepted.

        Args:
            results: A table, or a file with one (CSV in any dialect, Excel).
            as_run: Whether settings are accepted as they are, on the grid or not, near the suggestion or not.
            skip_recorded: Whether rows with a result that is recorded already are skipped.
            own: Whether rows without a trial's number are accepted, as runs that nobody suggested.
            beyond_limits: Whether results beyond the declared limits of a response are accepted.
            who: The person who records it, for the journal.
        """
        return self._recorder.record_table(
            results, as_run=as_run, skip_recorded=skip_recorded, own=own, beyond_limits=beyond_limits, who=who
        )

    @lock_method
    def undo(self, trial: int | Suggestion | Trial | None = None, *, who: str = "") -> UndoReport:
        """Undo the last change: a result, a correction, a withdrawal or a cancellation, whoever made it.

        When a result is undone, its suggestion is pending again under its number; a run that nobody suggested is
        withdrawn. In all other cases the trial is as it was before. Calling it again undoes the change before. The
        journal keeps all entries.

        Args:
            trial: Undo the result of this trial instead, with all its corrections: its number in `history`, or the
                trial.
            who: The person who undoes it, for the journal.
        """
        return self._recorder.undo(trial, who=who)

    @property
    @lock_method
    def undo_count(self) -> int:
        """The number of changes that `undo` can undo."""
        return len(self._recorder.changes_in_force)

    @lock_method
    def amend(
        self,
        trial: int | Suggestion | Trial,
        value: RunResult | None = None,
        *,
        failed: bool = False,
        setting: Setting | None = None,
        note: str | None = None,
        who: str = "",
    ) -> None:
        """Correct a recorded result; it keeps its number and place, and what is left out stays as it was.

        The journal keeps the earlier values.

        Args:
            trial: Its number in `history`, or the trial.
            value: The right value; of several responses a dict of those to correct.
            failed: Whether it gave no value after all.
            setting: The setting that was really run; parameters that are left out stay as they were.
            note: The new note.
            who: The person who corrects it, for the journal.
        """
        self._recorder.amend(trial, value, failed=failed, setting=setting, note=note, who=who)

    @lock_method
    def withdraw(self, trial: int | Suggestion | Trial, note: str = "", *, who: str = "") -> None:
        """Set a result aside: it stays in `history` with the state "withdrawn" and counts for nothing else.

        Args:
            trial: Its number in `history`, or the trial.
            note: The reason; it replaces the trial's note.
            who: The person who withdraws it, for the journal.
        """
        self._recorder.withdraw(trial, note, who=who)

    @lock_method
    def cancel(self, setting: Setting | int | Trial | Sequence[Setting | int | Trial], *, who: str = "") -> None:
        """Set aside pending settings that will not be run; `history` calls them "cancelled"."""
        self._recorder.cancel(setting, who=who)

    @lock_method
    def resume(self: OptimizerT, history: pd.DataFrame | str | PathLike[str] | History) -> OptimizerT:
        """Continue from a saved `history` (a table or a file) with its pending suggestions.

        Results filled in since then are recorded: values beside pending rows, and rows of results at the end. If a row
        contradicts the campaign, an `InputError` names it and nothing is recorded.
        """
        self._recorder.resume(history)
        return self

    # -- looking ---------------------------------------------------------------------------------------

    @property
    @lock_method
    def journal(self) -> pd.DataFrame:
        """Every change of every trial in the order of writing: who changed what, when, and the earlier values.

        `sequence`, the number of the entry; `time`, in UTC; `who`, where it is known; `action`: suggest, record, amend,
        withdraw, undo, cancel, or adopt for trials from before or from elsewhere; `trial`, its number; `before` and
        `after`: the changed fields of the trial, by name. Entries are never changed.
        """
        return self._recorder.journal

    @property
    @lock_method
    def history(self) -> pd.DataFrame:
        """All trials as a table: told ones in order, then pending ones, then those set aside; see `resume`.

        The settings; the response (`y`, or the name given as `target=`; NaN for a failed run); `state` (complete,
        failed, pending, cancelled or withdrawn); `asked`, whether the setting was suggested; `trial`, its number; and
        `direction`. Where there are any, notes, columns of your own and the suggested settings follow. If a parameter
        has one of these names, the column's name gets a `_` at its end.
        """
        return make_history_table(self._history, self._recorder.columns, self._recorder.direction)

    @property
    @lock_method
    def front(self) -> pd.DataFrame:
        """The Pareto front so far, as rows of `history`; of a single objective, the best trial.

        These are the trials that meet all requirements and that no other trial dominates.
        """
        kept = self._suggester.goals.find_front(self._history.told)
        return make_history_table(History(tuple(kept)), self._recorder.columns, self._recorder.direction)

    @property
    @lock_method
    def trials(self) -> History:
        """The history as a value, with `told`, `pending` and `set_aside` trials."""
        return self._history

    @property
    @lock_method
    def pending(self) -> list[Setting]:
        """Settings that were suggested and have no result yet."""
        return [Suggestion(trial.setting, trial.id) for trial in self._history.pending]

    @property
    @lock_method
    def best(self) -> Trial | None:
        """The best trial so far that meets all requirements; None while there is none.

        With several objectives there is a `front` instead, unless a preference gives each a weight.
        """
        best = self._suggester.goals.find_best(self._history.told)
        return None if best is None else replace(best, setting=dict(best.setting))  # theirs to change

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
            candidates: Recommend one of these settings. When left out, a tried setting, or one of the candidates of the
                last `ask`; after an `ask` without candidates, or of a loaded campaign, the maximum of the posterior
                mean.
        """
        self._refuse_if_nothing_told("recommend")
        pool = self._make_offered_pool() if candidates is None else self._suggester.parse_candidates(candidates)
        return recommend_setting(self._suggester, self._fit_model(), self._config.seed, pool)

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
        return estimate_remaining(self._suggester, self._fit_model(), self._config.seed, more_than, pool)

    @lock_method
    def replicate(self, candidates: Any = None) -> Replication:
        """Whether a repetition, and of which setting, improves the recommended setting more than a new setting would.

        It suggests nothing by itself: run the setting again and tell the result, if that is worthwhile.
        """
        self._refuse_if_nothing_told("replicate")
        pending_settings = collect_settings(self._history.pending)
        instead = self._suggester.suggest(
            self._history, pending_settings, self._config.seed, candidates, self._fit_model()
        )
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

    def _make_offered_pool(self) -> Pool | None:
        """The tried settings and the candidates of the last `ask`; None if it chose from the whole space."""
        if self._offered is None:
            return None
        tried = collect_settings(self._suggester.keep_usable(self._history.told))
        return self._offered.include(tried)

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
    def explain(self, setting: Explainable, candidates: Any = None) -> Reasons: ...
    @lock_method
    def explain(self, setting: Explainable | None = None, candidates: Any = None) -> PriorExplanation | Reasons:
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
        explainer = SettingExplainer(
            self._suggester, self._history, fitted, at, trial, trust, self._config.seed, candidates
        )
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

    def _fit_model(self) -> FittedModels:
        """The models of all results, fitted once after each `tell`."""
        if self._fitted is None or self._fitted.history.told is not self._history.told:
            self._fitted = self._suggester.fit(self._history, self._config.seed, self._fitted)
        return self._fitted

    # -- a whole campaign in one file ------------------------------------------------------------------

    @lock_method
    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write the whole campaign into one file (JSON) for `load`; cheap enough after every `tell`.

        It holds the configuration, the history, and of old data its place and a fingerprint. After a crash the file is
        the previous one or the new one. Models, suggesters and functions are not in it: see `load`.

        A file that this optimiser neither saved nor loaded, or that was changed since, may hold somebody else's
        results. It is not replaced: that is an `InputError`, unless `overwrite` is true.
        """
        content = encode_campaign_file(self._config, self._recorder.store, path, self._objects)
        try:
            self._file = self._file.replace_file(path, content, overwrite)
        except StorageError:
            self._file = self._file.recognise(path, content)
            raise

    @classmethod
    def load(
        cls: type[OptimizerT],
        path: str | PathLike[str],
        old_data: OldData | Sequence[OldData] | Mapping[str, OldData] | None = None,
        *,
        name: str | None = None,
        suggester: Suggester | None = None,
        model: Surrogate | None = None,
        kernel: FreeKernel | None = None,
        acquisition: AcquisitionChoice | None = None,
        cost: Cost | None = None,
        constraints: Any = (),
        transfer: TransferConfig | None = None,
        search: SearchConfig | None = None,
        seed: int | None = None,
    ) -> OptimizerT:
        """Load a campaign that `save` wrote; it continues without a difference.

        Old data is read again from its place, and a warning says if it changed. A campaign in a database is loaded by
        its URL and its name; it continues with what was learnt from old data before. Space and goals are the
        campaign's: what was told is worth nothing with others.

        Args:
            path: The file, or the URL of a database.
            old_data: Old data that was not read from a file, or is elsewhere now; as for `Optimizer`.
            name: The name of the campaign in the database; the only one there, when left out.
            suggester: The suggester that the campaign was made with, if it was.
            model: The model that the campaign was made with, if it was.
            kernel: Its kernel, if that is of a class that does not say how it is saved.
            acquisition: Its acquisition function, if that is no importable class; or another one.
            cost: Its cost function, if it had one.
            constraints: Those of its constraints that are functions; and more constraints.
            transfer: Another use of old data.
            search: Another search for suggestions.
            seed: Another seed.
        """
        objects = {"suggester": suggester, "model": model, "kernel": kernel, "acquisition": acquisition, "cost": cost}
        changes: dict[str, Any] = {"constraints": constraints, "transfer": transfer, "search": search, "seed": seed}
        opened, history = open_saved_campaign(path, old_data, name, objects, changes)
        made = cls._from_opened(opened)
        if history is not None:  # of a file, which is adopted as it is, with its journal
            made.resume(history.history)
            made._recorder.store = history
        return made
