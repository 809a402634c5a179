"""The study of judges: a folder with a small set gives worths, tables and a page."""

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.studies.judge_sources import LANGUAGE_MODELS, ORIGINAL_LABEL, load_judged_sets
from sfumato.studies.run import Runner, run_study
from sfumato.studies.study import read_study


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder of data sets that has one set of judges only, of simulated people."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=100)
    said = np.where(rng.random((5, 100)) < 0.2, rng.integers(3, size=(5, 100)), truth)
    place = tmp_path / "judges" / "framing"
    place.mkdir(parents=True)
    answers = [{f"i{at}": "abc"[code] for at, code in enumerate(row)} for row in said]
    people = {f"p{who}": row for who, row in enumerate(answers[:4])}
    (place / "human_annotations.json").write_text(json.dumps(people))
    (place / "llm_annotations.json").write_text(json.dumps({"model": answers[4]}))
    return tmp_path


def test_a_run_tells_what_judges_are_worth(small: Path) -> None:
    study = read_study("judges", changes={"draws": 100})

    run = run_study(study, small / "run", Runner(data=small))

    (found,) = run.estimates.filter(metric="worth", arm="model", part="framing of news")
    assert 0.5 < found.value <= 3
    assert found.over == "items and people"
    page = (small / "run" / "report.html").read_text(encoding="utf-8")
    for words in ("What is each judge worth?", "The scales", "What kappa says"):
        assert words in page


def test_sets_that_are_not_there_are_said(small: Path) -> None:
    data = load_judged_sets(read_study("judges"), small)

    assert list(data.judged) == ["framing of news"]
    assert "aspects of reviews: there is no llm_annotations.json." in data.missing
    with pytest.raises(DataError, match="No set with people's and judges' answers"):
        load_judged_sets(read_study("judges"), small / "judges")


def test_every_set_at_hand_is_read(data_folder: Path) -> None:
    data = load_judged_sets(read_study("judges"), data_folder)

    assert data.missing == ()
    for name in LANGUAGE_MODELS:
        assert len(data.judged[name].judges) == 6
    snli = data.judged["ChaosNLI, SNLI"]
    assert (len(snli.people.items), len(snli.people)) == (1514, 151_400)
    assert list(snli.judges) == ["roberta-base", "bert-base-uncased", ORIGINAL_LABEL]
    assert len(data.judged["CIFAR-10H"].judges) == 9
    statements = data.judged["CIFAR-10S against clicks"]
    assert len(statements.judges["statement 1"]) + len(statements.judges["statement 2"]) == 6723
    assert len(data.judged["ReaL, questions"].people) == 78 * 1135
    assert len(data.judged["DICES-350"].people.annotators) == 123
