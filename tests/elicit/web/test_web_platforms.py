"""Entry from Prolific, MTurk and plain links, and Prolific's messages."""

import json
from typing import Any

import pytest
from tests.elicit.conftest import on_both

from sfumato.elicit.web.platforms import signature_of

PERSON, ATTEMPT = "5f0c0ffee0ddba11cafef00d", "64b000000000000000000001"
PROLIFIC = {"PROLIFIC_PID": PERSON, "STUDY_ID": "S1", "SESSION_ID": ATTEMPT}
SECRET = "a secret of the workspace"


@pytest.fixture
def prolific(change_study: Any) -> None:
    change_study(
        recruiting={
            "platform": "prolific",
            "study_id": "S1",
            "completion_code": "C0DE+1",
            "completion_url": "https://app.prolific.com/submissions/complete?cc={code}",
        }
    )


async def enter(site: Any, parameters: dict[str, str]) -> Any:
    site.wait(10)
    return await site.post("/api/enter", {"parameters": parameters})


@pytest.mark.usefixtures("prolific")
def test_prolific_person_goes_from_entry_to_redirect(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = (await enter(site, {**PROLIFIC, "utm_source": "mail"})).json()["token"]
        _, last = await site.finish(token)

        address = "https://app.prolific.com/submissions/complete?cc=C0DE%2B1"
        assert (last["code"], last["redirect"]) == ("C0DE+1", address)
        assert site.rows("SELECT platform, platform_id FROM participant_identity") == [
            ("prolific", PERSON)
        ]
        assert ATTEMPT not in str(site.rows("SELECT * FROM session"))

    visit(story)


@pytest.mark.usefixtures("prolific")
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"STUDY_ID": "S2"}, 403),
        ({"STUDY_ID": ""}, 403),
        ({"PROLIFIC_PID": ""}, 422),
        ({"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"}, 422),
        ({"PROLIFIC_PID": "a\x00b"}, 422),
        ({"PROLIFIC_PID": "x" * 201}, 422),
        ({"SESSION_ID": " "}, 422),
    ],
)
def test_prolific_entry_that_is_not_ours_is_refused(
    visit: Any, change: dict[str, str], status: int
) -> None:
    async def story(site: Any) -> None:
        reply = await enter(site, {**PROLIFIC, **change})

        assert reply.status_code == status
        assert site.count("participant") == 0

    visit(story)


@pytest.mark.usefixtures("prolific")
def test_second_browser_needs_the_same_attempt(visit: Any) -> None:
    async def story(site: Any) -> None:
        first = await enter(site, PROLIFIC)
        same = await enter(site, PROLIFIC)
        other = await enter(site, {**PROLIFIC, "SESSION_ID": "another"})

        assert [first.json()["resumed"], same.json()["resumed"]] == [False, True]
        assert other.status_code == 409
        assert site.rows("SELECT kind FROM flag") == [("entered-again",)]

    visit(story)


def test_mturk_preview_shows_the_page_but_enters_nobody(visit: Any, change_study: Any) -> None:
    change_study(recruiting={"platform": "mturk"})
    preview = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "H"}
    accepted = {"assignmentId": "A1", "hitId": "H", "workerId": "W1", "turkSubmitTo": "https://x"}

    async def story(site: Any) -> None:
        page = await site.get("/", params=preview)
        refused = await enter(site, preview)
        nobody = await enter(site, {"assignmentId": "A1"})
        assert (page.status_code, refused.status_code, nobody.status_code) == (200, 403, 422)
        assert site.count("participant") == 0

        assert (await enter(site, accepted)).status_code == 200
        assert site.rows("SELECT platform_id FROM participant_identity") == [("W1",)]

    visit(story)


def test_plain_link_takes_its_id_from_the_named_parameter(visit: Any, change_study: Any) -> None:
    change_study(recruiting={"platform": "link", "id_parameter": "who", "study_id": "S1"})

    async def story(site: Any) -> None:
        assert (await enter(site, {"participant": "ann"})).status_code == 422
        assert (await enter(site, {"who": "ann"})).status_code == 200

    visit(story)


async def tell(
    site: Any,
    *,
    event: str = "e1",
    secret: str = SECRET,
    age: float = 0,
    tampered: bool = False,
    **change: Any,
) -> Any:
    message = {
        "event_type": "submission.status.change",
        "resource_id": ATTEMPT,
        "participant_id": PERSON,
        "status": "RETURNED",
        "new_field": {},
        **change,
    }
    body = json.dumps(message).encode()
    timestamp = str(int(site.time[0] - age))
    signature = signature_of(secret, timestamp, body)
    return await site.post(
        "/webhook/prolific",
        body + b" " if tampered else body,
        x_prolific_request_signature=signature,
        x_prolific_request_timestamp=timestamp,
        x_event_id=event,
    )


def reserved(site: Any) -> int:
    return int(site.rows("SELECT sum(reserved) FROM stimulus")[0][0])


def test_s18_signature_is_that_of_prolifics_documentation() -> None:
    # echo -n '1700000000{"a": 1}' | openssl dgst -sha256 -hmac key -binary | base64
    expected = "QcwEMP4tj9lhI0Rnai8wg7k1C8c1YRRE4/U7/FNktrk="

    assert signature_of("key", "1700000000", b'{"a": 1}') == expected


@on_both
@pytest.mark.usefixtures("prolific")
@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT"])
def test_s18_submission_that_was_given_back_frees_its_places_at_once(
    visit: Any, status: str
) -> None:
    async def story(site: Any) -> None:
        token = (await enter(site, PROLIFIC)).json()["token"]
        await site.screen(token)
        before = reserved(site)
        reply = await tell(site, status=status)

        assert before == 2
        assert (reply.status_code, reply.json()) == (200, {"ended": 1})
        assert reserved(site) == 0
        assert await site.screen(token) == {"stage": "closed", "reason": "returned"}
        assert (await enter(site, PROLIFIC)).status_code == 410

    visit(story, webhook_secret=SECRET)


@on_both
@pytest.mark.usefixtures("prolific")
@pytest.mark.parametrize(
    "wrong",
    [{"secret": "another"}, {"age": 301}, {"age": -301}, {"tampered": True}],
)
def test_s18_message_that_is_forged_changed_or_old_does_nothing(
    visit: Any, wrong: dict[str, Any]
) -> None:
    async def story(site: Any) -> None:
        await site.screen((await enter(site, PROLIFIC)).json()["token"])

        assert (await tell(site, **wrong)).status_code == 403
        assert reserved(site) == 2
        assert site.count("webhook_event") == 0

    visit(story, webhook_secret=SECRET)


@on_both
@pytest.mark.usefixtures("prolific")
def test_s18_replayed_message_and_those_about_others_change_nothing(visit: Any) -> None:
    async def story(site: Any) -> None:
        await site.screen((await enter(site, PROLIFIC)).json()["token"])

        others: list[dict[str, Any]] = [
            {"status": "APPROVED"},
            {"resource_id": "attempt in another study"},
            {"participant_id": "somebody else"},
            {"event_type": "study.status.change"},
        ]
        for event, change in enumerate(others):
            reply = await tell(site, event=f"other{event}", **change)
            assert (reply.status_code, reply.json()) == (200, {"ended": 0})
        assert reserved(site) == 2
        first, again = await tell(site), await tell(site)
        assert [first.json(), again.json()] == [{"ended": 1}, {"ended": 0}]
        assert site.count("webhook_event") == 5

    visit(story, webhook_secret=SECRET)


@pytest.mark.usefixtures("prolific")
def test_s18_without_a_secret_there_is_no_webhook(visit: Any) -> None:
    async def story(site: Any) -> None:
        assert (await tell(site)).status_code == 404

    visit(story)


def test_r7_a_whole_session_and_the_webhook_work_on_both_databases(
    visit: Any, study_of: Any, database_url: str
) -> None:
    folder = study_of(
        "top-two",
        database=database_url,
        welcome={"consent": [], "comprehension": []},
        recruiting={"platform": "prolific", "study_id": "S1"},
    )

    async def story(site: Any) -> None:
        other = {**PROLIFIC, "PROLIFIC_PID": "another", "SESSION_ID": "another"}
        acknowledged, last = await site.finish((await enter(site, other)).json()["token"])
        token = (await enter(site, PROLIFIC)).json()["token"]
        site.wait(1)
        await site.post("/api/proceed", {"stage": "instructions"}, token)
        before = reserved(site)
        replies = [(await tell(site)).json() for _ in range(2)]

        assert last["stage"] == "done"
        assert site.count("answer") == len(acknowledged) > 0
        assert before == 2
        assert replies == [{"ended": 1}, {"ended": 0}]
        assert reserved(site) == 0
        assert (await site.get("/health")).status_code == 200

    visit(story, folder=folder, database=database_url, webhook_secret=SECRET)
