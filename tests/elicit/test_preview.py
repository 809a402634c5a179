"""A preview shows every screen, and the study is afterwards as it was before."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from sfumato.elicit.design.places import database_url, open_study
from sfumato.elicit.making.make import new_study
from sfumato.elicit.preview import preview_app
from sfumato.elicit.storage.backup import contents_of
from sfumato.elicit.storage.database import open_database


def contents(folder: Path) -> Any:
    with open_database(database_url(folder)).reader() as connection:
        return contents_of(connection)


async def look_at_all(app: Any, study: Any) -> list[str]:
    """The stages that somebody sees from the first page to the end."""
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://site") as client,
    ):
        assert "Preview: nothing is stored" in (await client.get("/")).text
        entry = {"parameters": {"participant": "1"}, "consent_version": "1"}
        token = (await client.post("/api/enter", json=entry)).json()["token"]
        client.headers["authorization"] = f"Bearer {token}"
        shown, stages = (await client.get("/api/screen")).json(), []
        while shown["stage"] != "done":
            stages.append(shown["stage"])
            if shown["stage"] == "trials":
                trial = shown["trial"]
                assert (await client.get(trial["images"][0])).status_code == 200
                said = {trial["classes"][0]: 100}
                body = {"trial": trial["id"], "key": f"testkey{trial['id']}", "answer": said}
                body["timing"] = {"seconds": 1.0}
                shown = (await client.post("/api/answer", json=body)).json()
            else:
                right = [check.right for check in study.welcome.comprehension]
                answers = right if shown["stage"] == "comprehension" else []
                body = {"stage": shown["stage"], "answers": answers}
                shown = (await client.post("/api/proceed", json=body)).json()
        return stages


def test_preview_shows_all_screens_and_stores_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = {f"item{place}": rng.integers(0, 255, (8, 8), np.uint8) for place in range(3)}
    folder = new_study(
        tmp_path / "study",
        images=images,
        classes=["cat", "dog"],
        preset="distribution",
        seed=0,
        layout={"trials_per_person": 3, "repeats": 0},
        recruiting={"platform": "prolific", "places": 1},
    )
    before = contents(folder)
    files = sorted(path.name for path in folder.iterdir())
    with preview_app(folder) as app:
        stages = asyncio.run(look_at_all(app, open_study(folder)))

    assert stages == ["instructions", "comprehension", "trials", "trials", "trials", "debrief"]
    assert contents(folder) == before
    assert sorted(path.name for path in folder.iterdir() if "-" not in path.name) == files
