"""The first settings of a campaign: those of an opening by old data, then of a Sobol design."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.evaluation import is_among
from tunedprior.acquisition.lattice import EncodedSpace
from tunedprior.campaign.design import NUM_OFFERED, NUM_ROUNDS, WIDTHS, draw_around, evaluate_opening, mask_near_known
from tunedprior.campaign.pool import Pool
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import derive_seed
from tunedprior.problem.box import Box
from tunedprior.problem.objective import Objective
from tunedprior.problem.space import Setting, Space


@dataclass(frozen=True, eq=False)
class FirstSettings:
    """What to begin with, before there is a model.

    Attributes:
        space: What may be set.
        objectives: What is wanted.
        models: Their surrogates, which may know what to begin with.
        design: `"old data"` or `"sobol"`.
        lattice: The allowed settings, as codes.
    """

    space: Space
    objectives: tuple[Objective, ...]
    models: tuple[Surrogate, ...]
    design: str
    lattice: EncodedSpace

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
        codes = draw_around(self.box.encode([setting])[0], self.lattice.bounds, round_, seed)
        return self.box.decode(codes, self.space)

    def _choose_most_promising(
        self, position: int, known: Float[Tensor, "n k"], settings: Sequence[Setting]
    ) -> Setting:
        scores = self._evaluate_opening(settings)[position]
        return dict(settings[int(mask_near_known(known, self.box.encode(settings), scores, self.box).argmax())])

    def _evaluate_opening(self, settings: Sequence[Setting]) -> Float[Tensor, "m n"]:
        """How promising settings are, a row for each of the opening; the objectives take turns."""
        codes = self.box.encode(settings)
        both = zip(self.models, self.objectives, strict=True)
        each = [evaluate_opening(model, self.design, codes, wanted) for model, wanted in both]
        if len(each) == 1:
            return each[0]
        turns = [rows[k] for k in range(max(map(len, each))) for rows in each if k < len(rows)]
        return torch.stack(turns[: len(self.box.axes) + 1]) if turns else each[0]
