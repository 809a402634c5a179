import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run

from sfumato.data import load_own
from sfumato.labels.files import read_labels, write_labels

QUICK = (
    *("--count", "10", "--candidates", "1500", "--members", "2", "--most-information", "0.3"),
    *("--network-steps", "200", "--vae-steps", "250", "--learn-from", "400"),
)


def test_digits_become_a_folder_that_people_can_judge_and_an_audit_can_read(run: Run) -> None:
    done = run("ambiguous", "--data", "digits", "-o", "made", *QUICK)
    made = load_own(Path("made/images"), Path("made/table.csv"))
    labels = read_labels(Path("made/labels.parquet"))

    assert done.code == 0, done.err
    assert "SYNTHETIC images. Learnt from 400 of 1,797 pictures" in done.out
    assert "entropy 0.55 and more" in done.out
    assert made.items == labels.items
    assert len(made) == 10

    asked = run(
        *("elicit", "new", "study", "--images", "made/images"),
        *("--classes", "made/classes.txt", "--question", "distribution"),
    )
    assert asked.code == 0, asked.err

    people = labels.probs * 0.5 + np.eye(10)[labels.probs.argmax(axis=1)] * 0.5
    write_labels(type(labels)(labels.items, labels.classes, people), Path("people.csv"))
    audited = run(
        *("audit", "--labels", "people.csv", "--predictions", "synthetic=made/labels.parquet"),
        *("--images", "made/images", "--table", "made/table.csv", "--draws", "20"),
    )
    assert audited.code == 0, audited.err
    assert "SIMULATED people or models are behind these numbers." in audited.out
    assert "on 10 of 10 items" in audited.out


def test_one_seed_one_folder(run: Run) -> None:
    words = ("ambiguous", "--data", "digits", *QUICK, "--json")

    first = run(*words, "-o", "one")
    second = run(*words, "-o", "two")

    told = json.loads(first.out)
    assert told["synthetic"] is True
    assert {**told, "written": "two"} == json.loads(second.out)
    files = sorted(path.relative_to("one") for path in Path("one").rglob("*") if path.is_file())
    assert len(files) == 16
    assert all(
        (Path("one") / name).read_bytes() == (Path("two") / name).read_bytes() for name in files
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--data", "digits", "--between", "four", "--between", "9"), "No class is called 'four'"),
        (("--data", "digits", "--between", "4"), "of one class, '4'"),
        (("--data", "digits", "--learn-from", "50"), "at least 20 of each mixed class"),
        (("--data", "digits", "--count", "11"), "11 images cannot be divided equally"),
        (
            (
                "--data",
                "digit",
            ),
            "Did you mean 'digits'?",
        ),
        ((), "Give a dataset, or images with the table"),
        (("--data", "digits", "--network", "lenet"), "needs images of at least 12×12 pixels"),
    ],
)
def test_mistake_is_one_sentence(run: Run, words: tuple[str, ...], told: str) -> None:
    done = run("ambiguous", "-o", "made", *words)

    assert done.code == 1
    assert done.err.startswith("sfumato: ")
    assert told in done.err
    assert not Path("made").exists()
