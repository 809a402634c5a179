"""Ways in which the database of a study fails and comes back, as they happen on real machines."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from tests.elicit.conftest import Cluster, SmallDisk, empty_postgresql

from sfumato.elicit.design.places import database_url as file_url
from sfumato.elicit.storage.backup import copy_collection
from sfumato.elicit.storage.database import open_database

__all__ = ["OUTAGES", "Outage"]


@dataclass(frozen=True)
class Outage:
    """A database that can fail and come back."""

    url: str
    begin: Callable[[], object]
    end: Callable[[], object]


def full_disk(request: pytest.FixtureRequest, folder: Path, *, postgresql: bool) -> Outage:
    disk: SmallDisk = request.getfixturevalue("small_disk")
    if postgresql:
        url = on_small_disk(request, disk)
        copy_collection(open_database(file_url(folder)), open_database(url))
    else:
        url = f"sqlite:///{disk.folder / 'study.sqlite'}"
        shutil.copyfile(folder / "study.sqlite", disk.folder / "study.sqlite")
    return Outage(url, disk.fill, disk.free)


def on_small_disk(request: pytest.FixtureRequest, disk: SmallDisk) -> str:
    """The address of an empty database whose tables are on the disk."""
    server: str = request.getfixturevalue("postgresql_server")
    place = disk.folder / "tables"
    place.mkdir()
    shutil.chown(place, "postgres")
    url = empty_postgresql(server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{place}'")

    def drop() -> None:
        with psycopg.connect(empty_postgresql(server), autocommit=True) as connection:
            connection.execute("DROP TABLESPACE small")

    request.addfinalizer(drop)
    return f"{url}&options=-cdefault_tablespace%3Dsmall"


def removed_file(request: pytest.FixtureRequest, folder: Path) -> Outage:
    file, elsewhere = folder / "study.sqlite", folder / "elsewhere.sqlite"
    return Outage(file_url(folder), lambda: file.rename(elsewhere), lambda: elsewhere.rename(file))


def stopped_server(request: pytest.FixtureRequest, folder: Path) -> Outage:
    cluster: Cluster = request.getfixturevalue("cluster")
    url = empty_postgresql(request.getfixturevalue("postgresql_server"))
    copy_collection(open_database(file_url(folder)), open_database(url))
    return Outage(url, cluster.stop, cluster.start)


OUTAGES: dict[str, Callable[[pytest.FixtureRequest, Path], Outage]] = {
    "sqlite, disk full": lambda request, folder: full_disk(request, folder, postgresql=False),
    "sqlite, file removed": removed_file,
    "postgresql, disk full": lambda request, folder: full_disk(request, folder, postgresql=True),
    "postgresql, server stopped": stopped_server,
}
