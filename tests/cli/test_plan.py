import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import SfumatoError
from sfumato.planning.advise import rule_of_thumb
from sfumato.planning.plans import Plan

SIZE = ("--items", "12", "--classes", "4", "--dimensions", "5")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["plan", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_has_information_of_every_form_and_the_advice() -> None:
    found = json.loads(run("--items", "80", "--classes", "20", "--json"))

    assert found["information"]["hard"]["constraints"] == 7_600
    assert found["information"]["soft"]["constraints"] == 78_400
    assert found["advice"]["form"] == "hard"
    assert found["advice"]["probability"] is None


def test_prices_give_a_probability_and_say_that_they_were_given() -> None:
    found = run(*SIZE, "--cost", "hard=2", "--cost", "soft=15", "--budget", "30")

    assert "Collect " in found
    assert "(probability " in found
    assert "seconds (given)" in found


def test_pilot_is_read_and_its_times_are_measured(tmp_path: Path) -> None:
    rows = [
        {"item": f"i{item}", "annotator": name, "answer": answer, "seconds": seconds}
        for item in range(6)
        for name, answer, seconds in (
            ("ann", ["cat", "dog"][item % 2], 2.0),
            ("bob", ["cat", "dog"][(item + (item == 5)) % 2], 3.0),
        )
    ]
    path = tmp_path / "pilot.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    question = {"kind": "choose-one", "classes": ["cat", "dog", "fox", "owl"]}
    (tmp_path / "pilot.jsonl.question.json").write_text(json.dumps(question), encoding="utf-8")

    found = run(*SIZE, "--pilot", str(path), "--cost", "soft=15", "--forms", "hard,soft")

    assert "seconds (measured)" in found
    with pytest.raises(SfumatoError, match="two forms to choose between"):
        run(*SIZE, "--pilot", str(path))


def test_folder_gets_the_page_and_what_is_printed_stays_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(plan: Plan, folder: Path, *, advance: object) -> Path:
        assert plan.costs["soft"].value == 15
        assert plan.errors == {"hard": 0.1}
        assert plan.seed == 7
        return folder / "plan.html"

    monkeypatch.setattr("sfumato.studies.planned.write_plan", written)
    monkeypatch.setattr(
        "sfumato.planning.advise.advise",
        lambda task, **told: rule_of_thumb(task.items, task.classes),
    )
    asked = (*SIZE, "--cost", "hard=2", "--cost", "soft=15", "--error", "hard=0.1", "--seed", "7")

    plain, drawn = run(*asked), run(*asked, "-o", str(tmp_path / "mine"))
    printed = json.loads(run(*asked, "--output", str(tmp_path / "mine"), "--json"))

    assert drawn == f"{plain}\nPlan: {tmp_path / 'mine' / 'plan.html'}\n"
    assert set(printed) == {"information", "advice"}


def test_file_in_place_of_the_folder_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.html"
    path.write_text("", encoding="utf-8")
    monkeypatch.setattr("sfumato.planning.advise.advise", None)  # would fail if it were called

    with pytest.raises(SfumatoError, match=r"plan\.html is a file"):
        run(*SIZE, "-o", str(path))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--items", "2", "--classes", "9"), "needs 3 or more items"),
        (("--items", "9", "--classes", "2"), "3 or more classes"),
        ((*SIZE, "--cost", "soft"), "FORM=NUMBER"),
        ((*SIZE, "--cost", "soft=0"), "above zero"),
        ((*SIZE, "--forms", "hardd,soft"), "Did you mean 'hard'"),
        ((*SIZE, "--kept", "two"), "whole numbers"),
        ((*SIZE, "--utility", "linar"), "Did you mean 'linear'"),
        ((*SIZE, "--pilot", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_wrong_request_is_one_sentence(arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(SfumatoError, match=says):
        run(*arguments)
