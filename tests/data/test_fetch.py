"""Files are fetched whole or not at all, and every failure says what to do."""

import gzip
import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sfumato.data import fetch as fetching
from sfumato.data.fetch import Dataset, RemoteFile, compare, data_folder, fetch, locate
from sfumato.errors import DataError, UnknownName

CONTENT = b"item,label\n0,cat\n"


@dataclass
class Server:
    """What a server on this machine answers, and what it was asked for."""

    url: str
    bodies: dict[str, bytes] = field(default_factory=dict)
    promised: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.asked.append(self.path)
            if self.path in told.silent:
                told.over.wait()
            elif self.path not in told.bodies:
                self.send_error(404)
            else:
                body = told.bodies[self.path]
                self.send_response(200)
                self.send_header("Content-Length", str(told.promised.get(self.path, len(body))))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a test's output is its own."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told = Server(f"http://127.0.0.1:{http.server_address[1]}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield told
    told.over.set()
    http.shutdown()
    thread.join()
    http.server_close()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def remote(server: Server, path: str = "toys/labels.csv", content: bytes = CONTENT) -> RemoteFile:
    name = Path(path).name
    server.bodies[f"/{name}"] = content
    return RemoteFile(path, size=len(content), sha256=sha256(content), url=f"{server.url}/{name}")


def toys(*files: RemoteFile) -> Dataset:
    return Dataset("toys", "toys", "A. Maker, Toys, 2020.", "none", files)


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


def test_missing_file_is_fetched_to_its_place(server: Server, tmp_path: Path) -> None:
    dataset = toys(remote(server))

    fetched = fetch(dataset, tmp_path)

    assert fetched == [tmp_path / "toys" / "labels.csv"]
    assert fetched[0].read_bytes() == CONTENT
    assert left_over(tmp_path) == ["labels.csv"]


def test_a_file_that_is_here_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    dataset = toys(remote(server), remote(server, "toys/more.csv", b"more"))
    fetch(dataset, tmp_path)
    (tmp_path / "toys" / "more.csv").unlink()
    server.asked.clear()

    fetch(dataset, tmp_path)

    assert server.asked == ["/more.csv"]


def test_progress_runs_through_all_files_to_the_total(server: Server, tmp_path: Path) -> None:
    big = bytes(3 * fetching.CHUNK)
    dataset = toys(remote(server), remote(server, "toys/big.bin", big))
    seen: list[tuple[int, int]] = []

    fetch(dataset, tmp_path, lambda done, total: seen.append((done, total)))

    done = [step for step, _ in seen]
    assert len(seen) >= 4
    assert done == sorted(done)
    assert seen[-1] == (len(CONTENT) + len(big), len(CONTENT) + len(big))


def test_wrong_content_is_not_kept_and_both_fingerprints_are_named(
    server: Server, tmp_path: Path
) -> None:
    dataset = toys(remote(server))
    server.bodies["/labels.csv"] = b"something else"

    with pytest.raises(DataError) as caught:
        fetch(dataset, tmp_path)

    assert sha256(b"something else") in str(caught.value)
    assert sha256(CONTENT) in str(caught.value)
    assert left_over(tmp_path) == []


def test_address_that_is_gone_names_it_and_the_place_to_save(
    server: Server, tmp_path: Path
) -> None:
    dataset = toys(remote(server))
    server.bodies.clear()

    with pytest.raises(
        DataError, match=r"answers 404 Not Found.*save it as .*labels\.csv"
    ) as caught:
        fetch(dataset, tmp_path)

    assert f"{server.url}/labels.csv" in str(caught.value)
    assert left_over(tmp_path) == []


def test_interrupted_download_says_how_far_it_got(server: Server, tmp_path: Path) -> None:
    dataset = toys(remote(server))
    server.promised["/labels.csv"] = 1_000

    with pytest.raises(DataError, match=r"stopped after 17 of 1,000 bytes\. Try again"):
        fetch(dataset, tmp_path)

    assert left_over(tmp_path) == []


def test_server_that_says_nothing_is_given_up(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT", 0.1)
    dataset = toys(remote(server))
    server.silent.add("/labels.csv")

    with pytest.raises(DataError, match=r"timed out\. Check the network connection"):
        fetch(dataset, tmp_path)

    assert left_over(tmp_path) == []


def test_no_server_at_all_points_to_the_network(server: Server, tmp_path: Path) -> None:
    nowhere = RemoteFile("toys/a.csv", size=1, sha256="0", url="http://127.0.0.1:1/a.csv")

    with pytest.raises(DataError, match=r"refused.*Check the network connection"):
        fetch(toys(nowhere), tmp_path)


def test_failure_of_one_file_keeps_those_before_it(server: Server, tmp_path: Path) -> None:
    dataset = toys(remote(server), remote(server, "toys/gone.csv", b"x"))
    del server.bodies["/gone.csv"]

    with pytest.raises(DataError, match="404"):
        fetch(dataset, tmp_path)

    assert left_over(tmp_path) == ["labels.csv"]


def test_file_without_address_says_how_it_was_made_and_where_it_goes(
    server: Server, tmp_path: Path
) -> None:
    made = RemoteFile("toys/own.npy", size=1, sha256="0", made="labels.csv as an array.")
    dataset = toys(made, remote(server))

    with pytest.raises(DataError) as caught:
        fetch(dataset, tmp_path)

    assert str(caught.value) == (
        "1 of the 2 files of toys cannot be fetched and have to be put into "
        f"{tmp_path}. toys/own.npy: labels.csv as an array. Source: A. Maker, Toys, 2020."
    )
    assert left_over(tmp_path) == ["labels.csv"]


def test_changed_file_is_left_alone(server: Server, tmp_path: Path) -> None:
    dataset = toys(remote(server))
    mine = tmp_path / "toys" / "labels.csv"
    mine.parent.mkdir()
    mine.write_bytes(b"my own")

    with pytest.raises(DataError, match=rf"is there but has the SHA-256 {sha256(b'my own')}"):
        fetch(dataset, tmp_path)

    assert mine.read_bytes() == b"my own"
    assert server.asked == []


def test_folder_that_cannot_be_written_is_named(server: Server, tmp_path: Path) -> None:
    dataset = toys(remote(server))
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")

    with pytest.raises(DataError, match=r"cannot be written.*SFUMATO_DATA can name another"):
        fetch(dataset, blocked)


def test_the_three_states_of_a_file(tmp_path: Path) -> None:
    files = [
        RemoteFile(f"toys/{name}", size=1, sha256=sha256(b"right"), made="by hand.")
        for name in ("here", "gone", "other")
    ]
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "here").write_bytes(b"right")
    (tmp_path / "toys" / "other").write_bytes(b"wrong")

    rows = compare(toys(*files), tmp_path)

    assert rows == [
        {"file": "toys/here", "state": "present"},
        {"file": "toys/gone", "state": "missing"},
        {"file": "toys/other", "state": "changed"},
    ]


def test_packed_files_are_compared_by_what_they_unpack_to(tmp_path: Path) -> None:
    file = RemoteFile("a.gz", size=1, sha256=sha256(CONTENT), made="by hand.")
    packings = [gzip.compress(CONTENT, level, mtime=level) for level in (1, 9)]

    states = []
    for packed in (*packings, packings[0][:-6], b"no archive", gzip.compress(b"other")):
        (tmp_path / "a.gz").write_bytes(packed)
        states.append(compare(toys(file), tmp_path)[0]["state"])

    assert packings[0] != packings[1]
    assert states == ["present", "present", "changed", "changed", "changed"]


def test_packed_file_of_another_packing_is_accepted_from_a_server(
    server: Server, tmp_path: Path
) -> None:
    file = RemoteFile("a.gz", size=9, sha256=sha256(CONTENT), url=f"{server.url}/a.gz")
    server.bodies["/a.gz"] = gzip.compress(CONTENT, mtime=12345)

    fetch(toys(file), tmp_path)

    assert compare(toys(file), tmp_path)[0]["state"] == "present"


def test_data_folder_is_the_one_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))

    assert data_folder() == tmp_path


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "~/.cache/sfumato"),
        ("linux", {"XDG_CACHE_HOME": "/big/cache"}, "/big/cache/sfumato"),
        ("linux", {"XDG_CACHE_HOME": "not/absolute"}, "~/.cache/sfumato"),
        ("linux", {"SFUMATO_DATA": ""}, "~/.cache/sfumato"),
        ("linux", {"SFUMATO_DATA": "~/sets"}, "~/sets"),
        ("darwin", {}, "~/Library/Caches/sfumato"),
        ("win32", {}, "~/AppData/Local/sfumato"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/sfumato"),
    ],
)
def test_data_folder_otherwise_is_in_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    for name in ("SFUMATO_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert data_folder() == Path(expected).expanduser()


def test_a_missing_file_is_asked_for_with_its_remedy(tmp_path: Path) -> None:
    dataset = toys(RemoteFile("toys/a.csv", size=1, sha256="0", made="by hand."))
    place = re.escape(str(tmp_path / "toys" / "a.csv"))

    with pytest.raises(DataError, match=f"{place} is missing. `sfumato data get toys` fetches it"):
        locate(dataset, "a.csv", tmp_path)
    with pytest.raises(UnknownName, match=r"No file of toys is called 'b\.csv'"):
        locate(dataset, "b.csv", tmp_path)
