"""Whole studies over HTTP, answered by simulated people: from files to labels and reports."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest
from PIL import Image

import sfumato as sf
from sfumato.elicit.design.places import open_study

CLASSES = ("benign", "atypical", "malignant")
DISPUTED = "case-07"
TIMING = {"seconds": 4.0, "inputs": {}}


def a_folder(place: Path) -> None:
    """Forty images and a list of classes, as somebody has them on their disk."""
    rng = np.random.default_rng(0)
    (place / "scans").mkdir()
    for number in range(40):
        pixels = rng.integers(0, 255, (48, 64, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(place / "scans" / f"case-{number:02d}.png")
    (place / "classes.txt").write_text("\n".join(CLASSES) + "\n", encoding="utf-8")


def sfumato(place: Path, *arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "sfumato", *arguments],
        cwd=place, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


@contextmanager
def running(place: Path, *arguments: str) -> Iterator[tuple[int, str]]:
    """A command that serves until it is interrupted: its port and what it said first."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sfumato", *arguments, "--port", str(port)]
    with (place / "said").open("w") as said:
        process = subprocess.Popen(
            command, cwd=place, stdout=said, stderr=said, env={**os.environ, "NO_COLOR": "1"}
        )
    try:
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/healthz")
                break
            except httpx.TransportError:
                assert process.poll() is None, (place / "said").read_text()
                time.sleep(0.1)
        yield port, (place / "said").read_text()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def opinion(doctor: int, item: int) -> dict[str, float]:
    """What a simulated doctor says: the third differs by a little, and wholly about one case."""
    if item == 7:
        return {"benign": 100.0} if doctor < 2 else {"malignant": 100.0}
    first = CLASSES[item % 3]
    sure = 90.0 if doctor < 2 else 70.0
    return {first: sure, CLASSES[(item + 1) % 3]: 100 - sure}


def answer_all(
    url: str, study: Path, parameters: dict[str, str], say: Callable[[Any, httpx.Client], Any]
) -> int:
    """One simulated person over HTTP, from the consent to the end; ``say`` answers a trial."""
    right = {check.right for check in open_study(study).welcome.comprehension}
    with httpx.Client(base_url=url) as page:
        consent = page.get("/consent").json()
        body = {"parameters": parameters, "consent_version": consent["version"]}
        token = page.post("/api/enter", json=body).raise_for_status().json()["token"]
        page.headers["Authorization"] = f"Bearer {token}"
        screen = page.get("/api/screen").json()
        answered = 0
        while screen["stage"] != "done":
            if screen["stage"] == "trials":
                trial = screen["trial"]
                given: Any = {"trial": trial["id"], "answer": say(trial, page)}
                given |= {"key": f"person-{trial['id']}", "timing": TIMING}
                reply = page.post("/api/answer", json=given)
                answered += reply.is_success
            else:
                answers = [
                    next(choice for choice in question["choices"] if choice in right)
                    for question in screen.get("questions", [])
                    if isinstance(question, dict)
                ]
                given = {"stage": screen["stage"], "answers": answers}
                given |= {"tries": screen.get("tries")} if "tries" in screen else {}
                reply = page.post("/api/proceed", json=given)
            if reply.status_code == 429:
                time.sleep(float(reply.headers["Retry-After"]))
                continue
            screen = reply.raise_for_status().json()
    return answered


def seen_items(study: Path, scans: Path) -> dict[str, int]:
    """Which case a picture of the page shows; the page itself is not told."""
    by_pixels = {
        np.asarray(_as_shown(path)).tobytes(): int(path.stem[-2:]) for path in scans.iterdir()
    }
    return {
        path.read_bytes().hex(): by_pixels[np.asarray(Image.open(path).convert("RGB")).tobytes()]
        for path in (study / "images").iterdir()
    }


def _as_shown(path: Path) -> Image.Image:
    image = Image.open(path).convert("RGB")
    return image.resize((160, 120), Image.Resampling.LANCZOS)


@pytest.mark.check
def test_from_a_folder_to_the_agreement_of_three_doctors(tmp_path: Path) -> None:
    a_folder(tmp_path)
    begun = time.monotonic()
    new = ["elicit", "new", "doctors", "--images", "scans", "--classes", "classes.txt"]
    new += ["--question", "distribution", "--experts", "3"]
    with running(tmp_path, *new, "--then", "preview") as (port, _):
        assert "Preview" in httpx.get(f"http://127.0.0.1:{port}/").text
    with running(tmp_path, "elicit", "serve", "doctors") as (port, said):
        assert time.monotonic() - begun < 60
        links = re.findall(r"\?participant=(\S+)&signature=(\S+)", said)
        assert [person for person, _ in links] == ["1", "2", "3"]
        items = seen_items(tmp_path / "doctors", tmp_path / "scans")
        for doctor, (person, signature) in enumerate(links):
            parameters = {"participant": person, "signature": signature}
            url = f"http://127.0.0.1:{port}"

            def look(trial: Any, page: httpx.Client, doctor: int = doctor) -> Any:
                return opinion(doctor, items[page.get(trial["images"][0]).read().hex()])

            assert answer_all(url, tmp_path / "doctors", parameters, look) == 40

    sfumato(tmp_path, "elicit", "export", "doctors", "-o", "answers.parquet")
    sfumato(tmp_path, "report", "answers.parquet", "-o", "doctors.html")
    found = json.loads(sfumato(tmp_path, "describe", "answers.parquet", "--json"))
    page = (tmp_path / "doctors.html").read_text(encoding="utf-8")
    assert (found["people"], found["judgments"]) == (3, 120)
    disputed = page[page.index("Where people disagree most") :]
    assert re.search(r"case-\d\d", disputed)[0] == DISPUTED  # type: ignore[index]
    pairs = page[page.index("Pair by pair") :].partition("</table>")[0]
    assert re.findall(r">(0\.975|1\.000)<", pairs) == ["0.975", "0.975", "1.000", "1.000"]


def serve_and_answer(
    place: Path, study: str, people: int, say: Callable[[int, Any], Any], expected: int
) -> None:
    """Serve a study until so many simulated people have answered all of it."""
    with running(place, "elicit", "serve", study) as (port, _):
        for person in range(people):
            given = {"participant": f"p{person}"}

            def answer(trial: Any, _page: httpx.Client, person: int = person) -> Any:
                return say(person, trial)

            url = f"http://127.0.0.1:{port}"
            assert answer_all(url, place / study, given, answer) == expected
    sfumato(place, "elicit", "export", study, "-o", "answers.parquet")


@pytest.mark.check
def test_text_study_from_a_table_to_labels_and_a_report(tmp_path: Path) -> None:
    rows = [f"{number},It rains {number} times.,Wet day {number}." for number in range(8)]
    (tmp_path / "texts.csv").write_text("\n".join(["id,premise,hypothesis", *rows]) + "\n")
    (tmp_path / "classes.txt").write_text("follows\nperhaps\ncontradicts\n")
    command = "elicit new study --texts texts.csv --text premise,hypothesis --item id"
    command += " --classes classes.txt --question distribution --set layout.repeats=0"
    command += " --per-item 4 --set recruiting.entry=open"
    sfumato(tmp_path, *command.split())

    def say(person: int, trial: Any) -> Any:
        ((_, premise), (name, _)) = trial["texts"][0]
        assert name == "hypothesis" and trial["images"] == []
        odd = int(re.findall(r"\d+", premise)[0]) % 2
        return {"follows": 100} if person < 3 or odd else {"perhaps": 60, "contradicts": 40}

    serve_and_answer(tmp_path, "study", 4, say, 8)
    found = json.loads(sfumato(tmp_path, "describe", "answers.parquet", "--json"))
    assert (found["people"], found["judgments"]) == (4, 32)
    sfumato(tmp_path, "label", "answers.parquet", "-o", "labels.csv")
    labels = sf.read_labels(tmp_path / "labels.csv")
    assert labels["1"] == {"follows": 1, "perhaps": 0, "contradicts": 0}
    assert labels["2"] == pytest.approx({"follows": 0.75, "perhaps": 0.15, "contradicts": 0.1})
    sfumato(tmp_path, "report", "answers.parquet", "-o", "page.html")
    assert "follows" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.check
@pytest.mark.parametrize("question", ["pairs", "preference"])
def test_pair_study_from_a_folder_to_a_table(question: str, tmp_path: Path) -> None:
    a_folder(tmp_path)
    for path in sorted((tmp_path / "scans").iterdir())[5:]:
        path.unlink()
    command = f"elicit new study --images scans --question {question} --per-item 3"
    sfumato(tmp_path, *command.split(), "--set", "recruiting.entry=open")

    def say(person: int, _trial: Any) -> Any:
        return {"rating": person} if question == "pairs" else {"preferred": "tie"}

    serve_and_answer(tmp_path, "study", 3, say, 10)  # all pairs of five images
    table = pl.read_parquet(tmp_path / "answers.parquet")
    assert len(table) == 30
    assert set(table["first"]) | set(table["second"]) == {f"case-{n:02d}" for n in range(5)}
    if question == "pairs":
        assert sorted(table["rating"].unique().to_list()) == [0, 1, 2]
    else:
        assert table["preferred"].unique().to_list() == ["tie"]
