import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import SfumatoError
from sfumato.judgments.mixed import read_mixes


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["mix", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def own(folder: Path) -> tuple[str, ...]:
    """A folder of six pictures of three classes, and its table."""
    (folder / "images").mkdir()
    rows = []
    for place in range(6):
        drawn = np.random.default_rng(place).integers(256, size=(5, 5, 3)).astype(np.uint8)
        Image.fromarray(drawn).save(folder / "images" / f"p{place}.png")
        rows.append(f"p{place},{['cat', 'dog', 'owl'][place % 3]}\n")
    (folder / "table.csv").write_text("item,label\n" + "".join(rows))
    return "--images", str(folder / "images"), "--table", str(folder / "table.csv")


def content(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_same_seed_writes_the_same_files(tmp_path: Path) -> None:
    given = own(tmp_path)
    for name, seed in (("one", "3"), ("again", "3"), ("other", "4")):
        printed = run(*given, "--pairs", "2", "--seed", seed, "-o", str(tmp_path / name))

    assert printed.startswith("Wrote 18 mixes of 3 classes to ")
    assert content(tmp_path / "one") == content(tmp_path / "again")
    assert content(tmp_path / "one") != content(tmp_path / "other")


def test_table_of_mixes_is_made_again_from_its_ids(tmp_path: Path) -> None:
    given = own(tmp_path)
    run(*given, "--count", "5", "-o", str(tmp_path / "first"))

    run(*given, "--mixes", str(tmp_path / "first" / "mixes.csv"), "-o", str(tmp_path / "again"))

    first, again = content(tmp_path / "first"), content(tmp_path / "again")
    assert len(first) == 7
    assert first.pop("mixes.question.json") != again.pop("mixes.question.json")
    assert first == again


def test_coefficients_and_items_can_be_chosen(tmp_path: Path) -> None:
    given = own(tmp_path)
    (tmp_path / "items.txt").write_text("p0\np1\np2\n")

    run(
        *given, "--coefficients", "0.3/0.6", "--items", str(tmp_path / "items.txt"),
        "-o", str(tmp_path / "out"),
    )  # fmt: skip

    mixes = read_mixes(tmp_path / "out" / "mixes.csv")
    assert {mix.coefficient for mix in mixes} == {0.3, 0.6}
    assert {mix.first_item for mix in mixes} | {mix.second_item for mix in mixes} == {
        "p0",
        "p1",
        "p2",
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--coefficients", "half"), "--coefficients takes numbers"),
        (("--coefficients", "0.5/0.5"), "stands twice"),
        (("--data", "cifar"), "No dataset of pictures is called 'cifar'"),
    ],
)
def test_wrong_requests_are_answered_with_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    given = () if "--data" in arguments else own(tmp_path)

    with pytest.raises(SfumatoError, match=told):
        run(*given, *arguments, "-o", str(tmp_path / "out"))

    assert not (tmp_path / "out").exists()


def test_unknown_item_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "items.txt").write_text("p9\n")

    with pytest.raises(SfumatoError, match=r"items\.txt: There is no picture of item 'p9'"):
        run(*own(tmp_path), "--items", str(tmp_path / "items.txt"), "-o", str(tmp_path / "out"))
