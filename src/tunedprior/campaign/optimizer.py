"""An optimiser in a few lines, for people: in a terminal, and in a notebook.

Bayesian optimisation with help from old data, as something to ask and to tell.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from itertools import count
from os import PathLike
from threading import RLock
from typing import Any, TypeVar

import pandas as pd
from optuna.storages import BaseStorage
from optuna.study import Study

from tunedprior.acquisition.encoded_space import is_near
from tunedprior.acquisition.functions import AcquisitionChoice
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
from tunedprior.model_averaging.average import Average
from tunedprior.model_averaging.source_fits import (
    UNKNOWN,
    OldData,
    make_report,
    name_sources,
    parse_relations,
    read_sources,
)
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
from tunedprior.suggestion.first_settings import OLD_DATA, check_design
from tunedprior.suggestion.priors import AVERAGE, UNINFORMED, make_surrogates
from tunedprior.suggestion.recommendation import BaselineSuggestion, suggest_baseline
from tunedprior.suggestion.response_models import Cost, FittedModels
from tunedprior.suggestion.suggester import LEARNT, Suggester
from tunedprior.tables import lock_for_writing, write_atomically

_MOST_NAMED, _MOST_COUNTED = 12, 1_000_000  # parameters that are described, and settings that are counted


def summarise_campaign(suggester: Suggester, history: History, made: Provenance) -> dict[str, str]:
    """What there is to say, by what it is about."""
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
    """One line for each."""
    return "\n".join([f"<{about}", *(f"  {name}: {said}" for name, said in lines.items())]) + ">"


def render_summary_html(about: str, lines: dict[str, str]) -> str:
    """A table, whatever the user's names hold."""
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
    unused = ", which is not used" if isinstance(surrogate, Average) and not surrogate.sources else ""
    return f"{made.prior}, with {names}{unused}"


OptimizerT = TypeVar("OptimizerT", bound="Optimizer")
# How often a suggestion is made again because somebody else was given the same at the same moment.
_MOST_ROUNDS = 100


class Optimizer(Viewer):
    """Suggests the next experiment, from what was told so far and from old data that is related.

    Suggestions depend on the arguments, on what was told, in order, and on what is pending, and on nothing else: an
    Optimizer that `resume`s a saved `history` goes on as if there had been no break. It is a thin front over a
    `Suggester`, which makes them, and a `History`, which keeps what was told.

    Args:
        space: Parameter names and what each may be: `(low, high)`, `(low, high, step)` for a grid (of whole numbers, if
            all three are), `(low, high, "log")` for a logarithmic scale (and `(low, high, "log", 3)` for suggestions of
            three significant digits), a list of values, or an Optuna distribution.
        old_data: A table, the path of a file with one (CSV in any dialect, Excel, Parquet), an Optuna study, or a
            `WeightPrior` learnt before or its file; several such as a list or by name; None: none.
        direction: What is wanted of the response: `"maximize"`, `"minimize"`, or a value or range to come close to,
            `Target(500.0)` or `Target(480.0, 520.0)`.
        acquisition: `"ei"` (expected improvement), `"ucb"` (GP-UCB), or any BoTorch acquisition class that
            docs/asking.md lists.
        seed: Makes suggestions repeatable.
        target: The name of the response, in the old data and in the history.
        beta: GP-UCB's schedule: `"brochu"`, `"srinivas"` (finite spaces), `"fixed"` (4), or a number.
        objectives: Several responses and what is wanted of each, instead of target and direction.
        requirements: What results must be for a setting to be of use, by response: `">= 0.95"`, `"<= 3"`,
            `(low, high)`, or `"pass"` for one that is pass or fail. Each is learnt, from old data too.
        preference: Of several objectives, what a unit of each is worth, by name; or what is of interest at all, such as
            `{"yield": ">= 0.5"}`. Without it, the whole front of trade-offs is looked for.
        noise_std: The measurement noise, as a standard deviation in the response's units, where it is known; 0 for
            an exact response. It counts as 0.14 % of the standard deviation of the results at least, but for
            `prior="as printed"`. Learnt when left out. Of several objectives by name.
        log: Whether the response, which must be above 0 then, is modelled by its logarithm; of several, the names of
            those that are.
        limits: What the response cannot be below and above: `(0, 100)`, `">= 0"` or `"<= 100"`; of several by name.
            What is expected, and what is left to gain, keeps within. A percentage has them by its name (`"yield (%)"`).
        failures: What a run without a value counts as: `"learnt"`, as a sign that such settings may fail, or `"worst"`,
            as a value a little worse than the worst so far.
        cost: What a setting costs, as a function of it, where that is known beforehand. Then, as when costs are told,
            suggestions are for improvement per unit of cost.
        initial: Over how many settings the design extends, before the model alone decides. When left out, one more than
            there are parameters; with old data one for each set of it, then the design's and the model's in turns until
            there were three of the design. Observations that are told before asking replace them.
        design: What the first settings are: `"old data"`, where old data expects the best if the response runs the
            same way (or as `relation` says; a study says itself which way was better), then a Sobol design (from
            candidates, some at random) in turns with the model; or `"sobol"`, as without old data.
        relation: What you know of the old response, one word for all old data sets or a dict by name: `"same"` if it
            rises with the new one, `"opposite"` if it falls, `"unknown"` (to be found out). It is believed, but not
            against the evidence.
        prior: What to make of old data. `"average"` holds many beliefs and trusts each as far as observations bear it
            out; `"reweighted"` is the paper's Algorithm 1, and `"as printed"` is that to the letter; `"aligned"`,
            `"matched"` and `"uncertain"` are single beliefs (docs/beliefs.md); `"uninformed"` leaves old data aside.
        kernel: The free kernel that learns from old data. Default: `SquaredExponential`.
        ard: Whether the kernel of `"reweighted"` has one length-scale per input.
        constraints: What must hold for every suggestion, one or a list: linear, as text (`"a + 2*b <= 10"`) or
            `Linear`; `Mixture`; `OnlyWhen`; or a function of a setting that returns True or False.
        model: How observations become a model, instead of all that is learnt from old data: a `Surrogate`, such as
            `TunedPrior(prior, unit_diagonal=True)` or one of your own.
        storage: The URL of a database to keep the campaign in, such as `"sqlite:///campaign.db"` or
            `"postgresql://user@host/database"`, or an Optuna storage. It is an Optuna study there. Several people and
            programs may ask and tell at the same time. A campaign that is there already goes on, with what it learnt
            from old data.
        name: What the campaign is called in the storage.

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
        check_design(design)
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
        suggester = Suggester(space, model, goals, acquisition, beta, initial, design, others, failures, cost)
        self._start(suggester, seed, made_with)
        if storage is not None:
            self._record = open_record(storage, name, suggester, seed, made_with, again=bool(sets))
        self._report = make_report(old.values())
        if prior != UNINFORMED:  # which leaves all aside, whatever there is to learn
            models = [one for one in (model, *others.values()) if isinstance(one, Average)]
            used = {known.name for one in models for known in one.sources}
            self._report = self._report.mark_unused(set(sets) - used if models else set())

    @classmethod
    def from_suggester(cls: type[OptimizerT], suggester: Suggester, seed: int = 0) -> OptimizerT:
        """An optimiser with a suggester that was made before: what it learnt from old data is not learnt again."""
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
        """The Optuna study that the campaign is kept in; None if it is kept in no storage."""
        return self._record.study if isinstance(self._record, StudyRecord) else None

    # -- asking ----------------------------------------------------------------------------------------

    @lock_method
    def ask(self, n: int | None = None, candidates: Any = None) -> Any:
        """The next setting to try, or with `n` a list of n to try side by side.

        Nothing is suggested twice while there is something else, unless the noise is known not to be zero; when all was
        tried, an `ExhaustedWarning` says so.

        Args:
            n: How many; None for one, not in a list.
            candidates: Pick from these settings only, such as a grid of feasible ones: a table, or a file with one.
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
        """The next setting to try after this history, which is what was told by now with more that is pending."""
        pending_settings = collect_settings(history.pending)
        fitted = None if self._suggester.is_designing(history, pending_settings) else self._fit_model()
        return self._suggester.suggest(history, pending_settings, self._seed, pool, fitted)

    def _replace_taken(
        self, settings: Sequence[Setting], known: History, now: History, pool: Pool | None
    ) -> list[Setting]:
        """These settings, with others for those that somebody else was given nearly, or tried, meanwhile.

        Args:
            settings: What was to be suggested.
            known: The history that it was chosen for.
            now: The history as it is by now.
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
        """What plain optimisation would have suggested instead of this pending setting, and how far apart they are.

        It is asked with all that was told by now, the same acquisition function, and what was already pending when
        this was asked for.
        """
        trial = get_pending_trial(setting, self._history, self.space, "A shadow is that of a pending setting")
        return suggest_baseline(self._suggester, self._history, trial, self._seed, candidates)

    @property
    @lock_method
    def summary(self) -> dict[str, str]:
        """Where it stands in a few words, by what they are about."""
        return summarise_campaign(self._suggester, self._history, self._made_with)

    def __repr__(self) -> str:
        return render_summary_text(type(self).__name__, self.summary)

    def _repr_html_(self) -> str:
        return render_summary_html(type(self).__name__, self.summary)

    # -- a whole campaign in one file ------------------------------------------------------------------

    @lock_method
    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write all of the campaign into one file (JSON), which `load` goes on from; cheap enough after every `tell`.

        The arguments, the history, and of old data where it came from and a fingerprint. A crash leaves the previous
        file or the new one. Kernels, models, acquisition classes, suggesters and functions are not in it: see `load`.

        A file that this optimiser neither saved nor loaded, or that was changed since, is not replaced: somebody else's
        results may be in it. That is an `InputError`, unless `overwrite` is true.
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
        """The campaign that `save` wrote into this file; it goes on as if there had been no break.

        Old data is read again from where it was, and a warning says if it changed since. A campaign that is kept in a
        database is loaded by its URL and `name=`; it goes on with what was learnt from old data before.

        Args:
            path: The file, or the URL of a database.
            old_data: Old data that was no file, or is elsewhere now; as for `Optimizer`.
            **options: The kernel, model, acquisition class or suggester of the campaign, if it had one; its constraints
                that are functions (others go on, and more can be given); other arguments that are to be changed.
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
        """Go on with what was in a file."""
        self._made_with = replace(self._made_with, id=campaign_id)
        self.resume(history)
        self._file, self._record = file, InMemoryRecord(history, journal)


def _append_pending(history: History, settings: Sequence[Setting]) -> History:
    """The history with these settings pending."""
    for setting in settings:
        history = history.append_pending(setting)
    return history
