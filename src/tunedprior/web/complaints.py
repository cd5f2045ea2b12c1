"""What may be wrong with a request, in words, and the status that goes with it."""

from collections.abc import Mapping

from tunedprior.errors import InputError, StorageError
from tunedprior.problem.trials import Trial


class RequestError(InputError):
    """A request that nothing was done about; the message says why and what to do."""

    status = 422


class InvalidFormError(RequestError):
    """Something in a form cannot be understood.

    Attributes:
        fields: What is wrong with each field, by its name in the form.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        several = f"{len(fields)} entries need" if len(fields) > 1 else "One entry needs"
        super().__init__(f"{several} another look. Nothing was recorded yet, and what you typed is still here.")
        self.fields = dict(fields)


class NotFoundError(RequestError):
    """There is no such page or trial."""

    status = 404


class FormConflictError(RequestError):
    """Somebody else was faster.

    Attributes:
        trial: The trial as it is now.
    """

    status = 409

    def __init__(self, message: str, trial: Trial | None = None) -> None:
        super().__init__(message)
        self.trial = trial


class BusyError(RequestError):
    """Too much is being worked out already.

    Attributes:
        retry_after: Seconds after which to try again.
    """

    status = 503
    retry_after = 10


class ForeignFormError(RequestError):
    """A form that this page did not give to this browser."""

    status = 403


def get_http_status(error: InputError | StorageError) -> int:
    """The status of a reply that shows this error."""
    if isinstance(error, StorageError):
        return BusyError.status
    return error.status if isinstance(error, RequestError) else RequestError.status
