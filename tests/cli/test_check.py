import json
from pathlib import Path

from typer.testing import CliRunner, Result

from sfumato.cli import app

SAMPLES = Path(__file__).parent.parent / "samples" / "0.1"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_valid_file_is_one_line_and_exit_code_0() -> None:
    done = run("check", SAMPLES / "votes.csv")

    assert done.exit_code == 0
    assert done.stdout == "valid: labels for 3 items over 3 classes (simulated answers)\n"


def test_wrong_file_tells_everything_and_ends_with_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,cat,dog\na,0.5,0.4\nb,x,1\n")

    done = run("check", path)

    assert done.exit_code == 1
    verdict, *problems = done.stdout.splitlines()
    assert verdict == "not valid: 2 mistakes of 2 kinds in labels.csv"
    assert [line.split(":")[0] for line in problems] == [
        "  labels.csv, line 2",
        "  labels.csv, line 3, field 'cat'",
    ]


def test_json_holds_verdict_problems_and_counts(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,cat,dog\na,0.5,0.4\n")

    done = run("check", path, "--json")

    found = json.loads(done.stdout)
    assert done.exit_code == 1
    assert (found["valid"], found["holds"], found["rows"]) == (False, "labels", 1)
    assert found["problems"][0]["row"] == 2


def test_badge_is_drawn_for_either_verdict(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("item,cat,dog\na,0.5,0.4\n")

    run("check", SAMPLES / "votes.csv", "--badge", tmp_path / "good.svg")
    run("check", wrong, "--badge", tmp_path / "bad.svg")
    refused = run("check", wrong, "--badge", tmp_path / "bad.png")

    assert ">valid<" in (tmp_path / "good.svg").read_text(encoding="utf-8")
    assert ">not valid<" in (tmp_path / "bad.svg").read_text(encoding="utf-8")
    assert "call it .svg" in str(refused.exception)


def test_convert_publishes_and_says_what_is_left_to_say(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("task,worker,label\n1,ann,cat\n1,bob,dog\n2,ann\n")
    folder = tmp_path / "animals"

    done = run("convert", votes, "--format", "crowd", "--to", "hf", "-o", folder, "--title", "Pets")

    assert done.exit_code == 0
    assert f"Wrote 2 judgments to {folder}: judgments, labels, annotators." in done.stdout
    assert "give --license, --creator, --url" in done.stderr
    assert "1 row that was set aside is not among them" in done.stderr
    assert json.loads((folder / "croissant.json").read_text())["name"] == "Pets"
    assert run("check", folder).exit_code == 0


def test_words_for_the_card_belong_to_a_published_folder(tmp_path: Path) -> None:
    done = run(
        "convert", SAMPLES / "judgments.jsonl", "--to", "sfumato", "-o", tmp_path / "a.csv",
        "--license", "mit",
    )  # fmt: skip

    assert "belong to --to hf" in str(done.exception)
