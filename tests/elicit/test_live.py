"""The dashboard's figures agree with the database, whatever order things happen in."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.live.live import Live
from sfumato.elicit.live.tally import read_said
from sfumato.elicit.live.views import items_page, overview, people_page
from sfumato.elicit.live.whatif import places_to_open
from sfumato.elicit.session import commands
from sfumato.elicit.session.screen import BackGiven, TrialScreen
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.quality import accuracy, repeats, times
from sfumato.judgments.question import Question

LAYOUT = {"trials_per_person": 6, "checks_every": 3, "repeats": 2, "allow_back": True}
ANSWERS: dict[str, list[Any]] = {
    "choose-one": ["cat", "dog", "deer"],
    "distribution": [{"cat": 100}, {"cat": 60, "dog": 40}, {"deer": 55, "horse": 45}],
    "top-two": [
        {"first": "cat", "first_percent": 80},
        {"first": "dog", "first_percent": 120, "second": "cat", "second_percent": 5},
    ],
}


def live_of(desk: Any) -> Live:
    collection = desk.collection
    return Live(desk.database, collection, clock=lambda: desk.now)


def fresh(desk: Any) -> dict[str, Any]:
    """The overview of somebody who opens the dashboard only now."""
    live = live_of(desk)
    live.refresh()
    return {**overview(live), "version": None}


def shown(live: Live) -> dict[str, Any]:
    live.refresh()
    return {**overview(live), "version": None}


def play(desk: Any, rng: np.random.Generator, people: int, look: Callable[[], object]) -> None:
    """Simulated people answer in turn, some go back and change, some stop half-way."""
    answers = ANSWERS[desk.collection.study.form]
    tokens = [desk.enter(f"person{number}") for number in range(people)]
    for step in range(11):
        for number, token in enumerate(tokens):
            screen = desk.screen(token)
            if (number % 4 == 3 and step > 5) or not isinstance(screen, TrialScreen):
                continue
            answer = answers[int(rng.integers(len(answers)))]
            timing = {"seconds": float(rng.random() * 9)}
            after = desk.answer(token, screen.trial.id, answer, timing=timing)
            if number < 3 and step == 2:
                look()  # the answer is known before it is changed
                back = desk.run(commands.back, token=token, given=BackGiven(trial=after.trial.id))
                other = next(one for one in answers if one != answer)
                desk.answer(token, back.trial.id, other)
        look()


def judgments_in(desk: Any) -> Judgments:
    """All answers straight from the database."""
    rows = desk.rows(
        "SELECT s.item, ses.participant, a.answer, a.seconds, t.number, t.view, s.gold "
        "FROM answer a JOIN trial t ON t.id = a.trial JOIN session ses ON ses.id = t.session "
        "JOIN stimulus s ON s.id = t.stimulus ORDER BY t.id"
    )
    names = ["item", "annotator", "answer", "seconds", "order", "view", "gold"]
    table = pl.DataFrame(rows, schema=names, orient="row").cast({"annotator": pl.String})
    question = desk.collection.question
    assert isinstance(question, Question)
    return Judgments(question, table)


@pytest.fixture
def busy(open_desk: Callable[..., Any], a_study: Callable[..., ElicitStudy]) -> Callable[..., Any]:
    """A desk with checks and repeats, and a live view that looked while people answered."""

    def make(form: str = "choose-one", people: int = 5, **changes: Any) -> tuple[Any, Live]:
        study = a_study(form=form, layout=LAYOUT, mode="faithful", per_item=5, **changes)
        desk = open_desk(study, checks=4)
        desk.rows("UPDATE stimulus SET gold = 'deer' WHERE role = 'check' RETURNING id")
        live = live_of(desk)
        play(desk, np.random.default_rng(1), people, live.refresh)
        return desk, live

    return make


@pytest.mark.parametrize("form", ANSWERS)
def test_news_taken_in_bit_by_bit_give_what_a_fresh_look_gives(
    busy: Callable[..., Any], form: str
) -> None:
    desk, live = busy(form)
    desk.now += 11  # agreement is not worked out anew at every look
    assert rounded(shown(live)) == rounded(fresh(desk))
    assert desk.rows("SELECT count(*) FROM answer WHERE changed > 0")[0][0] > 0

    people = [row[0] for row in desk.rows("SELECT id FROM participant ORDER BY id")]
    desk.run(commands.exclude, participant=people[0], rule="checks", who="test")
    after_exclusion = shown(live)
    desk.run(commands.exclude, participant=people[1], rule="by hand", who="test")
    desk.run(commands.include, participant=people[0], who="test")
    desk.run(commands.withdraw, participant=people[2], who="test")
    desk.run(commands.return_submission, platform="link", platform_id="person3")
    desk.now += 11  # agreement is not worked out anew at every look

    assert after_exclusion["people"]["excluded_by"] == {"checks": 1}
    bit_by_bit, at_once = shown(live), fresh(desk)
    assert rounded(bit_by_bit) == rounded(at_once)
    assert rounded(items_page(live, sort="item")) == rounded(items_page(_built(desk), sort="item"))
    assert rounded(people_page(live)) == rounded(people_page(_built(desk)))


def _built(desk: Any) -> Live:
    live = live_of(desk)
    live.refresh()
    return live


def rounded(value: Any) -> Any:
    """Sums that were added up in another order differ in the last digits."""
    return json.loads(json.dumps(value), parse_float=lambda text: round(float(text), 9))


def test_figures_are_those_of_the_quality_measures(busy: Callable[..., Any]) -> None:
    desk, live = busy("choose-one")
    seen, judgments = shown(live), judgments_in(desk)

    checks = judgments.take((judgments.table["view"] == "check"), step=_step())
    again, taken = repeats(judgments), times(judgments)
    assert seen["progress"]["answers"] == len(judgments)
    assert seen["checks"]["answers"] == len(checks)
    assert seen["checks"]["share_right"] == pytest.approx(accuracy(checks).top1)
    assert seen["repeats"]["pairs"] == len(again.pairs) > 0
    assert seen["repeats"]["share_changed"] == pytest.approx(again.changed)
    found = pl.DataFrame(seen["times"]["by_number"])
    assert found["number"].to_list() == taken.places["order"].to_list()
    assert found["median"].to_list() == pytest.approx(taken.places["median"].to_list())


def _step() -> Any:
    from sfumato.provenance import Step

    return Step("checks")


def test_labels_are_means_over_people_who_are_in_the_data(busy: Callable[..., Any]) -> None:
    desk, live = busy("choose-one")
    first = desk.rows("SELECT min(id) FROM participant")[0][0]
    desk.run(commands.exclude, participant=first, rule="by hand", who="test")
    live.refresh()

    table = judgments_in(desk).table.filter(
        (pl.col("view") == "first") & (pl.col("annotator") != str(first))
    )
    page = items_page(live, sort="item")
    assert sum(row["answers"] for row in page["items"]) == len(table)
    for row in page["items"]:
        said = [json.loads(text) for text in table.filter(item=row["item"])["answer"]]
        for name, prob in zip(page["outcomes"], row["probs"], strict=True):
            if said:
                assert prob == pytest.approx(said.count(name) / len(said), abs=1e-4)
        if said:
            inside = zip(row["low"], row["probs"], row["high"], strict=True)
            assert all(low - 1e-4 <= prob <= high + 1e-4 for low, prob, high in inside)


def test_faults_flags_and_pay_are_counted(busy: Callable[..., Any]) -> None:
    recruiting = {"pay": 2.0, "hourly": 12.0, "currency": "GBP"}
    desk, live = busy("top-two", recruiting=recruiting)
    seen = shown(live)

    faults = [
        name for (text,) in desk.rows("SELECT faults FROM answer") for name in json.loads(text)
    ]
    counted = {row["kind"]: row["answers"] for row in seen["oddities"]}
    assert counted == {name: faults.count(name) for name in set(faults)} != {}
    flags = [kind for (kind,) in desk.rows("SELECT kind FROM flag")]
    assert {row["kind"]: row["times"] for row in seen["flags"]} == {
        kind: flags.count(kind) for kind in set(flags)
    }
    lengths = desk.rows("SELECT (finished - started) / 3600 FROM session WHERE ended = 'finished'")
    assert seen["pay"]["hourly"] == pytest.approx(2.0 / np.median(lengths))


def test_people_are_counted_by_what_became_of_them(busy: Callable[..., Any]) -> None:
    desk, live = busy("choose-one")
    assert shown(live)["people"]["by_status"] == {
        "active": 1, "away": 0, "finished": 4, "dropped out": 0, "screened out": 0,
    }  # fmt: skip

    desk.now += 600
    assert shown(live)["people"]["by_status"]["away"] == 1
    desk.run(commands.return_submission, platform="link", platform_id="person3")
    assert shown(live)["people"]["by_status"]["dropped out"] == 1


def test_sweep_finds_what_no_cursor_saw(busy: Callable[..., Any]) -> None:
    desk, live = busy("choose-one")
    desk.rows("DELETE FROM answer_event RETURNING id")
    desk.rows("DELETE FROM answer WHERE trial = (SELECT max(trial) FROM answer) RETURNING trial")
    before = shown(live)["progress"]["answers"]
    desk.now += 31

    assert shown(live)["progress"]["answers"] == before - 1


def test_version_rises_only_with_news(busy: Callable[..., Any]) -> None:
    desk, live = busy("choose-one")
    version = live.refresh()
    assert live.refresh() == version

    desk.run(commands.close, who="test")
    assert live.refresh() > version


def test_places_are_suggested_for_complete_items_that_have_not_converged(
    open_desk: Callable[..., Any], a_study: Callable[..., ElicitStudy]
) -> None:
    desk = open_desk(a_study(per_item=4, layout={"trials_per_person": 2}), items=2)
    for person, said in enumerate(["cat", "dog", "deer", "cat"]):
        token = desk.enter(f"person{person}")
        for _ in range(2):
            screen = desk.screen(token)
            first = desk.rows(f"SELECT stimulus FROM trial WHERE id = {screen.trial.id}") == [(1,)]
            desk.answer(token, screen.trial.id, said if first else "cat")
    live = live_of(desk)
    live.refresh()
    most = {1: 4, 2: 2}  # who differ would need many more; of four classes six who agree are enough

    assert live.threshold == desk.collection.study.converged_below == 0.02
    assert places_to_open(live) == most
    near = overview(live)["convergence"]
    assert (near["complete_but_open"], near["places_to_open"]) == (2, 6)
    assert near["hours"] == pytest.approx(near["answers"] * 1.0 / 3600)
    desk.run(commands.pause, stimulus=1, paused=True, who="test")
    live.refresh()
    assert places_to_open(live) == {2: 2}


def test_threshold_is_a_setting(
    open_desk: Callable[..., Any], a_study: Callable[..., ElicitStudy]
) -> None:
    desk = open_desk(a_study(converged_below=0.3, layout={"trials_per_person": 1}), items=1)
    desk.finish(desk.enter("ann"))

    assert shown(live_of(desk))["progress"]["converged"] == 1  # (0 + 3/4)/2² < 0.3


def test_bits_are_constraints_less_contradictions(
    open_desk: Callable[..., Any], a_study: Callable[..., ElicitStudy]
) -> None:
    paid = {"recruiting": {"pay": 2.0}, "layout": {"trials_per_person": 4}}
    desk = open_desk(a_study(form="distribution", per_item=2, **paid), items=4)
    orders = [("cat", "dog", "deer", "horse"), ("dog", "cat", "deer", "horse")]
    for person, order in enumerate(orders):
        answer = dict(zip(order, (40, 30, 20, 10), strict=True))
        desk.finish(desk.enter(f"person{person}"), answer)

    told = shown(live_of(desk))["told"]
    contradicted = 1 / 6  # of six pairs of classes, cat and dog
    flipped = (1 - np.sqrt(1 - 2 * contradicted)) / 2
    left = 1 + flipped * np.log2(flipped) + (1 - flipped) * np.log2(1 - flipped)
    constraints = 4 * 4 * (4 + 4 - 2) // 2  # kn(k+n-2)/2 (S1-22)
    assert told["constraints"] == constraints
    assert told["contradicted"] == pytest.approx(contradicted)
    assert told["bits_an_answer"] == pytest.approx(constraints * left / 4)
    assert told["bits_a_second"] == pytest.approx(constraints * left / 4 / 1.0)
    assert told["bits_for_pay"] == pytest.approx(constraints * left / 2.0)


@pytest.mark.parametrize("form", ["pairs", "triplets", "mix", "sliders", "yes-no-unsure"])
def test_every_form_has_a_distribution(desk_in_memory: Callable[..., Any], form: str) -> None:
    answers: dict[str, Any] = {
        "pairs": {"rating": 6},
        "triplets": {"closer": "first"},
        "mix": {"perceived": 1.0, "confidence": 0.5},
        "sliders": {"cat": 1.0, "dog": 0, "deer": 0, "horse": 0},
        "yes-no-unsure": {"cat": "yes", "dog": "no", "deer": "no", "horse": "no"},
    }
    options = {"scale": [0, 6]} if form == "pairs" else {}
    wording = "How much {first}, how much {second}?" if form == "mix" else "What?"
    desk = desk_in_memory(6, roles={}, form=form, options=options, wording=wording)
    text = json.dumps(answers[form])

    reading = read_said(desk.collection.question, [text])
    assert reading.probs[0, 0] == 1
    assert reading.probs.sum() == pytest.approx(1)
    assert reading.choice.tolist() == [0]
