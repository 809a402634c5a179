"""Thousands of generated requests: never a 500, and never a row without a valid token (S4, S1)."""

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.elicit.web.limits import Limits

CASES = int(os.environ.get("SFUMATO_FUZZ_CASES", "300"))
"""How many requests; ``make`` may set more."""
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
STORED = ("answer", "trial", "answer_event", "reply", "flag")
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
requests = wild | wild | aimed


@pytest.fixture
def fuzzed(study_folder: Path, site_of: Any) -> Iterator[tuple[asyncio.Runner, Any]]:
    """An event loop with a site that stays open."""
    with asyncio.Runner() as runner:
        opened = site_of(study_folder, limits=LOOSE, webhook_secret="s")
        site = runner.run(opened.__aenter__())
        yield runner, site
        runner.run(opened.__aexit__(None, None, None))


@dataclass
class Target:
    """A session that is at its trials, and the trial that is open."""

    token: str = ""
    trial: int = 0


async def aim(site: Any, target: Target) -> None:
    """Look again what is open; a new person comes when one has finished."""
    shown: Any = await site.screen(target.token) if target.token else {"stage": "none"}
    if shown["stage"] != "trials":
        target.token = await site.enter(f"person{site.count('session')}")
        shown = await site.screen(target.token)
    target.trial = shown["trial"]["id"]


async def send(site: Any, request: dict[str, Any], target: Target) -> tuple[int, bool]:
    """The status, and whether the request had a valid token."""
    token = target.token
    given = {
        "valid": f"Bearer {token}",
        "forged": f"Bearer {token[::-1]}",
        "none": "",
        "garbage": request["garbage"],
    }[request["token"]]
    body = request["body"].replace(b'"OPEN"', str(target.trial).encode())
    headers = {"host": "site", "content-type": request["kind"], "content-length": str(len(body))}
    if given:
        headers["authorization"] = given
    if request["origin"] is not None:
        headers["origin"] = request["origin"]
    status, _, _ = await site.raw(
        request["path"], method=request["method"], headers=headers, chunks=(body,)
    )
    return status, given == f"Bearer {token}"


COUNT = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in STORED)


def test_s4_no_generated_request_breaks_the_server_or_stores_without_a_token(
    fuzzed: tuple[asyncio.Runner, Any],
) -> None:
    runner, site = fuzzed
    seen: dict[int, int] = {}
    target = Target()
    runner.run(aim(site, target))

    @settings(
        max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(requests)
    def ask(request: dict[str, Any]) -> None:
        before = site.rows(COUNT)
        status, valid = runner.run(send(site, request, target))
        seen[status] = seen.get(status, 0) + 1

        assert status < 500
        if not valid:
            assert site.rows(COUNT) == before
        elif status == 200:
            runner.run(aim(site, target))

    ask()
    assert seen.get(200, 0) > CASES / 50  # some get through, or nothing was tried
    assert site.count("answer") > CASES / 50
