"""Every error and warning of the package, so that callers can catch ours and nothing else."""


class TunedPriorError(Exception):
    """Base of all errors raised on purpose by tunedprior."""


class InputError(TunedPriorError, ValueError):
    """An argument cannot be used; the message says what was expected, what came, and what to do.

    Attributes:
        typed: The message for people at the command line, where what to do is another thing; empty if it is the same.
    """

    def __init__(self, message: str = "", *, typed: str = "") -> None:
        super().__init__(message)
        self.cli_message = typed


class NothingToLearnError(InputError):
    """Old data is sound but says nothing: no rows, one row, or a response that never varies."""


class DomainError(InputError):
    """Points lie where the kernel is not defined (or explodes)."""


class FactorisationError(TunedPriorError, ArithmeticError):
    """A covariance matrix could not be factorised, even with jitter."""


class ConvergenceError(TunedPriorError, ArithmeticError):
    """A solver stopped before it met its optimality conditions."""


class JitterWarning(UserWarning):
    """A covariance matrix was factorised only after jitter was added to its diagonal."""


class VanishingKernelWarning(UserWarning):
    """What a machine learnt is zero, and so is the kernel re-weighted with it."""


class SpaceWarning(UserWarning):
    """A search space that may not be what was meant."""


class OldDataWarning(UserWarning):
    """Old data that can be used only in part, or not at all."""


class FileFormatError(TunedPriorError, ValueError):
    """A file is damaged, of another kind, or of a newer version."""


class StorageError(TunedPriorError, OSError):
    """A database could not be read or written; the message says whether what was sent is recorded."""


class MissingExtraError(TunedPriorError, ImportError):
    """A package that only some people need is not installed; the message names the extra that it comes with."""


class OddResultWarning(UserWarning):
    """A result that was told looks like a slip, or cannot be taken as it is by models."""


class ExhaustedWarning(UserWarning):
    """Everything there is to try was tried."""


class FittingWarning(UserWarning):
    """A model goes on with default parameters because fitting them failed."""


class StudyWarning(UserWarning):
    """Something that another program kept in a study makes no sense, and is left aside."""
