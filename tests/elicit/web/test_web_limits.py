"""Rates: what is let through, and that honest people do not feel it."""

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.elicit.conftest import on_both

from sfumato.elicit.refusals import TooMany
from sfumato.elicit.web import security as limits
from sfumato.elicit.web.security import Buckets, Limits, address_key


def allowed(buckets: Buckets, key: str) -> bool:
    try:
        buckets.take(key, "Slower.")
    except TooMany:
        return False
    return True


@on_both
def test_s11_five_answers_at_once_then_one_in_200_ms(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        body = site.body_of((await site.screen(token))["trial"]["id"])

        burst = [(await site.post("/api/answer", body, token)).status_code for _ in range(7)]
        site.wait(0.2)
        after = [(await site.post("/api/answer", body, token)).status_code for _ in range(2)]
        refused = await site.post("/api/answer", body, token)

        assert burst == [200] * 5 + [429] * 2
        assert after == [200, 429]
        assert refused.headers["retry-after"] == "1"
        assert site.count("answer") == 1

    visit(story)


@on_both
def test_s11_one_thousand_forged_people_are_capped_and_an_honest_one_gets_in(
    visit: Any, study_folder: Any, site_of: Any
) -> None:
    async def story(site: Any) -> None:
        statuses = []
        for number in range(1_000):
            entry = {"parameters": {"participant": f"forged{number}"}}
            statuses.append((await site.post("/api/enter", entry)).status_code)
            site.wait(0.01)  # a hundred a second

        assert statuses.count(200) <= 30 + 6
        assert statuses.count(200) + statuses.count(429) == 1_000
        assert site.count("participant") == statuses.count(200)
        same = site.writer.database.url
        async with site_of(study_folder, database=same, address="203.0.113.9") as elsewhere:
            assert await elsewhere.enter("honest")

    visit(story)


@on_both
def test_s11_places_of_the_study_are_a_cap(visit: Any, change_study: Any) -> None:
    change_study(recruiting={"places": 2})

    async def story(site: Any) -> None:
        await site.enter("ann")
        await site.enter("ben")
        refused = await site.post("/api/enter", {"parameters": {"participant": "cleo"}})

        assert refused.status_code == 410
        assert refused.json()["reason"] == "full"
        assert site.count("participant") == 2

    visit(story)


def test_limits_can_be_set(visit: Any) -> None:
    async def story(site: Any) -> None:
        entry = {"parameters": {"participant": "ann"}}

        statuses = [(await site.post("/api/enter", entry)).status_code for _ in range(3)]

        assert statuses == [200, 429, 429]

    visit(story, limits=Limits(entries_per_minute=1))


@given(
    gaps=st.lists(st.floats(0, 3), max_size=60),
    burst=st.integers(1, 6),
    per_second=st.sampled_from([0.5, 1, 5]),
)
def test_never_more_than_the_burst_and_the_rate_together(
    gaps: list[float], burst: int, per_second: float
) -> None:
    now = [0.0]
    buckets = Buckets(per_second=per_second, burst=burst, clock=lambda: now[0])
    passed: list[float] = []
    for gap in gaps:
        now[0] += gap
        if allowed(buckets, "a"):
            passed.append(now[0])

    for first, begin in enumerate(passed):
        for last, end in enumerate(passed[first:], first):
            assert last - first + 1 <= burst + (end - begin) * per_second + 1e-6


@given(st.lists(st.floats(0.2, 3), max_size=30))
def test_who_keeps_to_the_rate_is_never_refused(gaps: list[float]) -> None:
    now = [0.0]
    buckets = Buckets(per_second=5, burst=1, clock=lambda: now[0])

    for gap in gaps:
        now[0] += gap + 1e-6
        assert allowed(buckets, "a")


def test_forged_keys_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REMEMBERED", 100)
    buckets = Buckets(per_second=1, burst=2, clock=lambda: 0.0)
    for _ in range(2):
        assert allowed(buckets, "greedy")

    for number in range(1_000):
        assert allowed(buckets, f"forged{number}")

    assert len(buckets._full_at) <= 101
    assert not allowed(buckets, "greedy")  # the emptiest buckets are kept


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("", "testclient", False),
    ],
)
def test_ipv6_addresses_of_one_network_count_as_one(one: str, other: str, same: bool) -> None:
    assert (address_key(one) == address_key(other)) is same


def test_flood_of_forged_tokens_waits_for_itself(visit: Any) -> None:
    async def story(site: Any) -> None:
        forged = [{"authorization": f"Bearer {'x' * 30}{place}"} for place in range(20)]
        begun = time.perf_counter()
        found = await asyncio.gather(
            *(site.client.get("/api/screen", headers=head) for head in forged)
        )
        took = time.perf_counter() - begun
        assert sorted({reply.status_code for reply in found}) == [401, 429]
        assert took >= 0.2  # all at once, not one after the other
        assert took < 0.2 * 10

    visit(story, limits=Limits(stranger_burst=2, refusal_delay=0.2))
