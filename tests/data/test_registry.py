"""Every dataset is described fully, and the description is that of the real files."""

import gzip
import hashlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from sfumato.data import DATASETS, check, get, listing, load_judgments, path
from sfumato.data import registry as fetching
from sfumato.data.registry import Dataset, RemoteFile, compare, data_folder, fetch
from sfumato.errors import DataError, MissingPackage, UnknownName
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import build

FILES = [file for dataset in DATASETS.values() for file in dataset.files]

ELSEWHERE = (
    "cifar10-official", "cifar10.1", "cinic10", "cifar10c", "glove", "imagenet-far", "soft-digits",
)  # fmt: skip
"""Not among the shared files: their loaders are tested on small files of the same layout."""

SHARED = [
    file
    for name, dataset in DATASETS.items()
    if name not in ELSEWHERE and not dataset.package
    for file in dataset.files
]


def unpacked_is_compared(name: str) -> bool:
    return name.endswith(".gz") and not name.endswith(".tar.gz")


def test_every_file_is_described_once_and_whole() -> None:
    paths = [file.path for file in FILES]

    assert len(set(paths)) == len(paths)
    checked = [file for file in FILES if file.sha256]
    assert all(len(file.sha256 or "") == 64 and (file.size or 0) > 0 for file in checked)
    assert {file.path.split("/")[0] for file in FILES if not file.sha256} == {
        "cinic10",
        "imagenet-far",
        "soft_digits",
    }


def test_addresses_are_encrypted_and_need_no_quoting() -> None:
    addresses = [file.url for file in FILES if file.url]

    assert addresses
    assert all(url.startswith("https://") and " " not in url for url in addresses)


@pytest.mark.parametrize("name", DATASETS)
def test_real_files_are_what_the_registry_says(
    name: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(data_folder))

    rows = check(name)

    unexpected = "changed" if name in ELSEWHERE else ("changed", "missing")
    assert [row for row in rows if row["state"] in unexpected] == []
    assert len(rows) == len(DATASETS[name].files)


def test_real_files_have_the_described_sizes(data_folder: Path) -> None:
    plain = [file for file in SHARED if not unpacked_is_compared(file.path)]

    found = {file.path: (data_folder / file.path).stat().st_size for file in plain}

    assert found == {file.path: file.size for file in plain}


def test_registry_knows_every_real_file_of_its_data_sets(data_folder: Path) -> None:
    sums = data_folder / "SHA256SUMS"
    if not sums.is_file():
        pytest.skip(f"{data_folder} has no SHA256SUMS to compare with.")
    lines = (line.split() for line in sums.read_text().splitlines())
    listed = {name.removeprefix("./"): digest for digest, name in lines}
    ours = {file.path.split("/")[0] for file in SHARED}
    listed = {name: digest for name, digest in listed.items() if name.split("/")[0] in ours}

    known = {file.path: file.sha256 for file in SHARED}

    assert set(known) == set(listed)
    plain = {name for name in listed if not unpacked_is_compared(name)}
    assert {name: known[name] for name in plain} == {name: listed[name] for name in plain}


def test_list_says_how_much_of_each_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    for name in (
        "cifar10h/cifar10h-counts.npy",
        "cifar10h/cifar10h-probs.npy",
        "crowd/dog_truth.csv",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    rows = listing()

    present = {row["name"]: row["present"] for row in rows}
    assert list(present) == list(DATASETS)
    assert present["cifar10h"] == "all"
    assert present["crowd"] == "some"
    assert present["mnist"] == "none"
    assert present["digits"] == "embedded"


def test_check_tells_missing_from_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    (tmp_path / "cifar10h").mkdir()
    (tmp_path / "cifar10h" / "cifar10h-probs.npy").write_bytes(b"spoilt")

    assert check("cifar10h") == [
        {"file": "cifar10h/cifar10h-counts.npy", "state": "missing"},
        {"file": "cifar10h/cifar10h-probs.npy", "state": "changed"},
    ]


def test_path_is_a_folder_of_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))

    assert path("fashion-mnist-h") == tmp_path / "fashion_mnist_h"


@pytest.mark.parametrize("verb", [check, get, path])
def test_misspelt_name_gets_a_suggestion(verb: object) -> None:
    assert callable(verb)
    with pytest.raises(
        UnknownName, match=r"No dataset is called 'cifar10-h'\. Did you mean 'cifar10h'"
    ):
        verb("cifar10-h")


def test_getting_what_is_complete_fetches_nothing(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(data_folder))

    assert get("crowd").files == ()


@pytest.mark.parametrize("name", ["crowd", "digits"])
def test_getting_a_data_set_tells_its_licence_and_source(
    name: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(data_folder))

    note = get(name).note

    assert note == f"Licence: {DATASETS[name].licence}. Source: {DATASETS[name].source}"


def test_a_set_that_has_to_be_fetched_by_hand_says_from_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))

    with pytest.raises(DataError, match=r"CINIC-10\.tar\.gz .*Source: doi\.org/10\.7488/ds/2448"):
        get("cinic10")

    for split in ("train", "valid", "test"):
        (tmp_path / "cinic10" / split).mkdir(parents=True)
    assert get("cinic10").files == ()
    assert {row["state"] for row in check("cinic10")} == {"present"}


def test_embedded_digits_need_no_fetching_but_their_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert get("digits").files == ()
    assert (path("digits") / "datasets").is_dir()

    monkeypatch.setattr("sfumato.data.registry.find_spec", lambda name: None)

    with pytest.raises(MissingPackage, match=r"pip install 'sfumato\[learn\]'"):
        get("digits")


def test_embedded_answers_are_every_tenth_question_of_the_release(data_folder: Path) -> None:
    answers = load_judgments("real-sample")
    assert isinstance(answers, Judgments)
    released = np.load(data_folder / "real_imagenet" / "raters_golden.npz")

    shares = build(answers, "votes").crowd.mean()

    expected = {
        f"{image[15:23]}-class-{place}": dict(zip(("no", "maybe", "yes"), share, strict=True))
        for (image, place), share in zip(
            released["info"][::10], released["tensor"].mean(axis=0)[::10].tolist(), strict=True
        )
    }
    assert len(answers.annotators) == len(released["ids"]) == 78
    assert {item: dict(label) for item, label in shares} == {
        item: pytest.approx(label) for item, label in expected.items()
    }
    assert {row["state"] for row in check("real-sample")} == {"present"}


def test_importing_opens_no_connection() -> None:
    script = (
        "import socket, sys\n"
        "def refuse(*args, **options): sys.exit('a connection was opened')\n"
        "socket.create_connection = socket.getaddrinfo = refuse\n"
        "import sfumato.data\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


# Files are fetched whole or not at all, and every failure says what to do.


CONTENT = b"item,label\n0,cat\n"


@dataclass
class Server:
    """What a server on this machine answers, and what it was asked for."""

    url: str
    bodies: dict[str, bytes] = field(default_factory=dict)
    promised: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    ranges: str = "ignored"
    """What is made of a wish for a part: "ignored", "kept", "refused" or "wrong"."""
    sent: list[int] = field(default_factory=list)
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
                self.answer(told.bodies[self.path])

        def answer(self, body: bytes) -> None:
            wish = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(wish[1]) if wish and told.ranges != "ignored" else 0
            if start and (told.ranges == "refused" or start >= len(body)):
                self.send_error(416)
                return
            rest = body[start:]
            self.send_response(206 if start else 200)
            if start:
                shown = start - (told.ranges == "wrong")
                self.send_header("Content-Range", f"bytes {shown}-{len(body) - 1}/{len(body)}")
            self.send_header("Content-Length", str(told.promised.get(self.path, len(rest))))
            self.end_headers()
            told.sent.append(len(rest))  # before, for whoever reads the last byte goes on
            self.wfile.write(rest)

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
    return RemoteFile(
        path=path, size=len(content), sha256=sha256(content), url=f"{server.url}/{name}"
    )


def toys(*files: RemoteFile) -> Dataset:
    return Dataset(
        name="toys", about="toys", source="A. Maker, Toys, 2020.", licence="none", files=files
    )


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

    assert left_over(tmp_path) == ["labels.csv.part"]


def half_of(dataset: Dataset, folder: Path, content: bytes, name: str = "big.bin.part") -> Path:
    part = folder / dataset.files[0].path
    part = part.with_name(name)
    part.parent.mkdir(exist_ok=True)
    part.write_bytes(content)
    return part


BIG = bytes(range(256)) * 1_000


def test_half_a_download_is_continued_where_it_stopped(server: Server, tmp_path: Path) -> None:
    dataset = toys(remote(server, "toys/big.bin", BIG))
    server.ranges = "kept"
    half_of(dataset, tmp_path, BIG[:200_000])
    seen: list[tuple[int, int]] = []

    fetched = fetch(dataset, tmp_path, lambda done, total: seen.append((done, total)))

    assert fetched[0].read_bytes() == BIG
    assert server.sent == [56_000]
    assert seen[-1] == (256_000, 256_000)
    assert left_over(tmp_path) == ["big.bin"]


@pytest.mark.parametrize(
    ("ranges", "sent"),
    [("ignored", [256_000]), ("refused", [256_000]), ("wrong", [56_000, 256_000])],
)
def test_server_that_cannot_continue_sends_the_whole_file_once(
    server: Server, tmp_path: Path, ranges: str, sent: list[int]
) -> None:
    dataset = toys(remote(server, "toys/big.bin", BIG))
    server.ranges = ranges
    half_of(dataset, tmp_path, BIG[:200_000])

    fetched = fetch(dataset, tmp_path)

    assert fetched[0].read_bytes() == BIG
    assert sorted(server.sent) == sorted(sent)  # noted when sent whole, by a thread a request
    assert left_over(tmp_path) == ["big.bin"]


def test_interrupted_then_tried_again_ends_with_the_whole_file(
    server: Server, tmp_path: Path
) -> None:
    dataset = toys(remote(server, "toys/big.bin", BIG))
    server.ranges = "kept"
    server.bodies["/big.bin"] = BIG[:100_000]
    server.promised["/big.bin"] = len(BIG)
    with pytest.raises(DataError, match=r"stopped after 100,000 of 256,000 bytes"):
        fetch(dataset, tmp_path)

    server.bodies["/big.bin"] = BIG
    server.promised.clear()
    fetched = fetch(dataset, tmp_path)

    assert fetched[0].read_bytes() == BIG
    assert sorted(server.sent) == [100_000, 156_000]


@pytest.mark.parametrize("old", [b"another file", BIG + b"and more"])
def test_half_of_another_file_is_given_up_for_the_whole_one(
    server: Server, tmp_path: Path, old: bytes
) -> None:
    dataset = toys(remote(server, "toys/big.bin", BIG))
    server.ranges = "kept"
    half_of(dataset, tmp_path, old)

    fetched = fetch(dataset, tmp_path)

    assert fetched[0].read_bytes() == BIG
    assert left_over(tmp_path) == ["big.bin"]


def test_part_of_a_killed_process_is_taken_over_but_not_that_of_a_busy_one(
    server: Server, tmp_path: Path
) -> None:
    dataset = toys(remote(server, "toys/big.bin", BIG))
    server.ranges = "kept"
    busy = half_of(dataset, tmp_path, BIG[:10], "big.bin.111.part")
    killed = half_of(dataset, tmp_path, BIG[:200_000], "big.bin.222.part")
    long_ago = time.time() - 2 * fetching.ABANDONED
    os.utime(killed, (long_ago, long_ago))

    fetch(dataset, tmp_path)

    assert server.sent == [56_000]
    assert busy.read_bytes() == BIG[:10]
    assert sorted(left_over(tmp_path)) == ["big.bin", "big.bin.111.part"]


def test_a_stop_by_hand_keeps_what_has_come(server: Server, tmp_path: Path) -> None:
    dataset = toys(remote(server, "toys/big.bin", BIG))

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(dataset, tmp_path, stop)

    assert left_over(tmp_path) == ["big.bin.part"]
    assert (tmp_path / "toys" / "big.bin.part").read_bytes() == BIG[: fetching.CHUNK]


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
    nowhere = RemoteFile(path="toys/a.csv", size=1, sha256="0", url="http://127.0.0.1:1/a.csv")

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
    made = RemoteFile(path="toys/own.npy", size=1, sha256="0", made="labels.csv as an array.")
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
        RemoteFile(path=f"toys/{name}", size=1, sha256=sha256(b"right"), made="by hand.")
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
    file = RemoteFile(path="a.gz", size=1, sha256=sha256(CONTENT), made="by hand.")
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
    file = RemoteFile(path="a.gz", size=9, sha256=sha256(CONTENT), url=f"{server.url}/a.gz")
    server.bodies["/a.gz"] = gzip.compress(CONTENT, mtime=12345)

    fetch(toys(file), tmp_path)

    assert compare(toys(file), tmp_path)[0]["state"] == "present"


def test_archives_are_compared_as_they_are(tmp_path: Path) -> None:
    packed = gzip.compress(CONTENT, mtime=1)
    file = RemoteFile(path="a.tar.gz", size=1, sha256=sha256(packed), made="by hand.")

    states = []
    for content in (packed, gzip.compress(CONTENT, mtime=2)):
        (tmp_path / "a.tar.gz").write_bytes(content)
        states.append(compare(toys(file), tmp_path)[0]["state"])

    assert states == ["present", "changed"]


def test_without_a_known_fingerprint_whatever_is_there_counts(tmp_path: Path) -> None:
    dataset = toys(RemoteFile(path="toys/train", size=None, sha256=None, made="by hand."))
    before = compare(dataset, tmp_path)[0]["state"]

    (tmp_path / "toys" / "train").mkdir(parents=True)

    assert before == "missing"
    assert compare(dataset, tmp_path)[0]["state"] == "present"
    assert dataset.locate("train", tmp_path) == tmp_path / "toys" / "train"


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
    dataset = toys(RemoteFile(path="toys/a.csv", size=1, sha256="0", made="by hand."))
    place = re.escape(str(tmp_path / "toys" / "a.csv"))

    with pytest.raises(DataError, match=f"{place} is missing: the dataset 'toys'"):
        dataset.locate("a.csv", tmp_path)
    with pytest.raises(UnknownName, match=r"No file of toys is called 'b\.csv'"):
        dataset.locate("b.csv", tmp_path)
