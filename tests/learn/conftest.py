"""What all tests of learning share: one thread, so that numbers do not vary, and a cluster."""

from collections.abc import Iterator

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a cluster with one worker in a process of its own."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        host="127.0.0.1",
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address
