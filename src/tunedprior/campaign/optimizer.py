"""`Optimizer`: Bayesian optimisation with old data, with `ask` and `tell`, saving and loading."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from itertools import count
from os import PathLike
from threading import RLock
from typing import Any, TypeVar, overload

import pandas as pd
from optuna.storages import BaseStorage
from optuna.study import Study

from tunedprior.acquisition.functions import AcquisitionChoice
from tunedprior.acquisition.optimisation import is_near
from tunedprior.campaign.notebook import lock_method
from tunedprior.campaign.viewer import Viewer
from tunedprior.checks import (
    check_flag,
    check_positive_integer,
    check_seed,
    format_list,
    format_value,
    refuse_other_types,
)
from tunedprior.errors import InputError, StorageError
from tunedprior.explain.trust import TrustHistory
from tunedprior.goals.goal import Goal
from tunedprior.goals.goals import Goals, make_goals, refuse_names_of_parameters
from tunedprior.goals.objective import encode_run_settings
from tunedprior.history.parsing import Suggestion, get_pending_trial
from tunedprior.history.table import HistoryColumns
from tunedprior.history.trials import History, collect_settings, format_setting
from tunedprior.kernels import FreeKernel
from tunedprior.models.surrogate import Surrogate
from tunedprior.source_data.rows import OldDataReport
from tunedprior.space.parameters import Description
from tunedprior.space.search_space import Setting, Space
from tunedprior.storage import loading
from tunedprior.storage.databases import get_storage, open_storage
from tunedprior.storage.entry_log import ConflictError
from tunedprior.storage.file_guard import FileGuard, Provenance, list_given_names, make_sources
from tunedprior.storage.journal import SUGGEST, InMemoryRecord, JournalEntry, Ledger, Record, load_journal
from tunedprior.storage.saved_campaign import derive_file_id, draw_id, encode_campaign_file
from tunedprior.storage.stored_campaign import (
    UNNAMED,
    StoredCampaign,
    StudyRecord,
    drop_old_data,
    load_campaign,
    open_record,
)
from tunedprior.suggestion.candidates import Pool
from tunedprior.suggestion.config import LEARNT, OLD_DATA, Cost, SearchConfig
from tunedprior.suggestion.priors import AVERAGE, UNINFORMED, make_surrogates
from tunedprior.suggestion.recommendation import BaselineSuggestion, suggest_baseline
from tunedprior.suggestion.response_models import FittedModels
from tunedprior.suggestion.suggester import Suggester
from tunedprior.tables import lock_for_writing, write_atomically
from tunedprior.weight_prior.sources import (
    UNKNOWN,
    OldData,
    SourceSurrogate,
    make_report,
    name_sources,
    parse_relations,
    read_sources,
)

_MOST_NAMED, _MOST_COUNTED = 12, 1_000_000  # parameters that are described, and settings that are counted


def summarise_campaign(suggester: Suggester, history: History, made: Provenance) -> dict[str, str]:
    """The state of a campaign in a few lines, by topic."""
    space = suggester.space
    each = [f"{one.name} ({one.format_domain()})" for one in space.parameters]
    count = f"; {space.size:,} settings" if space.size is not None and space.size <= _MOST_COUNTED else ""
    failed = sum(trial.failed for trial in history.told)
    goals = suggester.goals
    lines = {
        "space": format_list(each, _MOST_NAMED) + count,
        "constraints": "; ".join(map(str, space.constraints)),
        "goal": goals.describe(),
        "told": f"{len(history)} results" + (f", {failed} of them failed runs" if failed else ""),
        "best": _describe_best(goals, history),
        "far worse": _describe_far_worse(suggester, history),
        "pending": _format_trials(history.pending),
        "set aside": _format_trials(history.set_aside),
        "prior": _describe_prior(suggester, made),
    }
    return {about: said for about, said in lines.items() if said}


def _describe_best(goals: Goals, history: History) -> str:
    if goals.has_front:
        front = goals.find_front(history.told)
        return f"{_format_trials(tuple(front))} with the best trade-offs" if front else "none yet"
    best = goals.find_best(history.told)
    if best is None:
        return "none yet" + (" that meets what is required" if goals.requirements and len(history) else "")
    told = ", ".join(f"{name} {value:.6g}" for name, value in best.more.items())
    return f"{best.value:.6g}{f' ({told})' if told else ''} at {format_setting(best.setting)} (trial {best.id})"


def _describe_far_worse(suggester: Suggester, history: History) -> str:
    found = suggester.goals.find_far_worse(history.told, suggester.surrogate.box)
    each = [
        f"{name if len(suggester.goals.responses) > 1 else ''} {_format_trials(tuple(one))}"
        for name, one in found.items()
    ]
    return f"{'; '.join(each).strip()}, which models take as merely worse" if each else ""


def render_summary_text(about: str, lines: dict[str, str]) -> str:
    """One line of text for each topic."""
    return "\n".join([f"<{about}", *(f"  {name}: {said}" for name, said in lines.items())]) + ">"


def render_summary_html(about: str, lines: dict[str, str]) -> str:
    """An HTML table of the topics, with all user text escaped."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(said)}</td></tr>" for name, said in lines.items())
    return f"<table><caption>{escape(about)}</caption>{rows}</table>"


def _format_trials(trials: tuple[object, ...]) -> str:
    numbers = [str(getattr(trial, "id", "")) for trial in trials]
    return f"{len(numbers)} (trial{'s' if len(numbers) > 1 else ''} {format_list(numbers)})" if numbers else ""


def _describe_prior(suggester: Suggester, made: Provenance) -> str:
    if "model" in made.objects or "suggester" in made.objects:
        return f"the model {type(suggester.surrogate).__name__}"
    if not made.old_sources:
        return f"{made.prior}, without old data"
    names = format_list(one.name for one in made.old_sources)
    surrogate = suggester.surrogate
    unused = ", which is not used" if isinstance(surrogate, SourceSurrogate) and not surrogate.sources else ""
    return f"{made.prior}, with {names}{unused}"


OptimizerT = TypeVar("OptimizerT", bound="Optimizer")
# How often a suggestion is made again because somebody else was given the same at the same moment.
_MOST_ROUNDS = 100


class Optimizer(Viewer):
    """Suggests the next experiment, from the results so far and from related old data.

    Suggestions depend on the arguments, on the results in their order, and on pending settings, and on nothing else: an
    Optimizer that `resume`s a saved `history` continues without a difference. It is a thin front over a `Suggester`,
    which makes suggestions, and a `History`, which keeps the trials.

    Args:
        space: Parameter names and their values: `(low, high)`, `(low, high, step)` for a grid (of whole numbers, if all
            three are), `(low, high, "log")` for a logarithmic scale (and `(low, high, "log", 3)` for suggestions of
            three significant digits), a list of values, or an Optuna distribution.
        old_data: A table, the path of a file with one (CSV in any dialect, Excel, Parquet), an Optuna study, or a
            `WeightPrior` learnt before or its file; several such as a list or by name; None: none.
        direction: The goal of the response: `"maximize"`, `"minimize"`, or a value or range to come close to,
            `Target(500.0)` or `Target(480.0, 520.0)`.
        acquisition: `"ei"` (expected improvement), `"ucb"` (GP-UCB), any BoTorch acquisition class that
            docs/asking.md lists, or the name of one that was registered.
        seed: Makes suggestions repeatable.
        target: The name of the response, in the old data and in the history.
        beta: GP-UCB's schedule: `"brochu"`, `"srinivas"` (finite spaces), `"fixed"` (4), or a number.
        objectives: Several responses and the goal of each, instead of target and direction.
        requirements: Conditions that results must meet, by response: `">= 0.95"`, `"<= 3"`, `(low, high)`, or `"pass"`
            for a response that is pass or fail. Each has a model, from old data too.
        preference: The worth of a unit of each of several objectives, by name; or the least of interest, such as
            `{"yield": ">= 0.5"}`. Without it, the whole Pareto front is searched for.
        noise_std: The standard deviation of the measurement noise in the response's units, where it is known; 0 for an
            exact response. It counts as at least 0.14 % of the standard deviation of the results, except with
            `prior="as printed"`. Estimated when left out. Of several objectives by name.
        log: Whether the logarithm of the response is modelled, which must then be above 0; of several responses, the
            names of those.
        limits: The least and the largest possible response: `(0, 100)`, `">= 0"` or `"<= 100"`; of several by name.
            Predictions and the remaining gain stay within. A percentage has limits by its name (`"yield (%)"`).
        failures: What a run without a value counts as: `"learnt"` (a model of its own says where runs may fail) or
            `"worst"` (a value a little worse than the worst so far).
        cost: The cost of a setting, as a function of it, where it is known beforehand. Suggestions then maximise the
            improvement per unit of cost, as they do when costs are told.
        initial: The number of settings that the initial design extends over, before the model alone decides. When left
            out, one more than there are parameters. With old data: one setting for each set of it, then the design and
            the model in turns until there were three settings of the design. Results told before asking replace them.
        design: The first settings: `"old data"`, where old data expects the best if the response runs the same way (or
            as `relation` says; a study says itself which way was better), then a Sobol design (from candidates, some at
            random) in turns with the model; or `"sobol"`, as without old data.
        relation: What you know of the old response, one word for all old data sets or a dict by name: `"same"` if it
            rises with the new one, `"opposite"` if it falls, `"unknown"`. It has a high prior probability, which
            results can outweigh.
        prior: How old data is used. `"average"` averages over many beliefs, each weighted by its posterior probability;
            `"reweighted"` is the paper's Algorithm 1, and `"as printed"` is that to the letter; `"aligned"`,
            `"matched"` and `"uncertain"` are single beliefs (docs/beliefs.md); `"uninformed"` ignores old data.
        kernel: The free kernel that learns from old data. Default: `SquaredExponential`.
        ard: Whether the kernel of `"reweighted"` has one length-scale per input.
        constraints: Conditions that every suggestion must satisfy, one or a list: linear, as text (`"a + 2*b <= 10"`)
            or `Linear`; `Mixture`; `OnlyWhen`; or a function of a setting that returns True or False.
        model: A `Surrogate` (from observations to a model) in place of all that is learnt from old data, such as
            `TunedPrior(prior, unit_diagonal=True)` or one of your own.
        storage: The URL of a database to keep the campaign in, such as `"sqlite:///campaign.db"` or
            `"postgresql://user@host/database"`, or an Optuna storage. The campaign is an Optuna study there. Several
            people and programs may ask and tell at the same time. A campaign that is there already continues, with what
            it learnt from old data.
        name: The name of the campaign in the storage.

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
        direction: Goal = "maximize",
        acquisition: AcquisitionChoice = "ei",
        seed: int = 0,
        *,
        target: str = "y",
        objectives: Mapping[str, Goal] | None = None,
        requirements: Mapping[str, Any] | None = None,
        preference: Mapping[str, Any] | None = None,
        log: bool | Collection[str] = False,
        limits: Any = None,
        failures: str = LEARNT,
        cost: Cost | None = None,
        beta: str | float = "brochu",
        noise_std: float | Mapping[str, float] | None = None,
        initial: int | None = None,
        design: str = OLD_DATA,
        relation: str | Mapping[str, str] = UNKNOWN,
        prior: str = AVERAGE,
        kernel: FreeKernel | None = None,
        ard: bool = False,
        model: Surrogate | None = None,
        constraints: Any = (),
        storage: str | BaseStorage | None = None,
        name: str = UNNAMED,
    ) -> None:
        seed, ard = check_seed(seed), check_flag(ard, "ard")
        search = SearchConfig(acquisition, beta, initial, design, failures, cost)
        space = Space.parse(space).add_constraints(constraints)
        goals = make_goals(target, direction, objectives, requirements, preference, noise_std, log, limits)
        refuse_names_of_parameters(goals, space)
        sets, objects = name_sources(old_data), list_given_names(kernel=kernel, model=model, cost=cost)
        relations = parse_relations(relation, sets)
        if any(one != UNKNOWN for one in relations.values()) and prior != AVERAGE:
            raise InputError(f"A relation to old data is for prior='average' alone; got prior={format_value(prior)}.")
        old = read_sources(sets, space, goals)
        others: dict[str, Surrogate] = {}
        storage = None if storage is None else open_storage(storage)  # once: it looks at the whole schema
        kept = None if storage is None else StoredCampaign.find(storage, name)
        if kept is not None:
            kept.refuse_other(space, goals)
        learnt = kept.load_surrogates(space, goals) if kept is not None and not sets and model is None else None
        if model is None:
            others = learnt or make_surrogates(
                goals, prior, old, space, kernel=kernel, ard=ard, seed=seed, relations=relations
            )
            model = others.pop(goals.main.name)
        elif not isinstance(model, Surrogate) or isinstance(model, type):
            raise InputError(
                "model must be a Surrogate: an object with a box that gives a BoTorch model when it is called with "
                f"observations, such as TunedPrior(prior); got {type(model).__name__} {format_value(model)}."
            )
        elif sets or (prior, kernel, ard) != (AVERAGE, None, False):
            raise InputError(
                "Give either a model, or old data with prior, kernel and ard: a model brings what it learnt with it."
            )
        campaign_id = draw_id() if kept is None else kept.saved.id
        made_with = Provenance(prior, ard, make_sources(sets, old), objects, relations, campaign_id)
        if kept is not None and learnt is not None:
            made_with = kept.made_with
        suggester = Suggester(space, model, goals, search, others)
        self._start(suggester, seed, made_with)
        if storage is not None:
            self._record = open_record(storage, name, suggester, seed, made_with, replace_surrogates=bool(sets))
        self._report = make_report(old.values())
        if prior != UNINFORMED:  # which leaves all aside, whatever there is to learn
            models = [one for one in (model, *others.values()) if isinstance(one, SourceSurrogate)]
            used = {known.name for one in models for known in one.sources}
            self._report = self._report.mark_unused(set(sets) - used if models else set())

    @classmethod
    def from_suggester(cls: type[OptimizerT], suggester: Suggester, seed: int = 0) -> OptimizerT:
        """Make an optimiser with an existing suggester, so that nothing is learnt from old data again."""
        refuse_other_types(suggester, Suggester, "suggester", "a Suggester, such as opt.suggester")
        made = cls.__new__(cls)
        made._start(suggester, check_seed(seed), Provenance(AVERAGE, objects=("suggester",), id=draw_id()))
        return made

    def _start(self, suggester: Suggester, seed: int, made_with: Provenance) -> None:
        self._suggester, self._seed, self._made_with = suggester, seed, made_with
        self._record: Record = InMemoryRecord()
        self._lock = RLock()
        self._report = OldDataReport()
        self._columns, self._file = HistoryColumns.from_space(suggester.space, suggester.goals), FileGuard()
        self._fitted: FittedModels | None = None
        self._trust: dict[str, TrustHistory] = {}

    @property
    def study(self) -> Study | None:
        """The Optuna study that holds the campaign; None without a storage."""
        return self._record.study if isinstance(self._record, StudyRecord) else None

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
        """
        if isinstance(n, pd.DataFrame | list):
            raise InputError("n is how many settings to give. Write ask(candidates=…) to pick from a list.")
        n = None if n is None else check_positive_integer(n, "n")
        pool = None if candidates is None else self._suggester.parse_candidates(candidates)
        if pool is not None and n is not None and n > len(pool):
            raise InputError(f"{n} settings were asked for, and there are {len(pool)} candidates.")
        before = self._history
        settings: list[Setting] = []
        for _ in range(1 if n is None else n):
            settings.append(self._suggest(_append_pending(before, settings), pool))
        for round_ in count():
            after = _append_pending(before, settings)
            try:
                numbers = self._record.commit(before, after, SUGGEST)  # all or nothing
                break
            except ConflictError:
                known, before = before, self._history
                if round_ < _MOST_ROUNDS:
                    settings = self._replace_taken(settings, known, before, pool)
        new = after.pending[len(before.pending) :]
        asked = [Suggestion(one.setting, numbers.get(one.id, one.id)) for one in new]
        return asked if n is not None else asked[0]

    def _suggest(self, history: History, pool: Pool | None) -> Setting:
        """Suggest the next setting after a history: the present one with more pending settings."""
        pending_settings = collect_settings(history.pending)
        fitted = None if self._suggester.is_designing(history, pending_settings) else self._fit_model()
        return self._suggester.suggest(history, pending_settings, self._seed, pool, fitted)

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
            found.append(self._suggest(_append_pending(now, found), pool) if again else setting)
        return found

    @lock_method
    def shadow(self, setting: Setting, candidates: Any = None) -> BaselineSuggestion:
        """The suggestion without old data in place of this pending setting, and the distance of the two.

        It uses all results so far, the same acquisition function, and the settings that were pending when this one was
        suggested.
        """
        trial = get_pending_trial(setting, self._history, self.space, "A shadow is that of a pending setting")
        return suggest_baseline(self._suggester, self._history, trial, self._seed, candidates)

    @property
    @lock_method
    def summary(self) -> dict[str, str]:
        """The state of the campaign in a few words, by topic."""
        return summarise_campaign(self._suggester, self._history, self._made_with)

    def __repr__(self) -> str:
        return render_summary_text(type(self).__name__, self.summary)

    def _repr_html_(self) -> str:
        return render_summary_html(type(self).__name__, self.summary)

    # -- a whole campaign in one file ------------------------------------------------------------------

    @lock_method
    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write the whole campaign into one file (JSON) for `load`; cheap enough after every `tell`.

        It holds the arguments, the history, and of old data its place and a fingerprint. After a crash the file is the
        previous one or the new one. Kernels, models, acquisition classes, suggesters and functions are not in it: see
        `load`.

        A file that this optimiser neither saved nor loaded, or that was changed since, may hold somebody else's
        results. It is not replaced: that is an `InputError`, unless `overwrite` is true.
        """
        history, entries = self._record.history_and_journal
        journal = Ledger(self.space, repr(str(path))).encode_entries(entries)
        content = encode_campaign_file(self._suggester, self._seed, self._made_with, history, journal, path)
        saved = FileGuard.from_path(path, content)
        with lock_for_writing(path):
            self._file.refuse_unknown(path, overwrite)
            try:
                write_atomically(path, content)
            except OSError as error:
                with suppress(OSError):
                    self._file = saved if FileGuard.from_path(path) == saved else self._file
                raise StorageError(
                    f"Saving {str(path)!r} failed ({error.strerror or error}). The file holds what it held before, or "
                    "all of it; nothing in memory was changed. Save it again, or to another place."
                ) from error
        self._file = saved

    @classmethod
    def load(
        cls: type[OptimizerT],
        path: str | PathLike[str],
        old_data: OldData | Sequence[OldData] | Mapping[str, OldData] | None = None,
        **options: Any,
    ) -> OptimizerT:
        """Load a campaign that `save` wrote; it continues without a difference.

        Old data is read again from its place, and a warning says if it changed. A campaign in a database is loaded by
        its URL and `name=`; it continues with what was learnt from old data before.

        Args:
            path: The file, or the URL of a database.
            old_data: Old data that was not read from a file, or is elsewhere now; as for `Optimizer`.
            **options: The kernel, model, acquisition class or suggester of the campaign, if it had one; those of its
                constraints that are functions (all others are saved, and more can be given); other arguments to be
                changed.
        """
        if isinstance(path, str) and "://" in path:
            kept = load_campaign(path, options.pop("name", None))
            saved = kept.saved if old_data is not None else drop_old_data(kept.saved)
            arguments = loading.build_arguments(saved, path, old_data, options)
            return cls(**arguments, storage=get_storage(kept.study), name=kept.study.study_name)
        saved, known = loading.read_campaign(path), FileGuard.from_path(path)
        arguments = loading.build_arguments(saved, path, old_data, options)
        history, journal = load_journal(saved, path)
        loading.refuse_changed(saved, path)
        suggester = arguments.pop("suggester", None)
        made = cls(**arguments) if suggester is None else cls.from_suggester(suggester, arguments["seed"])
        loading.warn_of_changes(saved, made.old_sources)
        made._restore_state(known, history, journal, saved.id or derive_file_id(saved))
        return made

    def _restore_state(self, file: FileGuard, history: History, journal: list[JournalEntry], campaign_id: str) -> None:
        """Continue with the content of a file."""
        self._made_with = replace(self._made_with, id=campaign_id)
        self.resume(history)
        self._file, self._record = file, InMemoryRecord(history, journal)


def _append_pending(history: History, settings: Sequence[Setting]) -> History:
    """The history with these settings pending."""
    for setting in settings:
        history = history.append_pending(setting)
    return history
