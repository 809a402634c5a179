"""Three doctors, forty images, one command: from a folder to who disagrees with whom, and where."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

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


def answer_all(url: str, parameters: dict[str, str], doctor: int, items: dict[str, int]) -> int:
    """One simulated doctor over HTTP, from the consent to the end."""
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
                item = items[page.get(trial["images"][0]).read().hex()]
                given: Any = {"trial": trial["id"], "answer": opinion(doctor, item)}
                given |= {"key": f"doctor{doctor}-{trial['id']}", "timing": TIMING}
                reply = page.post("/api/answer", json=given)
                answered += reply.is_success
            else:
                right = {"My own.", f"Give all chips to {CLASSES[0]}."}
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
            assert answer_all(url, parameters, doctor, items) == 40

    sfumato(tmp_path, "elicit", "export", "doctors", "-o", "answers.parquet")
    sfumato(tmp_path, "report", "answers.parquet", "-o", "doctors.html")
    found = json.loads(sfumato(tmp_path, "describe", "answers.parquet", "--json"))
    page = (tmp_path / "doctors.html").read_text(encoding="utf-8")
    assert (found["people"], found["judgments"]) == (3, 120)
    disputed = page[page.index("Where people disagree most") :]
    assert re.search(r"case-\d\d", disputed)[0] == DISPUTED  # type: ignore[index]
    pairs = page[page.index("Pair by pair") :].partition("</table>")[0]
    assert re.findall(r">(0\.975|1\.000)<", pairs) == ["0.975", "0.975", "1.000", "1.000"]
