import json
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``sfumato worth`` in a folder with answers of five people and of judges."""
    rng = np.random.default_rng(0)
    items = [f"i{place:03}" for place in range(120)]
    truth = rng.integers(3, size=120)
    said = np.where(rng.random((6, 120)) < 0.25, rng.integers(3, size=(6, 120)), truth)
    rows = [
        f"{item},p{who},{'abc'[said[who, at]]}" for at, item in enumerate(items) for who in range(5)
    ]
    Path("people.csv").write_text("\n".join(["item,annotator,answer", *rows]))
    judge = [f"{item},{'xyz'[code]}" for item, code in zip(items, said[5], strict=True)]
    Path("judge.csv").write_text("\n".join(["item,answer", *judge]))
    probs = np.full((120, 3), 0.1) + 0.7 * np.eye(3)[said[5]]
    soft = [
        f"{item},{','.join(map(str, row.round(2)))}" for item, row in zip(items, probs, strict=True)
    ]
    Path("net.csv").write_text("\n".join(["item,a,b,c", *soft]))
    counts = np.stack([(said[:5] == place).sum(axis=0) for place in range(3)], axis=1)
    Path("counts.csv").write_text(
        "\n".join(
            [
                "item,a,b,c",
                *(
                    f"{one},{','.join(map(str, row))}"
                    for one, row in zip(items, counts, strict=True)
                ),
            ]
        )
    )
    strata = [f"{item},{'first' if at < 60 else 'second'}" for at, item in enumerate(items)]
    Path("strata.csv").write_text("\n".join(["item,stratum", *strata]))
    return partial(run, "worth")


FEW = ("--draws", "30", "--most", "2")


def test_json_has_judges_and_the_scale_of_people(run: Run) -> None:
    done = run("people.csv", "--judge", "gpt=judge.csv", "--judge", "net=net.csv", *FEW, "--json")

    assert done.code == 0, done.err
    found = json.loads(done.out)
    gpt, net = found["judges"]
    assert (gpt["judge"], net["judge"]) == ("gpt", "net")
    assert 0 <= gpt["low"] <= gpt["worth"] <= 2
    assert gpt["high"] is None or gpt["high"] >= gpt["worth"]
    assert gpt["capped"] in (True, False)
    assert gpt["accuracy"] is None  # its words are not people's
    assert net["accuracy"] > 0.6
    assert [row["answers"] for row in found["people"]] == [0, 1, 2]
    assert found["over"] == "items and people"


def test_the_same_judge_in_two_files_is_one(run: Run) -> None:
    one = json.loads(run("people.csv", "--judge", "a=judge.csv", *FEW, "--json").out)
    two = json.loads(
        run("people.csv", "--judge", "a=judge.csv", "--judge", "b=judge.csv", *FEW, "--json").out
    )

    assert two["judges"][0]["worth"] == two["judges"][1]["worth"] == one["judges"][0]["worth"]
    together = [row for row in two["with_people"] if row["judge"] == "all judges together"]
    assert together[0]["worth"] == pytest.approx(one["judges"][0]["worth"], abs=1e-3)


def test_counts_and_nameless_answers_are_accepted_and_said(run: Run) -> None:
    done = run("counts.csv", "--judge", "gpt=judge.csv", *FEW, "--json")

    assert done.code == 0, done.err
    assert json.loads(done.out)["over"] == "items"
    assert "do not say who gave them" in done.err


def test_tables_and_files_are_written(run: Run) -> None:
    done = run(
        "people.csv", "--judge", "gpt=judge.csv", *FEW, "--strata", "strata.csv", "--each-person",
        "--quality", "1", "--needs", "needs.csv", "-o", "worth.parquet", "--report", "worth.html",
    )  # fmt: skip

    assert done.code == 0, done.err
    for words in ("Judges alone", "gpt + 1 person", "By stratum and group", "What it costs"):
        assert words in done.out
    assert pl.read_csv("needs.csv").columns == ["item", "gain", "expected", "answers"]
    assert set(pl.read_parquet("worth.parquet")["metric"]) >= {"worth", "log_loss"}
    page = Path("worth.html").read_text()
    assert "How many people is a judge worth?" in page
    assert "p0" in done.out  # annotators one by one


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--judge", "judge.csv"), "A judge is given as NAME=FILE"),
        (("--judge", "a=nowhere.csv"), "There is no file nowhere.csv"),
        (("--judge", "a=judge.csv", "--judge", "a=net.csv"), "Two judges are called 'a'"),
        (("--strata", "people.csv"), "the column 'item' and one more"),
        (("--quality", "7"), "The scale goes from 0 to 2"),
    ],
)
def test_wrong_input_is_one_sentence(run: Run, words: tuple[str, ...], says: str) -> None:
    done = run("people.csv", *words, *FEW)

    assert done.code == 1
    assert says in done.err
