"""Thousands of generated requests: never a 500, and never a row without a valid token (S4, S1).

``make fuzz`` runs more of them and shows how they were answered.
"""

import asyncio
import json
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.elicit.conftest import on_both
from tests.elicit.web.conftest import ADMIN_KEY

from sfumato.elicit.admin.acts import ACTS
from sfumato.elicit.admin.login import form_token, new_admin_session
from sfumato.elicit.serve import dashboard
from sfumato.elicit.web.platforms import signature_of
from sfumato.elicit.web.security import Limits

CASES = int(os.environ.get("SFUMATO_FUZZ_CASES", "200"))
"""How many requests to each database."""
SECRET = "a secret of the workspace"
PARTS = ("participants", "dashboard", "webhook")
PATHS = (
    "/api/answer",
    "/api/answer",
    "/api/answer",
    "/api/proceed",
    "/api/back",
    "/api/enter",
    "/api/screen",
    "/webhook/prolific",
    "/",
    "/consent",
    "/health",
    "/image/x",
    "/texts/en.json",
    "/static/main.js",
    "/admin",
)
ADMIN_PATHS = (
    "/admin/",
    "/admin/items",
    "/admin/people",
    "/admin/rules",
    "/admin/words",
    "/admin/log",
    "/admin/data.json",
    "/admin/export.csv",
    "/admin/export.exe",
    "/admin/act",
    "/admin/act",
    "/admin/act",
    "/admin/login",
    "/admin/logout",
    "/admin/nothing",
)
STORED = ("answer", "trial", "answer_event", "reply", "flag", "webhook_event")
LOOSE = Limits(
    answers_per_second=1e6,
    answer_burst=10**6,
    calls_per_second=1e6,
    call_burst=10**6,
    entries_per_minute=10**6,
)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
answers = st.fixed_dictionaries(
    {
        "trial": st.integers(0, 40) | st.just("OPEN") | anything,
        "key": st.from_regex(r"\A[a-z0-9]{8,12}\Z") | anything,
        "answer": st.sampled_from(["cat", "dog", "bird"]) | anything,
        "timing": st.fixed_dictionaries({"seconds": st.floats(0, 60)}) | anything,
    },
    optional={
        "events": st.lists(
            st.fixed_dictionaries(
                {
                    "kind": st.sampled_from(["inputs", "focus", "paste", "hint", "?"]),
                    "at": st.floats(0, 60) | anything,
                },
                optional={"data": st.dictionaries(st.text(max_size=8), anything, max_size=3)},
            ),
            max_size=3,
        ),
        "more": anything,
    },
)
proceeds = st.fixed_dictionaries(
    {"stage": st.sampled_from(["instructions", "comprehension", "debrief"]) | anything},
    optional={"answers": st.lists(st.text(max_size=50), max_size=3) | anything},
)
entries = st.fixed_dictionaries(
    {
        "parameters": st.dictionaries(
            st.sampled_from(["participant", "PROLIFIC_PID", "x"]), st.text(max_size=12)
        )
        | anything
    },
    optional={
        "consent_version": st.sampled_from(["1", "not asked", None]) | anything,
        "language": st.sampled_from(["en", "de-AT", "../x"]) | anything,
    },
)
bodies = st.one_of(
    answers,
    answers,
    proceeds,
    entries,
    st.fixed_dictionaries({"trial": st.integers(-1, 40) | st.just("OPEN")}),
    anything,
).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=200)
tokens = st.sampled_from(["valid", "valid", "valid", "forged", "none", "garbage"])
wild = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["POST", "POST", "POST", "GET", "PUT", "DELETE", "HEAD"]),
        "path": st.sampled_from(PATHS) | st.text(max_size=20).map(lambda text: f"/{text}"),
        "body": bodies,
        "token": tokens,
        "garbage": st.text(st.characters(codec="latin-1"), max_size=30),
        "kind": st.sampled_from(["application/json"] * 6 + ["text/plain", "", "application/x"]),
        "origin": st.sampled_from([None, None, None, "http://site", "http://evil", "null"]),
    }
)
# An answer that is right, or has one thing wrong with it.
right = {"trial": "OPEN", "key": "fuzzkey", "answer": "cat", "timing": {"seconds": 1.0}}
aimed = st.builds(
    lambda change, token, nonce: {
        "method": "POST",
        "path": "/api/answer",
        "body": json.dumps({**right, "key": f"fuzzkey{nonce}", **change}).encode(),
        "token": token,
        "garbage": "Bearer x",
        "kind": "application/json",
        "origin": None,
    },
    st.just({})
    | st.builds(
        lambda name, value: {name: value}, st.sampled_from([*right, "events", "more"]), anything
    ),
    tokens,
    st.integers(10, 10**9),
)
some_id = st.integers(-1, 40).map(str) | st.text(max_size=8) | st.sampled_from(["1 OR 1=1", "1,2"])
forms = st.fixed_dictionaries(
    {"act": st.sampled_from([*ACTS, "drop", ""])},
    optional={
        "form": st.sampled_from(["FORM", "FORM", "FORM", "forged", ""]),
        "participant": some_id,
        "participants": some_id,
        "stimulus": some_id,
        "rule": st.sampled_from(["checks", "by hand", "?"]) | st.text(max_size=12),
        "reason": st.text(max_size=12),
        "sure": st.sampled_from(["yes", "no"]),
        "key": st.text(max_size=12),
    },
).map(lambda fields: urlencode(fields, errors="replace").encode())
questions = st.fixed_dictionaries(
    {},
    optional={
        "sort": st.sampled_from(["item", "latest", "change", "checks", "?"]) | st.text(max_size=8),
        "page": st.integers(-1, 9).map(str) | st.text(max_size=8),
        "items": st.sampled_from(["all", "none"]),
    },
).map(lambda fields: urlencode(fields, errors="replace").encode())
admin = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["GET", "GET", "POST", "POST", "PUT", "HEAD"]),
        "path": st.sampled_from(ADMIN_PATHS),
        "query": questions,
        "body": forms | forms | bodies,
        "token": tokens,
        "garbage": st.text(st.characters(codec="latin-1"), max_size=30),
        "kind": st.sampled_from(["application/x-www-form-urlencoded"] * 4 + ["", "text/plain"]),
        "origin": st.sampled_from([None, None, "http://site", "http://site", "http://evil"]),
    }
)
messages = st.fixed_dictionaries(
    {
        "event_type": st.just("submission.status.change") | st.text(max_size=12),
        "status": st.sampled_from(["RETURNED", "TIMED-OUT", "APPROVED"]) | st.text(max_size=12),
    },
    optional={
        "resource_id": st.text(max_size=12),
        "participant_id": st.text(max_size=12),
        "more": anything,
    },
).map(lambda value: json.dumps(value).encode())
webhook = st.fixed_dictionaries(
    {
        "method": st.just("POST"),
        "path": st.just("/webhook/prolific"),
        "body": messages,
        "token": st.sampled_from(["valid", "valid", "valid", "valid", "garbage"]),
        "garbage": st.just(""),
        "kind": st.sampled_from(["application/json", "text/plain"]),
        "origin": st.just(None),
        "age": st.sampled_from([0, 0, 0, 0, 299, 301, -301]),
        "event": st.integers(0, 10**6).map(str)
        | st.text(max_size=8).map(repr)
        | st.just("x" * 300),
    }
)
requests = wild | wild | aimed | aimed | admin | webhook


@pytest.fixture
def fuzzed(
    study_folder: Path, site_of: Any, place_of_study: Callable[[Path], str]
) -> Iterator[tuple[asyncio.Runner, Any]]:
    """An event loop with a site that stays open."""
    with asyncio.Runner() as runner:
        opened = site_of(
            study_folder,
            database=place_of_study(study_folder),
            limits=LOOSE,
            webhook_secret=SECRET,
            make_admin=partial(dashboard, admin_key=ADMIN_KEY),
        )
        site = runner.run(opened.__aenter__())
        yield runner, site
        runner.run(opened.__aexit__(None, None, None))


@dataclass
class Target:
    """A session that is at its trials, the trial that is open, and a researcher's session."""

    key: bytes
    token: str = ""
    trial: int = 0
    cookie: str = ""


async def aim(site: Any, target: Target) -> None:
    """Look again what is open; a new person comes when one has finished or is gone."""
    site.wait(1)
    shown = (await site.get("/api/screen", target.token or "none")).json()
    if shown.get("stage") != "trials":
        # The researcher may have closed the study or paused its images.
        with site.writer.database.connect() as connection:
            connection.plain("DELETE FROM meta WHERE key = 'closed'")
            connection.plain("UPDATE stimulus SET paused = false")
        target.token = await site.enter(f"person{secrets.token_hex(6)}")
        shown = await site.screen(target.token)
    target.trial = shown["trial"]["id"]


async def send(site: Any, request: dict[str, Any], target: Target) -> tuple[int, bool]:
    """The status, and whether the request had a valid token."""
    body = request["body"].replace(b'"OPEN"', str(target.trial).encode())
    headers = {"host": "site", "content-type": request["kind"], "content-length": str(len(body))}
    if request["origin"] is not None:
        headers["origin"] = request["origin"]
    if request["path"].startswith("/admin"):
        secret, name, before = target.cookie, "cookie", "sfumato_admin="
        form = form_token(target.key, secret)
        body = body.replace(b"form=FORM", f"form={form}".encode())
        headers["content-length"] = str(len(body))
    else:
        secret, name, before = target.token, "authorization", "Bearer "
    given = {
        "valid": f"{before}{secret}",
        "forged": f"{before}{secret[::-1]}",
        "none": "",
        "garbage": request["garbage"],
    }[request["token"]]
    if given:
        headers[name] = given
    valid = given == f"{before}{secret}"
    if "event" in request:
        valid = request["token"] == "valid" and abs(request["age"]) <= 300
        sign(site, request, headers, body, secret=SECRET if request["token"] == "valid" else "?")
    status, _, _ = await site.raw(
        request["path"],
        method=request["method"],
        headers=headers,
        chunks=(body,),
        query=request.get("query", b""),
    )
    return status, valid


def sign(
    site: Any, request: dict[str, Any], headers: dict[str, str], body: bytes, *, secret: str
) -> None:
    """As Prolific does, or somebody who does not know the secret."""
    timestamp = str(int(site.time[0] - request["age"]))
    headers["x-prolific-request-timestamp"] = timestamp
    headers["x-prolific-request-signature"] = signature_of(secret, timestamp, body)
    headers["x-event-id"] = request["event"]


COUNT = (
    "SELECT "
    + ", ".join(f"(SELECT count(*) FROM {table})" for table in STORED)
    + ", (SELECT count(*) FROM participant WHERE excluded IS NOT NULL OR paid IS NOT NULL)"
    + ", (SELECT count(*) FROM stimulus WHERE paused)"
    + ", (SELECT count(*) FROM meta WHERE key = 'closed'), (SELECT count(*) FROM withdrawal)"
)
"""Everything that nobody may change without a token or a key."""


@on_both
def test_s4_no_generated_request_breaks_the_server_or_stores_without_a_token(
    fuzzed: tuple[asyncio.Runner, Any],
) -> None:
    runner, site = fuzzed
    reader = site.writer.database.reader().driver.cursor()

    def stored() -> Any:
        return reader.execute(COUNT).fetchall()

    seen: Counter[tuple[str, int]] = Counter()
    key = site.writer.collection.key
    target = Target(key, cookie=new_admin_session(key, now=time.time()))
    runner.run(aim(site, target))

    @settings(
        max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(requests)
    def ask(request: dict[str, Any]) -> None:
        before = stored()
        status, valid = runner.run(send(site, request, target))
        seen[part_of(request["path"]), status] += 1

        assert status < 500
        if not valid:
            assert stored() == before
        elif status == 200:
            runner.run(aim(site, target))

    ask()
    reader.connection.close()
    tell(seen, site)
    # Some get through, or nothing was tried; how many of a few is a matter of luck.
    assert sum(count for (_, status), count in seen.items() if status == 200) > CASES / 100
    if CASES >= 1_000:
        assert min(seen[part, 200] for part in PARTS) > CASES / 100
        assert site.count("answer") > CASES / 200


def part_of(path: str) -> str:
    return {"/admin": "dashboard", "/webho": "webhook"}.get(path[:6], "participants")


def tell(seen: Counter[tuple[str, int]], site: Any) -> None:
    """How the requests were answered; shown by ``make fuzz``."""
    lines = [f"{site.writer.database.dialect}: {sum(seen.values()):,} generated requests"]
    for part in sorted({part for part, _ in seen}):
        counts = [f"{status}: {seen[part, status]:,}" for _, status in sorted(seen) if _ == part]
        lines.append(f"  {part:<14}{', '.join(counts)}")
    lines.append(f"  answers stored with a valid token: {site.count('answer'):,}")
    sys.stdout.write("\n".join(["", *lines, ""]))
