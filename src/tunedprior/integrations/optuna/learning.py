"""What old data taught, for one group of parameters: learnt once, kept with the study, and taken from there."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from optuna.study import Study

from tunedprior.average.old_sets import LoadedSource, find_reversed_sources, name_sources, parse_relations, read_sources
from tunedprior.campaign.priors import make_surrogates
from tunedprior.campaign.sources import make_sources
from tunedprior.campaign.stored_surrogates import are_compatible, decode_surrogates, encode_surrogates
from tunedprior.errors import FileFormatError, InputError
from tunedprior.integrations.optuna.old_studies import (
    OldDataNotFoundError,
    find_old_data,
    refuse_missing_responses,
    select_for_group,
)
from tunedprior.models.surrogate import Surrogate
from tunedprior.problem.aims import Goals
from tunedprior.problem.box import Box
from tunedprior.problem.old_data import OldTable
from tunedprior.problem.space import Setting, Space
from tunedprior.studies import blobs

_log = logging.getLogger(__name__)
_LEARNT = "learnt:"  # what is kept begins with this


@dataclass(frozen=True, eq=False)
class SourceLearner:
    """Old data and what to make of it.

    Attributes:
        old_data: As for `Optimizer`, or other studies.
        prior: As for `Optimizer`.
        relation: As for `Optimizer`.
        seed: Of random choices of old rows.
        artifact_store: Where to keep what was learnt; with the study, when left out.
    """

    old_data: Any
    prior: str
    relation: str | Mapping[str, str]
    seed: int
    artifact_store: Any = None

    def check_old_data(self, study: Study, responses: Sequence[str]) -> None:
        """Refuse old data that is not here or lacks the responses, as far as that shows without the parameters.

        What is not here may have been learnt from by others, and is kept with the study then.

        Args:
            study: The study.
            responses: What its values are called.
        """
        for name, one in name_sources(self.old_data).items():
            try:
                data = find_old_data(one, study)
            except OldDataNotFoundError:
                if not blobs.has_blob(study, _LEARNT):
                    raise
            else:
                refuse_missing_responses(responses, data, name)

    def learn_surrogates(
        self,
        study: Study,
        space: Space,
        aims: Goals,
        constraints: Mapping[str, str],
        beyond: Sequence[Setting],
        alone: bool,
    ) -> dict[str, Surrogate]:
        """How observations of each response become a model.

        Old data that is here and new is learnt from and kept with the study. What is kept already, or of old data that
        is not here, is taken from there.

        Args:
            study: The study.
            space: The parameters of the group.
            aims: What the study is after.
            constraints: What the response of each constraint is called.
            beyond: Settings that were told and lie outside of the space, as its ranges changed.
            alone: Whether these are all the parameters there are.
        """
        name = f"{_LEARNT}{_hash_parameters(space, aims)}"
        stored = blobs.get_blob_description(study, name)
        try:
            old = self._read_old_data(study, space, aims, constraints, alone)
        except OldDataNotFoundError as error:
            if stored is None:
                raise
            _log.info(f"{error} Going on with what the study learnt from it.")
            old = None
        if old is None and stored is not None:
            return self._load_surrogates(study, name, space, aims) or self._fit_surrogates({}, space, aims, beyond)
        if not old:
            return self._fit_surrogates({}, space, aims, beyond)
        sets, read = old
        about = {"prior": self.prior, "relation": repr(self.relation), "sources": _list_fingerprints(sets, read)}
        turned = {one.name: find_reversed_sources(read[one.name], one.direction) for one in aims.responses}
        if any(turned.values()):
            about["turned"] = {name: list(sets) for name, sets in turned.items()}
        if stored == about and not beyond:
            found = self._load_surrogates(study, name, space, aims)
            if found is not None:
                return found
        found = self._fit_surrogates(read, space, aims, beyond, sets)
        blobs.save_blob(study, name, encode_surrogates(found), about, self.artifact_store)
        return found

    def _read_old_data(
        self, study: Study, space: Space, aims: Goals, constraints: Mapping[str, str], alone: bool
    ) -> tuple[dict[str, Any], dict[str, dict[str, LoadedSource]]] | None:
        """Old data sets by name, and as they were read for each response; None if none was given for these."""
        given = {name: find_old_data(one, study) for name, one in name_sources(self.old_data).items()}
        sets = {name: select_for_group(one, space.names, aims, constraints) for name, one in given.items()}
        # With other groups of parameters there may be some that old data has nothing of; without, that is a mistake.
        sets = {name: given[name] if one is None and alone else one for name, one in sets.items()}
        sets = {name: one for name, one in sets.items() if one is not None}
        return (sets, read_sources(sets, space, aims)) if sets else None

    def _fit_surrogates(
        self,
        read: Mapping[str, Mapping[str, LoadedSource]],
        space: Space,
        aims: Goals,
        beyond: Sequence[Setting],
        sets: Mapping[str, Any] | None = None,
    ) -> dict[str, Surrogate]:
        by_response = {one.name: read.get(one.name, {}) for one in aims.responses}
        known = parse_relations(self.relation, name_sources(self.old_data)) if sets else {}
        relations = {name: one for name, one in known.items() if name in (sets or {})}
        within = _make_wider_box(space, by_response, beyond)
        return make_surrogates(aims, self.prior, by_response, space, seed=self.seed, relations=relations, within=within)

    def _load_surrogates(self, study: Study, name: str, space: Space, aims: Goals) -> dict[str, Surrogate] | None:
        """What the study keeps, as far as it can be used for this space."""
        try:
            data = blobs.load_blob(study, name, self.artifact_store)
            found = None if data is None else decode_surrogates(data)
        except (FileFormatError, InputError) as error:
            _log.warning(f"What was learnt from old data cannot be read from the study, and is left aside: {error}")
            return None
        if found is not None and are_compatible(found, space, aims):
            return found
        _log.warning("What the study learnt from old data is of another search space, and is left aside.")
        return None


def _hash_parameters(space: Space, aims: Goals) -> str:
    """The parameters and the responses, in few characters."""
    responses = [(one.name, str(one.direction)) for one in aims.responses]
    return hashlib.sha256(json.dumps([space.names, responses]).encode()).hexdigest()[:16]


def _list_fingerprints(sets: Mapping[str, Any], read: Mapping[str, Mapping[str, LoadedSource]]) -> dict[str, str]:
    return {one.name: one.fingerprint for one in make_sources(sets, read)}


def _make_wider_box(
    space: Space, old: Mapping[str, Mapping[str, LoadedSource]], beyond: Sequence[Setting]
) -> Box | None:
    """The box around everything, where results lie outside of the space; None for that of the space and old data."""
    if not beyond:
        return None
    tables = [one.settings for sets in old.values() for one in sets.values() if isinstance(one, OldTable) and len(one)]
    return Box.enclose(space, pd.concat([*tables, pd.DataFrame(list(beyond))], ignore_index=True))
