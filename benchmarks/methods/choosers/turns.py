"""A campaign of several responses: what every optimiser has to do, and the loop that all of them share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tunedprior.space.search_space import Setting

#: A response by its name.
Responses = Mapping[str, float]


class Chooser(Protocol):
    """Something that learns what experiments gave and chooses the next one."""

    def choose(self) -> Setting:
        """The next setting."""

    def learn(self, setting: Setting, responses: Responses) -> None:
        """What was measured there."""


def in_turn(
    chooser: Chooser,
    respond: Callable[[Setting], Responses],
    trials: int,
    first: Sequence[Setting] = (),
    after: Callable[[Setting, Responses], object] | None = None,
) -> list[tuple[Setting, Responses]]:
    """Every trial's setting and responses, beginning with those settings that all optimisers share.

    Args:
        chooser: What learns and chooses.
        respond: What an experiment gives.
        trials: How many there are, the first ones among them.
        first: What to begin with, before the chooser is asked.
        after: Called when the chooser has learnt a trial.
    """
    done = []
    for step in range(trials):
        setting = first[step] if step < len(first) else chooser.choose()
        responses = respond(dict(setting))
        chooser.learn(setting, responses)
        done.append((setting, responses))
        if after is not None:
            after(setting, responses)
    return done
