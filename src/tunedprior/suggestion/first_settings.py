"""The first settings, before there is a model of the new process: an opening by old data, or a Sobol design.

The first settings of a campaign: those of an opening by old data, then of a Sobol design.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.encoded_space import EncodedSpace, is_among
from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.goals.goal import Target
from tunedprior.goals.objective import Objective
from tunedprior.model_averaging.average import Average
from tunedprior.models.surrogate import OpeningSurrogate, Surrogate
from tunedprior.numerics.isolation import derive_seed
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space
from tunedprior.suggestion.candidates import Pool

OLD_DATA, SOBOL = DESIGNS = ("old data", "sobol")
#: Settings to look for the most promising one among.
NUM_OFFERED = 1024
# Settings around the best one so far, and the standard deviation of their distances in each round of looking again.
_NUM_AROUND, WIDTHS = 256, (0.15, 0.03)
NUM_ROUNDS = len(WIDTHS)
# Settings of an opening are at least this part of the box's diagonal apart, where there are such.
_APART = 0.1
# Settings of the design that come after an opening, in turns with the model's; no more than there are parameters.
_IN_TURNS = 3


def check_design(design: Any) -> None:
    """Refuse what is no design, before anything is learnt for it."""
    if design not in DESIGNS:
        raise InputError(f"design must be one of {format_list(map(repr, DESIGNS))}; got {format_value(design)}.")


def is_designed(position: int, num_opening: int, initial: int) -> bool:
    """Whether the setting at this position is one of the design, and not the model's.

    After an opening, settings of the design and of the model take turns: old data may mislead, and what fits the few
    results so far is easily believed.
    """
    if position < num_opening:
        return True
    return position < initial and (num_opening == 0 or (position - num_opening) % 2 == 0)


def compute_design_position(position: int, substitutes: int, num_opening: int, initial: int) -> int:
    """The place among the first settings of what comes after `position` trials, of which so many are substitutes.

    Settings from elsewhere do as well as a design's, and stand for as many of these. They do not stand for the opening,
    which comes after them while the design lasts; later, results say more than old data alone.
    """
    suggested = position - substitutes
    return suggested if suggested < num_opening and position < initial else position


def compute_default_initial(num_parameters: int, num_opening: int) -> int:
    """Over how many settings a design extends: one more than there are parameters; with an opening, see `_IN_TURNS`."""
    return num_parameters + 1 if num_opening == 0 else num_opening + 2 * min(num_parameters, _IN_TURNS)


def evaluate_opening(
    surrogate: Surrogate, design: str, X: Float[Tensor, "n k"], objective: Objective | None = None
) -> Float[Tensor, "m n"]:
    """How promising settings are, a row for each setting of the opening; no rows for a Sobol design."""
    if design != OLD_DATA or not isinstance(surrogate, OpeningSurrogate):
        return X.new_zeros(0, len(X))
    if objective is not None and isinstance(objective.direction, Target) and isinstance(surrogate, Average):
        ends = objective.direction.low, objective.direction.upper
        return surrogate.evaluate_opening_for_target(X, *map(objective.scale_value, ends))
    return surrogate.evaluate_opening(X)


def mask_near_known(
    known: Float[Tensor, "n k"], X: Float[Tensor, "m k"], score: Float[Tensor, " m"], box: Box
) -> Float[Tensor, " m"]:
    """The score, without settings near known ones; where all are near, without those that are known."""
    if len(known) == 0:
        return score
    distance = torch.cdist(box.to_kernel_inputs(X), box.to_kernel_inputs(known)).amin(1) / (2 * sqrt(len(box.axes)))
    for least in (_APART, 1e-9):
        if (distance > least).any():
            return score.where(distance > least, -torch.inf)
    return score


def draw_around(
    code: Float[Tensor, " k"], bounds: Float[Tensor, "2 k"], round_: int, seed: int
) -> Float[Tensor, "n k"]:
    """Codes at random around one, nearer in each round, within bounds."""
    generator = torch.Generator().manual_seed(seed + round_)
    steps = torch.randn(_NUM_AROUND, len(code), generator=generator, dtype=torch.float64)
    return (code + WIDTHS[round_] * (bounds[1] - bounds[0]) / 2 * steps).clamp(*bounds)


@dataclass(frozen=True, eq=False)
class FirstSettings:
    """What to begin with, before there is a model.

    Attributes:
        space: What may be set.
        objectives: What is wanted.
        models: Their surrogates, which may know what to begin with.
        design: `"old data"` or `"sobol"`.
        encoded_space: The allowed settings, encoded.
    """

    space: Space
    objectives: tuple[Objective, ...]
    models: tuple[Surrogate, ...]
    design: str
    encoded_space: EncodedSpace

    @property
    def box(self) -> Box:
        """The box that all models share."""
        return self.models[0].box

    @cached_property
    def num_opening(self) -> int:
        """The number of settings of the opening."""
        any_setting = {parameter.name: parameter.compute_quantile(0.5) for parameter in self.space.parameters}
        return len(self._evaluate_opening([any_setting]))

    def choose_setting(self, position: int, known: Float[Tensor, "n k"], seed: int, pool: Pool | None) -> Setting:
        """The setting to begin with at this position: of the opening, then of a Sobol design.

        From a pool, the most promising untried candidates, then some at random, as a pool is dense where somebody
        thought it worthwhile; without an opening, those nearest to the Sobol points.
        """
        box = self.box
        if position < self.num_opening:
            return self._find_most_promising(position, known, seed, pool)
        sobol = self.space.sobol(position + 1, seed)
        if pool is None:
            first = position % len(sobol)
            in_turn = [*sobol[first:], *sobol[:first]]
            fresh = (~is_among(box.encode(in_turn), known)).nonzero().flatten().tolist()
            return in_turn[fresh[0] if fresh else 0]
        wanted, offered = sobol[position % len(sobol)], box.encode(pool.settings)
        if self.num_opening:
            random = torch.Generator().manual_seed(derive_seed(seed, position, 2))
            wanted = pool.settings[int(torch.randint(len(pool), (1,), generator=random))]
        distances = torch.cdist(box.to_kernel_inputs(box.encode([wanted])), box.to_kernel_inputs(offered))[0]
        untried = ~is_among(offered, known)
        return dict(pool.settings[int(distances.where(untried if untried.any() else ~untried, torch.inf).argmin())])

    def _find_most_promising(self, position: int, known: Float[Tensor, "n k"], seed: int, pool: Pool | None) -> Setting:
        """The most promising setting by the opening at this position, away from known ones.

        Without a pool it is looked for among settings all over the space, then around the best of these.
        """
        settings = self.space.sobol(NUM_OFFERED, seed) if pool is None else pool.settings
        best = self._choose_most_promising(position, known, settings)
        if pool is None:
            for round_ in range(NUM_ROUNDS):
                best = self._choose_most_promising(position, known, [best, *self._draw_around(best, round_, seed)])
        return best

    def _draw_around(self, setting: Setting, round_: int, seed: int) -> list[Setting]:
        """Settings around one, nearer in each round."""
        if self.space.feasible is not None:
            return self.space.feasible.find_neighbours(setting, WIDTHS[round_] / 2, seed + round_)
        X = draw_around(self.box.encode([setting])[0], self.encoded_space.bounds, round_, seed)
        return self.box.decode(X, self.space)

    def _choose_most_promising(
        self, position: int, known: Float[Tensor, "n k"], settings: Sequence[Setting]
    ) -> Setting:
        scores = self._evaluate_opening(settings)[position]
        return dict(settings[int(mask_near_known(known, self.box.encode(settings), scores, self.box).argmax())])

    def _evaluate_opening(self, settings: Sequence[Setting]) -> Float[Tensor, "m n"]:
        """How promising settings are, a row for each of the opening; the objectives take turns."""
        X = self.box.encode(settings)
        both = zip(self.models, self.objectives, strict=True)
        each = [evaluate_opening(model, self.design, X, wanted) for model, wanted in both]
        if len(each) == 1:
            return each[0]
        turns = [rows[k] for k in range(max(map(len, each))) for rows in each if k < len(rows)]
        return torch.stack(turns[: len(self.box.axes) + 1]) if turns else each[0]
