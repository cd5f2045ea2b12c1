"""Sums on Dask's workers: the answer of one process, whatever the workers do."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from support.builders import PLANT, plant_data
from tunedprior import pretrain
from tunedprior.errors import InputError
from tunedprior.machines import FeatureFit
from tunedprior.weight_prior.partitioned import pretrain_partitions

FEW = 20


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old")
    table = plant_data(300, noise=0.1)
    for number in range(6):
        part = table[50 * number : 50 * (number + 1)]
        part.to_parquet(folder / f"{number}.parquet", row_group_size=25, index=False)
    return folder


@pytest.fixture(params=[1, 3], ids=["one worker", "three workers"])
def client(request: pytest.FixtureRequest) -> Iterator[object]:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=request.param, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        yield client


@pytest.mark.parametrize("rows", [25, 100])
def test_workers_add_up_to_what_one_process_does(old: Path, client: object, rows: int) -> None:
    from tunedprior.integrations.dask import pretrain_on_dask

    here = pretrain_partitions(old, PLANT, rows_with_alpha=FEW, rows_per_task=rows)
    there = pretrain_on_dask(old, PLANT, client, rows_with_alpha=FEW, rows_per_task=rows)
    whole = pretrain(plant_data(300, noise=0.1), PLANT, rows_with_alpha=FEW)
    assert isinstance(here.fit, FeatureFit)
    assert isinstance(there.fit, FeatureFit)
    torch.testing.assert_close(there.fit.weights, here.fit.weights, rtol=1e-12, atol=1e-14)
    x = here.anchors
    torch.testing.assert_close(there.fit(x), whole.fit(x), rtol=1e-9, atol=1e-10)
    assert there.error == pytest.approx(whole.error, rel=1e-9)


def test_an_error_of_a_worker_is_the_users(tmp_path: Path, client: object) -> None:
    from tunedprior.integrations.dask import pretrain_on_dask

    plant_data(30).assign(a="hot").to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match=r"'a' must be numbers; 30 of 30 are not \(row 0"):
        pretrain_on_dask(tmp_path, PLANT, client)


def test_a_client_is_one(old: Path) -> None:
    pytest.importorskip("distributed")
    from tunedprior.integrations.dask import pretrain_on_dask

    with pytest.raises(InputError, match=r"client must be a dask\.distributed\.Client"):
        pretrain_on_dask(old, PLANT, "localhost:8786")
