"""A whole campaign in one call."""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any

from tqdm import tqdm

from tunedprior.knowledge import OldData
from tunedprior.optimizer import Optimizer
from tunedprior.space import Description, Setting, Space
from tunedprior.validation import whole


def optimize(
    function: Callable[[Setting], float],
    space: Mapping[str, Description] | Space,
    n_trials: int,
    auxiliary: OldData | Sequence[OldData] | Mapping[str, OldData] | None = None,
    *,
    catch: tuple[type[Exception], ...] = (),
    progress: bool = True,
    **options: Any,
) -> Optimizer:
    """Ask, run and tell `n_trials` times; the optimiser that comes back holds the best setting and the history.

    Args:
        function: Takes a setting (a dict) and gives the response; NaN for a failed run.
        space: As for `Optimizer`.
        n_trials: How many settings to try.
        auxiliary: Old data, as for `Optimizer`.
        catch: Exceptions of `function` that count as failed runs. Others end the campaign, and carry the optimiser
            along as `error.optimizer`, so that nothing is lost.
        progress: Whether to show a progress bar.
        **options: As for `Optimizer`.

    >>> result = optimize(lambda s: -(s["x"] - 0.3) ** 2, {"x": (0.0, 1.0)}, n_trials=8, progress=False)
    >>> abs(result.best.setting["x"] - 0.3) < 0.02
    True
    """
    n_trials = whole(n_trials, "n_trials")
    optimizer = Optimizer(space, auxiliary, **options)
    with tqdm(total=n_trials, disable=not progress, unit="trial") as bar:
        for _ in range(n_trials):
            setting = optimizer.ask()
            try:
                optimizer.tell(setting, float(function(setting)))
            except catch:
                optimizer.tell(setting, nan)
            except Exception as error:
                error.add_note(
                    f"The {len(optimizer.history)} trials before it are in this exception's .optimizer.history."
                )
                error.optimizer = optimizer  # type: ignore[attr-defined]  # ours to add: see `catch`
                raise
            if optimizer.best is not None:
                bar.set_postfix(best=f"{optimizer.best.value:.4g}")
            bar.update()
    return optimizer
