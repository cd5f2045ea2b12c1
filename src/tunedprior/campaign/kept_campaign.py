"""A campaign kept in a database: its arguments, what was learnt from old data, and the study with its trials."""

from dataclasses import dataclass
from functools import partial

import msgspec
import optuna
from optuna.storages import BaseStorage
from optuna.study import Study

from tunedprior.campaign import loaded
from tunedprior.campaign.saved import add_checksum, encode_campaign
from tunedprior.campaign.saved_form import VERSION, SavedCampaign
from tunedprior.campaign.sources import OldSource, Provenance
from tunedprior.campaign.stored_surrogates import are_compatible, decode_surrogates, encode_surrogates
from tunedprior.campaign.study_record import StudyRecord
from tunedprior.campaign.study_trials import to_optuna_directions
from tunedprior.campaign.suggester import Suggester
from tunedprior.checks import format_list, format_value
from tunedprior.errors import FileFormatError, InputError
from tunedprior.models.surrogate import Surrogate
from tunedprior.problem.aims import Goals
from tunedprior.problem.space import Space
from tunedprior.problem.trials import History
from tunedprior.studies import blobs, opening

#: The name of a campaign that was given none.
UNNAMED = "campaign"
_ARGUMENTS, _LEARNT = "campaign", "learnt"
# What is said of the arguments beside them: the version of the form that they and the trials have.
_FORM = "form"


@dataclass(frozen=True, eq=False)
class StoredCampaign:
    """A campaign that is in a database already.

    Attributes:
        study: The study that holds it.
        saved: What it was made with.
    """

    study: Study
    saved: SavedCampaign

    @classmethod
    def find(cls, storage: str | BaseStorage, name: str) -> "StoredCampaign | None":
        """The campaign of this name; None if there is none."""
        study = opening.find_study(opening.open_storage(storage), name)
        data = None if study is None else blobs.load_blob(study, _ARGUMENTS)
        if study is None or data is None:
            return None
        return cls(study, loaded.decode_campaign(data, f"The study {name!r}"))

    def refuse_other(self, space: Space, aims: Goals) -> None:
        """An `InputError` if this is not the space, or these are not the aims, that the campaign was begun with."""
        own = loaded.decode_space(self.saved, self.study.study_name)
        if space.without_functions != own or (aims.objectives, aims.requirements) != _get_goals(self.saved):
            what = "search space" if space.without_functions != own else "responses or goals"
            raise InputError(
                f"The storage has a campaign {self.study.study_name!r} with another {what}. Give this one another "
                f"name=, or open that one with Optimizer.load(storage, name={self.study.study_name!r})."
            )

    def load_surrogates(self, space: Space, aims: Goals) -> dict[str, Surrogate] | None:
        """What was learnt from old data, by response; None if there was none, or it cannot be used."""
        data = blobs.load_blob(self.study, _LEARNT)
        found = {} if data is None else decode_surrogates(data)
        if not found:
            return None
        if not are_compatible(found, space, aims):
            raise FileFormatError(f"What {self.study.study_name!r} learnt from old data does not fit to its space.")
        return found

    @property
    def made_with(self) -> Provenance:
        """The arguments that its suggester does not tell."""
        own, old = self.saved.arguments, self.saved.old_data
        sources = tuple(OldSource(one.name, one.path, one.fingerprint, one.units) for one in old)
        return Provenance(own.prior, own.ard, sources, tuple(own.objects), own.relations, self.saved.id)


def _get_goals(saved: SavedCampaign) -> tuple[object, object]:
    aims = loaded.decode_goals(saved)
    return aims.objectives, aims.requirements


def open_record(
    storage: str | BaseStorage, name: str, suggester: Suggester, seed: int, made_with: Provenance, again: bool
) -> StudyRecord:
    """The record of a campaign in this storage, which is begun if it is not there yet.

    Args:
        storage: The storage, or its URL.
        name: What the campaign is called.
        suggester: What makes suggestions.
        seed: What makes them repeatable.
        made_with: The arguments that the suggester does not tell.
        again: Whether what was learnt from old data is to be kept anew, as it was given anew.
    """
    aims, wanted = suggester.goals, to_optuna_directions(suggester.goals)
    database = opening.open_storage(storage)
    # To make one that is there writes too, for a moment, and not everybody may.
    study = opening.find_study(database, name) or opening.find_or_make_study(database, name, wanted)
    there = [one.name.lower() for one in study.directions]
    if there != wanted:
        raise InputError(
            f"The storage has a study {name!r} with the directions {format_list(there)}; this campaign has "
            f"{format_list(wanted)}. Give another name=."
        )
    if blobs.get_blob_description(study, _ARGUMENTS) is None or again:
        surrogates = {aims.main.name: suggester.surrogate, **suggester.other_surrogates}
        if made_with.old_sources:
            blobs.save_blob(
                study, _LEARNT, encode_surrogates(surrogates), {"sources": [one.name for one in made_with.old_sources]}
            )
        data = encode_campaign(suggester, seed, made_with, History(), (), None)
        blobs.save_blob(study, _ARGUMENTS, data, {_FORM: VERSION})
    is_older = (blobs.get_blob_description(study, _ARGUMENTS) or {}).get(_FORM, 1) < VERSION
    return StudyRecord(study, suggester.space, aims, partial(_upgrade_format_version, study) if is_older else None)


def _upgrade_format_version(study: Study) -> None:
    """Have older programs refuse the campaign: they would not see what is written from now on, or break its chain."""
    data = blobs.load_blob(study, _ARGUMENTS)
    if data is not None:
        saved = msgspec.structs.replace(
            loaded.decode_campaign(data, f"The study {study.study_name!r}"), version=VERSION
        )
        blobs.save_blob(study, _ARGUMENTS, msgspec.json.encode(add_checksum(saved)), {_FORM: VERSION})


def load_campaign(storage: str | BaseStorage, name: str | None) -> StoredCampaign:
    """The campaign of this name, or the only one there is; an `InputError` says which there are."""
    opened = opening.open_storage(storage)
    names = optuna.get_all_study_names(opened)
    campaigns = {one: found for one in names if (found := StoredCampaign.find(opened, one)) is not None}
    wanted = next(iter(campaigns), None) if name is None and len(campaigns) == 1 else name
    if wanted not in campaigns:
        there = format_list(map(repr, campaigns)) if campaigns else "none"
        asked = "" if name is None else f"; got {format_value(name)}"
        raise InputError(
            f"name must be that of a campaign in the storage, of which there are {there}{asked}.",
            typed=f"Say which campaign is meant with --name; there are {there}{asked}.",
        )
    return campaigns[wanted]


def drop_old_data(saved: SavedCampaign) -> SavedCampaign:
    """The same campaign, with what was learnt from old data known, so that the old data itself is not needed."""
    arguments = msgspec.structs.replace(saved.arguments, relations={})
    return msgspec.structs.replace(saved, old_data=[], arguments=arguments)
