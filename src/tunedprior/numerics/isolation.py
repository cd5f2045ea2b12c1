"""Isolate a computation from the rest of the process: its own random generator and thread count.

PyTorch's default generator, its thread count and Python's warning filters are process-wide. The settings here hold for
the calling thread alone; `silence_warnings` and `one_blas_thread`, which must change process-wide state, hold a lock.
"""

import ctypes
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch.overrides import TorchFunctionMode

#: Rows of a matrix from which several threads are faster than one. With fewer they are slower, and far slower where
#: another program keeps a core busy: threads of one matrix product wait for each other.
LARGE = 1500

_RANDOM = {
    torch.rand, torch.randn, torch.randint, torch.randperm, torch.multinomial, torch.normal, torch.bernoulli,
    torch.poisson, torch.Tensor.normal_, torch.Tensor.uniform_, torch.Tensor.random_, torch.Tensor.exponential_,
    torch.Tensor.bernoulli_, torch.Tensor.cauchy_, torch.Tensor.log_normal_, torch.Tensor.geometric_,
    torch.Tensor.multinomial, torch.Tensor.bernoulli,
}  # fmt: skip

_PROCESS_WIDE = threading.RLock()

#: Warnings without consequence: of BoTorch, that one start of several ended early, which it repeats by itself; and of
#: GPyTorch, that it rounds a variance up to zero, next to an exact observation, and that it adds to the diagonal of a
#: covariance of settings that are nearly the same, and that it rounds noise up to its bound.
ENDED_EARLY = "Optimization failed|`scipy_minimize` terminated"
NEGATIVE_VARIANCE = "Negative variance values detected"
ADDED_JITTER = "A not p.d., added jitter"
ROUNDED_NOISE = "Very small noise values detected"


class OwnGenerator(TorchFunctionMode):
    """A context in which PyTorch draws from its own generator, seeded with `seed`, instead of the global one.

    BoTorch draws from the global generator, which all threads share. A function mode affects the calling thread alone:
    it passes this generator to every random function of PyTorch. The numbers are those after `torch.manual_seed(seed)`.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,  # part of PyTorch's signature
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func in _RANDOM and kwargs.get("generator") is None:
            kwargs = kwargs | {"generator": self._generator}
        return func(*args, **kwargs)


@contextmanager
def silence_warnings(*messages: str) -> Iterator[None]:
    """A context that hides warnings which begin with one of the messages, for one thread of this package at a time.

    Warning filters, and the settings of BoTorch and GPyTorch, are process-wide, and some of their routines change both
    while they run: every call of such a routine belongs in this context, if only for the lock.
    """
    with _PROCESS_WIDE, warnings.catch_warnings():
        for message in messages:
            warnings.filterwarnings("ignore", message=message)
        yield


@contextmanager
def isolate_computation(parallel: bool = False) -> Iterator[None]:
    """A context for numerical work: on the CPU, gradients enabled, one thread (if parallel, one for each core).

    There are never more threads than PyTorch was given. The caller's settings (default device, `no_grad`,
    `inference_mode`, thread counts) are restored afterwards.
    """
    with ExitStack() as stack:
        stack.enter_context(_limit_threads(parallel))
        stack.enter_context(one_blas_thread())
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        if not torch.is_grad_enabled():
            stack.enter_context(torch.enable_grad())
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        yield


class _OneBlasThread:
    """One thread for NumPy's and SciPy's BLAS while any thread of ours computes.

    Their number of threads belongs to the whole process: the first to enter sets it, the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._limit = self._limit or _find_runtime("blas").limit(limits=1)
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside and self._limit is not None:
                    self._limit.restore_original_limits()
                    self._limit = None


#: For work on small matrices with NumPy and SciPy.
one_blas_thread = _OneBlasThread()


def derive_seed(*path: int) -> int:
    """A seed derived from whole numbers such as (seed, step, purpose); paths of different lengths may share one."""
    return int(np.random.SeedSequence(list(path)).generate_state(1)[0])


class _Threads(threading.local):
    """The thread count PyTorch had before the outermost `isolate_computation`, and that set in it; 0 outside of it."""

    given = 0
    set = 0


_ours = _Threads()


@contextmanager
def _limit_threads(parallel: bool) -> Iterator[None]:
    """A context that sets PyTorch's thread count to 1, or to the number of cores, for the calling thread alone.

    `torch.set_num_threads` would also change the default of threads that start meanwhile.
    """
    given, before = _ours.given or torch.get_num_threads(), (_ours.given, _ours.set)
    count = min(given, _count_cores()) if parallel else 1
    if _ours.set == count:
        yield
        return
    set_mkl = _find_mkl_setter()
    with _find_runtime("openmp").limit(limits=count):
        previous = 0 if set_mkl is None else set_mkl(count)  # 0 where this thread had no number of its own
        _ours.given, _ours.set = given, count
        try:
            yield
        finally:
            _ours.given, _ours.set = before
            if set_mkl is not None:
                set_mkl(previous)


@cache
def _find_runtime(kind: str) -> Any:
    """PyTorch's "openmp", with a thread count per calling thread, or the "blas" of NumPy and SciPy; looked up once."""
    return ThreadpoolController().select(user_api=kind)


@cache
def _find_mkl_setter() -> Callable[[int], int] | None:
    """The setter of MKL's thread count for the calling thread, which does not follow OpenMP's; None without MKL."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    if not library.exists():
        return None
    setter = getattr(ctypes.CDLL(str(library)), "MKL_Set_Num_Threads_Local", None)
    if setter is not None:
        setter.argtypes, setter.restype = [ctypes.c_int], ctypes.c_int
    return setter


def _count_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
