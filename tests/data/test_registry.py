"""Every dataset is described fully, and the description is that of the real files."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.data import DATASETS, check, get, listing, load_judgments, path
from sfumato.errors import DataError, MissingPackage, UnknownName
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import build

FILES = [file for dataset in DATASETS.values() for file in dataset.files]

ELSEWHERE = ("cifar10-official", "cifar10.1", "cinic10", "cifar10c", "soft-digits")
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
