"""Nothing outside a call notices it: generators, thread counts, devices, gradients and warning filters."""

import itertools
import threading
import warnings

import pytest
import torch
from botorch.utils.sampling import draw_sobol_samples

from support.builders import vector
from tunedprior.numerics.isolation import OwnGenerator, derive_seed, isolate_computation, silence_warnings


def draws() -> list[torch.Tensor]:
    """Numbers by every way of drawing them that matters here."""
    return [
        torch.rand(3),
        torch.randn(3),
        torch.randint(100, (3,)),
        torch.randperm(9),
        torch.multinomial(torch.ones(5), 3),
        torch.empty(3).normal_(),
        torch.empty(3).uniform_(),
        torch.empty(3).exponential_(),
        torch.normal(torch.zeros(3), torch.ones(3)),
        torch.bernoulli(torch.full((3,), 0.5)),
        draw_sobol_samples(vector([[0.0], [1.0]]), n=4, q=1).flatten(),
    ]


def assert_equal(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


# -- random numbers ------------------------------------------------------------------------------------


def test_own_numbers_are_those_of_the_seed_and_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(3)
    expected = draws()
    state = torch.get_rng_state()
    with OwnGenerator(3):
        assert_equal(draws(), expected)
    with pytest.raises(ZeroDivisionError), OwnGenerator(4):
        1 / torch.randint(1, (1,)).item()  # 0 is the only such number
    assert torch.equal(torch.get_rng_state(), state)


def test_a_block_inside_a_block_has_numbers_of_its_own() -> None:
    with OwnGenerator(3):
        first, second = draws(), draws()
    with OwnGenerator(3):
        assert_equal(draws(), first)
        with OwnGenerator(5):
            draws()
        assert_equal(draws(), second)


def test_a_generator_that_was_given_is_the_one_that_draws() -> None:
    expected = torch.rand(3, generator=torch.Generator().manual_seed(8))
    with OwnGenerator(3):
        assert torch.equal(torch.rand(3, generator=torch.Generator().manual_seed(8)), expected)


def test_threads_do_not_draw_from_each_others_generators() -> None:
    with OwnGenerator(3):
        expected = draws() + draws()
    found: dict[int, list[torch.Tensor]] = {}
    together = threading.Barrier(4)

    def draw(number: int) -> None:
        together.wait()
        with OwnGenerator(3):
            found[number] = draws()
            together.wait()
            found[number] += draws()

    threads = [threading.Thread(target=draw, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for numbers in found.values():
        assert_equal(numbers, expected)


def test_every_path_has_a_seed_of_its_own() -> None:
    paths = list(itertools.product(range(4), repeat=3))
    assert len({derive_seed(*path) for path in paths}) == len(paths)
    assert derive_seed(7, 3, 1) == derive_seed(7, 3, 1)


# -- warnings ------------------------------------------------------------------------------------------


def test_only_the_named_warnings_are_not_shown() -> None:
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with silence_warnings("Expected"):
            warnings.warn("Expected to happen", stacklevel=1)
            warnings.warn("Something else", stacklevel=1)
        warnings.warn("Expected to happen", stacklevel=1)
    assert [str(one.message) for one in caught] == ["Something else", "Expected to happen"]
    assert warnings.filters == before
    with pytest.raises(ZeroDivisionError), silence_warnings("Expected"):
        raise ZeroDivisionError
    assert warnings.filters == before


def test_no_two_threads_change_filters_at_once_and_none_are_left_behind() -> None:
    before, inside, most = list(warnings.filters), [0], [0]

    def work() -> None:
        for _ in range(20):
            with silence_warnings("Expected"), silence_warnings():  # one inside another does not wait for itself
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                torch.eye(20) @ torch.eye(20)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert warnings.filters == before


# -- threads, devices and gradients --------------------------------------------------------------------


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_small_matrices_are_worked_on_by_one_thread_and_large_ones_by_those_there_are() -> None:
    with pytest.raises(ZeroDivisionError), isolate_computation():
        1 / (torch.get_num_threads() - 1)
    assert torch.get_num_threads() == 2
    with isolate_computation(parallel=True):
        assert torch.get_num_threads() == 2
        with isolate_computation():
            assert torch.get_num_threads() == 1
            with isolate_computation(parallel=True):
                assert torch.get_num_threads() == 2
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == 2


def test_no_more_threads_than_were_given() -> None:
    assert torch.get_num_threads() == 1  # see conftest.py
    with isolate_computation(parallel=True):
        assert torch.get_num_threads() == 1


@pytest.mark.usefixtures("two_threads")
def test_other_threads_keep_theirs() -> None:
    seen = []
    with isolate_computation():
        thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        thread.start()
        thread.join()
    assert seen == [2]


def test_gradients_and_the_processor_are_at_hand_whatever_the_caller_has_set() -> None:
    with torch.device("meta"), torch.no_grad():
        with isolate_computation():
            x = torch.ones(2, requires_grad=True)
            assert x.device.type == "cpu"
            assert torch.autograd.grad((x**2).sum(), x)[0].tolist() == [2.0, 2.0]
        assert not torch.is_grad_enabled()
        assert torch.ones(2).device.type == "meta"
    with torch.inference_mode():
        with isolate_computation():
            assert not torch.is_inference_mode_enabled()
            assert not torch.ones(2, requires_grad=True).is_inference()
        assert torch.is_inference_mode_enabled()
