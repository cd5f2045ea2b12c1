"""Protocols of surrogates, which turn observations into a model of the objective."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import singledispatch
from typing import Any, Protocol, runtime_checkable

from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import FileFormatError, InputError
from tunedprior.goals.observations import Observations
from tunedprior.space.encoding import Box


@runtime_checkable
class Surrogate(Protocol):
    """A function from observations to a BoTorch model of encoded settings; it keeps what it learnt from old data."""

    @property
    def box(self) -> Box:
        """How settings are encoded; it must hold the search space."""
        ...

    def __call__(self, observations: Observations) -> Model:
        """A fitted model with one output, in units of `observations.y`."""
        ...


@runtime_checkable
class OpeningSurrogate(Protocol):
    """A surrogate that proposes first settings, before the first result."""

    def evaluate_opening(
        self, X: Float[Tensor, "n k"], target: tuple[float, float] | None = None
    ) -> Float[Tensor, "m n"]:
        """Score settings, a row for each proposed first setting; possibly no rows.

        Args:
            X: Settings, encoded.
            target: The ends of the range that the response is to be in, on the scale of the old one; None where as much
                as possible is wanted.
        """
        ...


@runtime_checkable
class PriorPredictingSurrogate(Protocol):
    """A surrogate that can predict before the first result, from old data alone."""

    def predict_prior(self, X: Float[Tensor, "n k"]) -> tuple[float, Float[Tensor, " n"]] | None:
        """The mean of the response, and its standard deviation at encoded settings; None if nothing is known of it."""
        ...


class CachingSurrogate(ABC):
    """A surrogate that can reuse its work on fewer observations; it must draw no random numbers."""

    box: Box

    @abstractmethod
    def fit(self, observations: Observations, cache: Any = None) -> tuple[Model, Any]:
        """Fit a model; return it with a cache for the next call. The cache affects the time, never the model.

        A cache is a value that never changes, so any number of callers may continue from the same one.
        """

    def __call__(self, observations: Observations) -> Model:
        """The model."""
        return self.fit(observations)[0]


@singledispatch
def encode_surrogate(surrogate: Surrogate) -> tuple[str, bytes]:
    """Encode a surrogate as its kind and bytes, without pickle; the decoder registered for the kind restores it.

    A class that can be stored registers itself: `@encode_surrogate.register`, and `register_decoder` for its kinds.
    """
    raise InputError(f"A model of your own, {type(surrogate).__name__}, cannot be stored. Give it each time.")


_DECODERS: dict[str, Callable[[bytes], Surrogate]] = {}


def register_decoder(kind: str, decode: Callable[[bytes], Surrogate]) -> None:
    """Register the function that restores a surrogate of this kind from its bytes."""
    _DECODERS[kind] = decode


def decode_surrogate(kind: str, data: bytes) -> Surrogate:
    """Restore a surrogate that `encode_surrogate` encoded; a `FileFormatError` if it is damaged, or of unknown kind."""
    if kind not in _DECODERS:
        raise FileFormatError(f"What is stored of old data is of an unknown kind, {kind[:40]!r}. Update tunedprior.")
    return _DECODERS[kind](data)
