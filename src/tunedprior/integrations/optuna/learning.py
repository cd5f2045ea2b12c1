"""What old data taught, for one group of parameters: learnt once, kept with the study, and taken from there."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from optuna.study import Study

from tunedprior.average.old_sets import Read, named, read_all, relations_of, turned_round
from tunedprior.campaign.priors import surrogates_for
from tunedprior.campaign.sources import sources_of
from tunedprior.campaign.stored_surrogates import decoded, encoded, fit_to
from tunedprior.errors import FileFormatError, InputError
from tunedprior.integrations.optuna.old_studies import NotHereError, for_group, located, refuse_without
from tunedprior.models.surrogate import Surrogate
from tunedprior.problem.aims import Aims
from tunedprior.problem.box import Box
from tunedprior.problem.old_data import OldTable
from tunedprior.problem.space import Setting, Space
from tunedprior.studies import blobs

_log = logging.getLogger(__name__)
_LEARNT = "learnt:"  # what is kept begins with this


@dataclass(frozen=True, eq=False)
class Teaching:
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

    def check(self, study: Study, responses: Sequence[str]) -> None:
        """Refuse old data that is not here or lacks the responses, as far as that shows without the parameters.

        What is not here may have been learnt from by others, and is kept with the study then.

        Args:
            study: The study.
            responses: What its values are called.
        """
        for name, one in named(self.old_data).items():
            try:
                data = located(one, study)
            except NotHereError:
                if not blobs.is_any(study, _LEARNT):
                    raise
            else:
                refuse_without(responses, data, name)

    def surrogates(
        self,
        study: Study,
        space: Space,
        aims: Aims,
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
        name = f"{_LEARNT}{_key(space, aims)}"
        stored = blobs.about(study, name)
        try:
            old = self._read(study, space, aims, constraints, alone)
        except NotHereError as error:
            if stored is None:
                raise
            _log.info(f"{error} Going on with what the study learnt from it.")
            old = None
        if old is None and stored is not None:
            return self._stored(study, name, space, aims) or self._learnt({}, space, aims, beyond)
        if not old:
            return self._learnt({}, space, aims, beyond)
        sets, read = old
        about = {"prior": self.prior, "relation": repr(self.relation), "sources": _sources(sets, read)}
        turned = {one.target: turned_round(read[one.target], one.direction) for one in aims.responses}
        if any(turned.values()):
            about["turned"] = {name: list(sets) for name, sets in turned.items()}
        if stored == about and not beyond:
            found = self._stored(study, name, space, aims)
            if found is not None:
                return found
        found = self._learnt(read, space, aims, beyond, sets)
        blobs.keep(study, name, encoded(found), about, self.artifact_store)
        return found

    def _read(
        self, study: Study, space: Space, aims: Aims, constraints: Mapping[str, str], alone: bool
    ) -> tuple[dict[str, Any], dict[str, dict[str, Read]]] | None:
        """Old data sets by name, and as they were read for each response; None if none was given for these."""
        given = {name: located(one, study) for name, one in named(self.old_data).items()}
        sets = {name: for_group(one, space.names, aims, constraints) for name, one in given.items()}
        # With other groups of parameters there may be some that old data has nothing of; without, that is a mistake.
        sets = {name: given[name] if one is None and alone else one for name, one in sets.items()}
        sets = {name: one for name, one in sets.items() if one is not None}
        return (sets, read_all(sets, space, aims)) if sets else None

    def _learnt(
        self,
        read: Mapping[str, Mapping[str, Read]],
        space: Space,
        aims: Aims,
        beyond: Sequence[Setting],
        sets: Mapping[str, Any] | None = None,
    ) -> dict[str, Surrogate]:
        by_response = {one.target: read.get(one.target, {}) for one in aims.responses}
        known = relations_of(self.relation, named(self.old_data)) if sets else {}
        relations = {name: one for name, one in known.items() if name in (sets or {})}
        within = _box(space, by_response, beyond)
        return surrogates_for(aims, self.prior, by_response, space, seed=self.seed, relations=relations, within=within)

    def _stored(self, study: Study, name: str, space: Space, aims: Aims) -> dict[str, Surrogate] | None:
        """What the study keeps, as far as it can be used for this space."""
        try:
            data = blobs.kept(study, name, self.artifact_store)
            found = None if data is None else decoded(data)
        except (FileFormatError, InputError) as error:
            _log.warning(f"What was learnt from old data cannot be read from the study, and is left aside: {error}")
            return None
        if found is not None and fit_to(found, space, aims):
            return found
        _log.warning("What the study learnt from old data is of another search space, and is left aside.")
        return None


def _key(space: Space, aims: Aims) -> str:
    """The parameters and the responses, in few characters."""
    responses = [(one.target, str(one.direction)) for one in aims.responses]
    return hashlib.sha256(json.dumps([space.names, responses]).encode()).hexdigest()[:16]


def _sources(sets: Mapping[str, Any], read: Mapping[str, Mapping[str, Read]]) -> dict[str, str]:
    return {one.name: one.fingerprint for one in sources_of(sets, read)}


def _box(space: Space, old: Mapping[str, Mapping[str, Read]], beyond: Sequence[Setting]) -> Box | None:
    """The box around everything, where results lie outside of the space; None for that of the space and old data."""
    if not beyond:
        return None
    tables = [one.settings for sets in old.values() for one in sets.values() if isinstance(one, OldTable) and len(one)]
    return Box.around(space, pd.concat([*tables, pd.DataFrame(list(beyond))], ignore_index=True))
