"""A campaign kept in a database: its arguments, what was learnt from old data, and the study with its trials."""

from dataclasses import dataclass
from functools import partial

import msgspec
import optuna
from optuna.storages import BaseStorage
from optuna.study import Study

from tunedprior.campaign import loaded
from tunedprior.campaign.saved import encoded_campaign, sealed
from tunedprior.campaign.saved_form import VERSION, SavedCampaign
from tunedprior.campaign.sources import MadeWith, OldSource
from tunedprior.campaign.stored_surrogates import decoded, encoded, fit_to
from tunedprior.campaign.study_record import StudyRecord
from tunedprior.campaign.study_trials import directions_of
from tunedprior.campaign.suggester import Suggester
from tunedprior.checks import listed, shown
from tunedprior.errors import FileFormatError, InputError
from tunedprior.models.surrogate import Surrogate
from tunedprior.problem.aims import Aims
from tunedprior.problem.space import Space
from tunedprior.problem.trials import History
from tunedprior.studies import blobs, opening

#: The name of a campaign that was given none.
UNNAMED = "campaign"
_ARGUMENTS, _LEARNT = "campaign", "learnt"
# What is said of the arguments beside them: the version of the form that they and the trials have.
_FORM = "form"


@dataclass(frozen=True, eq=False)
class KeptCampaign:
    """A campaign that is in a database already.

    Attributes:
        study: The study that holds it.
        saved: What it was made with.
    """

    study: Study
    saved: SavedCampaign

    @classmethod
    def find(cls, storage: str | BaseStorage, name: str) -> "KeptCampaign | None":
        """The campaign of this name; None if there is none."""
        study = opening.found(opening.opened(storage), name)
        data = None if study is None else blobs.kept(study, _ARGUMENTS)
        if study is None or data is None:
            return None
        return cls(study, loaded.decoded(data, f"The study {name!r}"))

    def refuse_other(self, space: Space, aims: Aims) -> None:
        """An `InputError` if this is not the space, or these are not the aims, that the campaign was begun with."""
        own = loaded.space_of(self.saved, self.study.study_name)
        if space.without_functions != own or (aims.objectives, aims.requirements) != _wanted(self.saved):
            what = "search space" if space.without_functions != own else "responses or goals"
            raise InputError(
                f"The storage has a campaign {self.study.study_name!r} with another {what}. Give this one another "
                f"name=, or open that one with Optimizer.load(storage, name={self.study.study_name!r})."
            )

    def surrogates(self, space: Space, aims: Aims) -> dict[str, Surrogate] | None:
        """What was learnt from old data, by response; None if there was none, or it cannot be used."""
        data = blobs.kept(self.study, _LEARNT)
        found = {} if data is None else decoded(data)
        if not found:
            return None
        if not fit_to(found, space, aims):
            raise FileFormatError(f"What {self.study.study_name!r} learnt from old data does not fit to its space.")
        return found

    @property
    def made_with(self) -> MadeWith:
        """The arguments that its suggester does not tell."""
        own, old = self.saved.arguments, self.saved.old_data
        sources = tuple(OldSource(one.name, one.path, one.fingerprint, one.units) for one in old)
        return MadeWith(own.prior, own.ard, sources, tuple(own.objects), own.relations, self.saved.id)


def _wanted(saved: SavedCampaign) -> tuple[object, object]:
    aims = loaded.aims_in(saved)
    return aims.objectives, aims.requirements


def kept_in(
    storage: str | BaseStorage, name: str, suggester: Suggester, seed: int, made_with: MadeWith, again: bool
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
    aims, wanted = suggester.aims, directions_of(suggester.aims)
    database = opening.opened(storage)
    # To make one that is there writes too, for a moment, and not everybody may.
    study = opening.found(database, name) or opening.found_or_made(database, name, wanted)
    there = [one.name.lower() for one in study.directions]
    if there != wanted:
        raise InputError(
            f"The storage has a study {name!r} with the directions {listed(there)}; this campaign has "
            f"{listed(wanted)}. Give another name=."
        )
    if blobs.about(study, _ARGUMENTS) is None or again:
        surrogates = {aims.main.target: suggester.surrogate, **suggester.others}
        if made_with.old:
            blobs.keep(study, _LEARNT, encoded(surrogates), {"sources": [one.name for one in made_with.old]})
        data = encoded_campaign(suggester, seed, made_with, History(), (), None)
        blobs.keep(study, _ARGUMENTS, data, {_FORM: VERSION})
    is_older = (blobs.about(study, _ARGUMENTS) or {}).get(_FORM, 1) < VERSION
    return StudyRecord(study, suggester.space, aims, partial(_mark, study) if is_older else None)


def _mark(study: Study) -> None:
    """Have older programs refuse the campaign: they would not see what is written from now on, or break its chain."""
    data = blobs.kept(study, _ARGUMENTS)
    if data is not None:
        saved = msgspec.structs.replace(loaded.decoded(data, f"The study {study.study_name!r}"), version=VERSION)
        blobs.keep(study, _ARGUMENTS, msgspec.json.encode(sealed(saved)), {_FORM: VERSION})


def load(storage: str | BaseStorage, name: str | None) -> KeptCampaign:
    """The campaign of this name, or the only one there is; an `InputError` says which there are."""
    opened = opening.opened(storage)
    names = optuna.get_all_study_names(opened)
    campaigns = {one: found for one in names if (found := KeptCampaign.find(opened, one)) is not None}
    wanted = next(iter(campaigns), None) if name is None and len(campaigns) == 1 else name
    if wanted not in campaigns:
        there = listed(map(repr, campaigns)) if campaigns else "none"
        asked = "" if name is None else f"; got {shown(name)}"
        raise InputError(
            f"name must be that of a campaign in the storage, of which there are {there}{asked}.",
            typed=f"Say which campaign is meant with --name; there are {there}{asked}.",
        )
    return campaigns[wanted]


def without_old_data(saved: SavedCampaign) -> SavedCampaign:
    """The same campaign, with what was learnt from old data known, so that the old data itself is not needed."""
    arguments = msgspec.structs.replace(saved.arguments, relations={})
    return msgspec.structs.replace(saved, old_data=[], arguments=arguments)
