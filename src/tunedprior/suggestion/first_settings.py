"""The initial design: first settings where old data expects good responses, then a Sobol design."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.optimisation import EncodedSpace, is_among
from tunedprior.goals.goal import Target
from tunedprior.goals.objective import Objective
from tunedprior.models.surrogate import OpeningSurrogate, Surrogate
from tunedprior.numerics.isolation import derive_seed
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space
from tunedprior.suggestion.candidates import Pool
from tunedprior.suggestion.config import OLD_DATA

#: Settings to look for the most promising one among.
NUM_OFFERED = 1024
# Settings around the best one so far, and the standard deviation of their distances in each round of looking again.
_NUM_AROUND, WIDTHS = 256, (0.15, 0.03)
NUM_ROUNDS = len(WIDTHS)
# Settings of an opening are at least this part of the box's diagonal apart, where there are such.
_APART = 0.1
# Settings of the design that come after an opening, in turns with the model's; no more than there are parameters.
_IN_TURNS = 3


def is_designed(position: int, num_opening: int, initial: int) -> bool:
    """Whether the setting at this position comes from the initial design, and not from the model.

    With old data the design and the model take turns. Old data may mislead, and a model of very few results easily
    agrees with it.
    """
    if position < num_opening:
        return True
    return position < initial and (num_opening == 0 or (position - num_opening) % 2 == 0)


def compute_design_position(position: int, substitutes: int, num_opening: int, initial: int) -> int:
    """Compute which setting of the initial design comes next, after `position` trials.

    Trials at other settings (substitutes) replace Sobol points one for one. They do not replace the settings that old
    data proposes: these come after the substitutes as long as the design lasts.

    Args:
        position: The number of trials so far.
        substitutes: How many of these were not settings of the design.
        num_opening: The number of first settings that old data proposes.
        initial: The number of settings that the design extends over.
    """
    suggested = position - substitutes
    return suggested if suggested < num_opening and position < initial else position


def compute_default_initial(num_parameters: int, num_opening: int) -> int:
    """The default size of the initial design: one more than there are parameters; with old data see `_IN_TURNS`."""
    return num_parameters + 1 if num_opening == 0 else num_opening + 2 * min(num_parameters, _IN_TURNS)


def evaluate_opening(
    surrogate: Surrogate, design: str, X: Float[Tensor, "n k"], objective: Objective | None = None
) -> Float[Tensor, "m n"]:
    """Score settings by old data, a row for each first setting that it proposes; no rows for a Sobol design."""
    if design != OLD_DATA or not isinstance(surrogate, OpeningSurrogate):
        return X.new_zeros(0, len(X))
    if objective is None or not isinstance(objective.direction, Target):
        return surrogate.evaluate_opening(X)
    low, high = map(objective.scale_value, (objective.direction.low, objective.direction.upper))
    return surrogate.evaluate_opening(X, (low, high))


def mask_near_known(
    known: Float[Tensor, "n k"], X: Float[Tensor, "m k"], score: Float[Tensor, " m"], box: Box
) -> Float[Tensor, " m"]:
    """Set the score to -∞ near known settings; if all settings are near known ones, at known settings alone."""
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
    """Draw encoded settings at random around one, nearer in each round, within bounds."""
    generator = torch.Generator().manual_seed(seed + round_)
    steps = torch.randn(_NUM_AROUND, len(code), generator=generator, dtype=torch.float64)
    return (code + WIDTHS[round_] * (bounds[1] - bounds[0]) / 2 * steps).clamp(*bounds)


@dataclass(frozen=True, eq=False)
class FirstSettings:
    """Chooses the settings of the initial design, before there is a model of the new task.

    Attributes:
        space: The search space.
        objectives: The objectives of the campaign.
        models: The surrogate of each objective, which may propose first settings.
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
        """The number of first settings that old data proposes."""
        any_setting = {parameter.name: parameter.compute_quantile(0.5) for parameter in self.space.parameters}
        return len(self._evaluate_opening([any_setting]))

    def choose_setting(self, position: int, known: Float[Tensor, "n k"], seed: int, pool: Pool | None) -> Setting:
        """Choose the setting at this position of the initial design.

        Without a pool: the settings that old data proposes, then Sobol points. With a pool: the untried candidates that
        old data expects most of, then random ones, as pools are dense where somebody expects good results; without old
        data the candidates nearest to the Sobol points.

        Args:
            position: The position in the design, from 0.
            known: Settings that were tried, are pending or were cancelled.
            seed: Makes the choice repeatable.
            pool: The candidates; the whole space, when left out.
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
        """Find the setting with the best score by old data at this position, away from known settings.

        Without a pool the score is evaluated all over the space, then around the best settings.
        """
        settings = self.space.sobol(NUM_OFFERED, seed) if pool is None else pool.settings
        best = self._choose_most_promising(position, known, settings)
        if pool is None:
            for round_ in range(NUM_ROUNDS):
                best = self._choose_most_promising(position, known, [best, *self._draw_around(best, round_, seed)])
        return best

    def _draw_around(self, setting: Setting, round_: int, seed: int) -> list[Setting]:
        """Draw settings around one, nearer in each round."""
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
        """Score settings by old data, a row for each proposed first setting; the objectives take turns."""
        X = self.box.encode(settings)
        both = zip(self.models, self.objectives, strict=True)
        each = [evaluate_opening(model, self.design, X, wanted) for model, wanted in both]
        if len(each) == 1:
            return each[0]
        turns = [rows[k] for k in range(max(map(len, each))) for rows in each if k < len(rows)]
        return torch.stack(turns[: len(self.box.axes) + 1]) if turns else each[0]
