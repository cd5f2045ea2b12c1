"""Open a campaign: learn from old data or load what was learnt, and find or make the record of its trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from secrets import randbits
from typing import Any

from optuna.storages import BaseStorage

from tunedprior.checks import refuse_other_types
from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals
from tunedprior.source_data.rows import OldDataReport
from tunedprior.space.search_space import Space
from tunedprior.storage import loading
from tunedprior.storage.databases import get_storage, open_storage
from tunedprior.storage.file_guard import FileGuard
from tunedprior.storage.identifiers import draw_id
from tunedprior.storage.journal import InMemoryRecord, Record, load_journal
from tunedprior.storage.stored_campaign import StoredCampaign, load_campaign, open_record, refuse_other_campaign
from tunedprior.suggestion.config import UNINFORMED, CampaignConfig, SearchConfig, TransferConfig
from tunedprior.suggestion.suggester import Suggester
from tunedprior.weight_prior.sources import (
    UNKNOWN,
    OldData,
    SourceSurrogate,
    make_report,
    parse_relations,
    read_sources,
)


@dataclass(frozen=True)
class OpenedCampaign:
    """The parts of a campaign.

    Attributes:
        suggester: What makes suggestions.
        config: What it was made with.
        record: Where its trials are kept.
        report: What was noticed when old data was read.
        file: The file it was loaded from.
        objects: What is to be given again when it is loaded; what no file can hold of the configuration, where None.
    """

    suggester: Suggester
    config: CampaignConfig
    record: Record
    report: OldDataReport = field(default_factory=OldDataReport)
    file: FileGuard = field(default_factory=FileGuard)
    objects: tuple[str, ...] | None = None


def make_config(
    space: Space,
    goals: Goals,
    transfer: TransferConfig | None,
    search: SearchConfig | None,
    sets: Mapping[str, OldData],
    relation: str | Mapping[str, str],
) -> CampaignConfig:
    """Make a configuration from the arguments of `Optimizer`; its seed is given when it is opened."""
    transfer = TransferConfig() if transfer is None else transfer
    search = SearchConfig() if search is None else search
    refuse_other_types(transfer, TransferConfig, "transfer", "a TransferConfig")
    relations = parse_relations(relation, sets)  # refuses one without old data
    return CampaignConfig(space, goals, replace(transfer, relations=relations), search)


def open_campaign(
    config: CampaignConfig,
    sets: Mapping[str, OldData],
    storage: str | BaseStorage | None,
    name: str,
    seed: int | None,
) -> OpenedCampaign:
    """Learn from old data, or load what was learnt before, and open the record of trials.

    Args:
        config: The configuration.
        sets: Old data, by name.
        storage: The database to keep the campaign in; None: it is kept in memory.
        name: What it is called there.
        seed: What makes suggestions repeatable; None: that of the stored campaign, or a new one.
    """
    relations = {one: config.transfer.relations.get(one, UNKNOWN) for one in sets}
    config = replace(config, transfer=replace(config.transfer, relations=relations, sources=()))
    old = read_sources(sets, config.space, config.goals)
    storage = None if storage is None else open_storage(storage)  # once: it looks at the whole schema
    kept = None if storage is None else StoredCampaign.find(storage, name)
    learnt = None
    if kept is None:
        config = replace(config, id=config.id or draw_id(), seed=randbits(31) if seed is None else seed)
    else:
        stored = kept.saved.decode_config(kept.where, without=["acquisition"])
        refuse_other_campaign(config, stored, name)
        config = replace(config, id=stored.id, seed=stored.seed if seed is None else seed)
        if not sets and config.search.model is None:
            learnt = kept.load_surrogates(config)
    if learnt is None:
        config = config.describe_sources(sets, old)
        suggester = Suggester.from_config(config, old)
    else:
        config = replace(config, transfer=stored.transfer)
        suggester = Suggester.from_surrogates(config, learnt)
    config = replace(config, search=replace(config.search, initial=suggester.initial))
    record: Record = InMemoryRecord()
    if storage is not None:
        record = open_record(storage, name, suggester, config, replace_surrogates=bool(sets))
    return OpenedCampaign(suggester, config, record, _report_use(suggester, config, make_report(old.values()), sets))


def _report_use(
    suggester: Suggester, config: CampaignConfig, report: OldDataReport, sets: Mapping[str, OldData]
) -> OldDataReport:
    """The report on old data, with what nothing was learnt from."""
    if config.transfer.prior == UNINFORMED:  # which leaves all aside, whatever there is to learn
        return report
    models = (suggester.surrogate, *suggester.other_surrogates.values())
    learners = [one for one in models if isinstance(one, SourceSurrogate)]
    used = {known.name for one in learners for known in one.sources}
    return report.mark_unused(set(sets) - used if learners else set())


def open_suggester(suggester: Suggester, seed: int, campaign_id: str = "") -> OpenedCampaign:
    """Open a campaign with an existing suggester."""
    search = replace(suggester.search, model=None)
    config = CampaignConfig(suggester.space, suggester.goals, search=search, seed=seed, id=campaign_id or draw_id())
    return OpenedCampaign(suggester, config, InMemoryRecord(), objects=("suggester",))


def open_saved_campaign(
    path: str | PathLike[str],
    old_data: OldData | Sequence[OldData] | Mapping[str, OldData] | None,
    name: str | None,
    objects: Mapping[str, Any],
    changes: Mapping[str, Any],
) -> tuple[OpenedCampaign, InMemoryRecord | None]:
    """Open a saved campaign; of a file also its history and journal.

    Args:
        path: The file, or the URL of a database.
        old_data: Old data that was not read from a file, or is elsewhere now.
        name: The name of the campaign in the database; the only one there, if None.
        objects: What no file can hold, by name; None what was not passed.
        changes: Parts that are to be others than the saved ones, as for `loading.complete_config`.
    """
    if isinstance(path, str) and "://" in path:
        kept = load_campaign(path, name)
        config = loading.complete_config(kept.saved, kept.where, objects=objects, **changes)
        sets = loading.collect_old_data(config, path, old_data) if old_data is not None else {}
        return open_campaign(config, sets, get_storage(kept.study), kept.study.study_name, config.seed), None
    if name is not None:
        raise InputError("name is that of a campaign in a database; a file holds one campaign. Leave it out.")
    saved, file = loading.read_campaign(path), FileGuard.from_path(path)
    config = loading.complete_config(saved, repr(str(path)), objects=objects, **changes)
    suggester = objects.get("suggester")
    if suggester is not None:
        loading.refuse_other_suggester(suggester, config)
    sets = loading.collect_old_data(config, path, old_data)
    record = InMemoryRecord(*load_journal(saved, path))
    loading.refuse_changed(saved, path)
    if suggester is not None:
        opened = open_suggester(suggester, config.seed, config.id)
    else:
        opened = open_campaign(config, sets, None, "", config.seed)
        loading.warn_of_changes(config.transfer.sources, opened.config.transfer.sources)
    return replace(opened, file=file), record
