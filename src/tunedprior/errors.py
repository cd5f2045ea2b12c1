"""Every error and warning of the package, so that callers can catch ours and nothing else."""


class TunedPriorError(Exception):
    """Base of all errors raised on purpose by tunedprior."""


class InputError(TunedPriorError, ValueError):
    """An argument cannot be used; the message says what was expected, what came, and what to do."""


class DomainError(InputError):
    """Points lie where the kernel is not defined (or explodes)."""


class FactorisationError(TunedPriorError, ArithmeticError):
    """A covariance matrix could not be factorised, even with jitter."""


class ConvergenceError(TunedPriorError, ArithmeticError):
    """A solver stopped before it met its optimality conditions."""


class JitterWarning(UserWarning):
    """A covariance matrix was factorised only after jitter was added to its diagonal."""
