import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels
from sfumato.planning import plans
from sfumato.planning.advise import Advice, Alternative, Task, plan_json, rule_of_thumb
from sfumato.planning.annotators import Enough
from sfumato.planning.cost import Cost, given_costs
from sfumato.planning.grid import grid_points, run_grid
from sfumato.planning.pilot import ErrorRate, PilotStudy
from sfumato.planning.plans import (
    TYPICAL_NOISE,
    Plan,
    answer_costs,
    answers_at,
    best_two,
    kept_shown,
    noise_at,
    noise_by_form,
    sizes_around,
    sizes_of,
    stands_for,
)
from sfumato.planning.weigh import Candidate
from sfumato.reporting import draw
from sfumato.studies.planned import (
    NAMES,
    by_total_cost,
    draw_preference,
    enough_people,
    headline,
    plan_folder,
    plan_lead,
    remove_figures,
    write_plan,
)


def alternative(form: str, kept: int | None = None, **changed: float) -> Alternative:
    plain = Alternative(
        form, kept, people=1.0, probability=0.5, loss=-0.5, low=-0.6, high=-0.4, rho=0.5,
        rho_low=0.4, rho_high=0.6, cost=600.0, unit="seconds", cost_source="given", error=None,
        error_source="assumed", error_from="no pilot",
    )  # fmt: skip
    return replace(plain, **changed)  # type: ignore[arg-type]


def advised(*rows: Alternative, criterion: str = "budget") -> Advice:
    best = rows[0]
    return Advice(
        best.form, best.kept, best.people, best.probability, criterion,  # type: ignore[arg-type]
        rows, ("Because.",), (), sources={"rho": "simulated"},
    )  # fmt: skip


def piloted(
    form: str, contradicted: float, *, kept: int | None = None, items: int = 4, seconds: float = 5.0
) -> PilotStudy:
    rate = ErrorRate("agreement", contradicted, np.full(5, contradicted), items, 100)
    answers = np.array([[0.6, 0.3, 0.1], [0.5, 0.2, 0.3]] * items)
    crowd = CrowdLabels(
        items=tuple(f"i{at}" for at in range(items)),
        annotators=("ann", "bob"),
        classes=("a", "b", "c"),
        item=np.repeat(np.arange(items), 2),
        annotator=np.tile([0, 1], items),
        answers=answers,
    )
    cost = Cost(form, seconds, kept=kept, answers=8, people=2, source="measured")
    return PilotStudy(form, kept, rate, cost, crowd, 2.0)


def quiet(done: int, total: int) -> None:
    return None


@given(own=st.integers(3, 10_000), most=st.integers(3, 200), many=st.integers(1, 6))
def test_sizes_around_a_task_are_few_rising_and_hold_its_own(
    own: int, most: int, many: int
) -> None:
    found = sizes_around(own, most=most, many=many)

    assert min(own, most) in found
    assert list(found) == sorted(set(found))
    assert len(found) <= many
    assert 3 <= found[0] <= found[-1] <= most


def test_large_task_is_simulated_smaller_and_says_so() -> None:
    task = Task(items=5000, classes=200)
    sizes = sizes_of(task)

    assert (sizes.n, sizes.k) == (60, 60)
    assert stands_for(task, sizes) == (
        " 60 simulated items stand for the task's 5,000 and 60 simulated classes stand for the "
        "task's 200."
    )
    assert stands_for(Task(20, 10), sizes_of(Task(20, 10))) == ""
    *_, caution = headline(Plan(task, rule_of_thumb(5000, 200)))
    assert caution.kind == "caution"
    assert "The task is many-shot, what is simulated is one-shot" in caution.text


@given(classes=st.integers(3, 200))
def test_curves_over_kept_go_from_one_to_all_classes(classes: int) -> None:
    found = kept_shown(classes)

    assert (found[0], found[-1]) == (1, classes)
    assert len(found) <= 6


def test_price_of_a_form_nobody_named_follows_from_the_numbers_in_an_answer() -> None:
    task = Task(100, 10)
    rule = rule_of_thumb(100, 10)
    votes = given_costs({"hard": 1.8})
    both = votes | given_costs({"sparse": 32.4}, kept=2)

    assumed = answer_costs(Plan(task, rule))
    from_votes = answer_costs(Plan(task, rule, costs=votes))
    from_both = answer_costs(Plan(task, rule, costs=both))

    assert {form: cost.value for form, cost in assumed.items()} == {
        "hard": 1, "soft": 10, "sparse": 2, "top-class": 2,
    }  # fmt: skip
    assert from_votes["soft"].value == pytest.approx(18)
    assert from_votes["soft"].source == "assumed"
    assert from_votes["soft"].unit == "seconds"
    assert from_both["soft"].value == pytest.approx(162)  # a number costs 16.2 there, a vote 1.8
    assert from_both["top-class"].value == pytest.approx(32.4)
    assert from_both["hard"] == votes["hard"]


def test_given_price_goes_before_a_measured_one() -> None:
    rows = alternative("sparse", 2), alternative("hard")
    pilots = (piloted("sparse", 0.05, kept=2, seconds=30),)

    measured = answer_costs(Plan(Task(20, 6), advised(*rows), pilots))
    given_ = answer_costs(
        Plan(Task(20, 6), advised(*rows), pilots, given_costs({"sparse": 7}, kept=2))
    )

    assert measured["sparse"].value == 30
    assert given_["sparse"].value == 7


def test_advised_form_is_held_against_the_best_other_form() -> None:
    task, rows = Task(20, 6), (alternative("sparse", 2), alternative("sparse", 3))

    assert best_two(Plan(task, advised(*rows, alternative("soft")))) == (
        ("sparse", 2),
        ("soft", None),
    )
    assert best_two(Plan(task, advised(*rows))) == (("sparse", 2), ("hard", None))
    assert best_two(Plan(task, rule_of_thumb(20, 6))) == (("hard", None), ("soft", None))


def test_noise_is_read_off_the_share_of_contradictions() -> None:
    sizes = sizes_of(Task(30, 6))

    found = [
        noise_at("soft", None, share, sizes=sizes, dimensions=(5,)) for share in (0.0, 0.1, 0.3)
    ]

    assert found[0] == 0
    assert 0 < found[1] < found[2]
    assert noise_at("soft", None, 0.5, sizes=sizes, dimensions=(5,)) == 3.0  # all but guesses


def test_forms_without_an_error_rate_are_as_noisy_as_the_known_ones() -> None:
    task, rows = Task(20, 6, dimensions=5), (alternative("soft"), alternative("hard"))
    sizes = sizes_of(task)

    nothing = noise_by_form(Plan(task, advised(*rows)), sizes)
    some = noise_by_form(Plan(task, advised(*rows), errors={"soft": 0.1}), sizes)

    assert set(nothing.values()) == {TYPICAL_NOISE}
    expected = noise_at("soft", None, 2 * 0.1 * 0.9, sizes=sizes, dimensions=(5,))
    assert some == pytest.approx(dict.fromkeys(some, expected))
    both = noise_by_form(Plan(task, advised(*rows), errors={"soft": 0.1, "hard": 0.0}), sizes)
    assert both["hard"] == 0
    assert both["sparse"] == pytest.approx(expected)  # numbers are as noisy as numbers


def test_answers_without_noise_recover_what_labels_do() -> None:
    forms = [Candidate("hard"), Candidate("soft"), Candidate("sparse", 2)]
    forms.append(Candidate("top-class", 3))
    answered = answers_at(
        forms, items=[20], classes=[6], dimensions=[5], noise=dict.fromkeys(
            ("hard", "soft", "sparse", "top-class"), 0.0), seed=4, advance=quiet,
    )  # fmt: skip
    points = grid_points(
        items=[20], classes=[6], dimensions=[5], seeds=3, kept=[2, 3],
        forms=["hard", "soft", "sparse", "top-class"],
    )  # fmt: skip
    labelled = run_grid([replace(point, seed=point.seed + 4) for point in points])

    key = ["form", "kept", "seed"]
    both = answered.join(labelled.select(*key, right="rho"), on=key, nulls_equal=True)
    assert len(both) == len(answered) == 12
    assert both["rho"].to_numpy() == pytest.approx(both["right"].to_numpy(), abs=0.02)


def test_noise_lowers_what_is_recovered_and_people_raise_it() -> None:
    def rho(noise: float, people: int) -> float:
        found = answers_at(
            [Candidate("soft", None, people)], items=[30], classes=[6], dimensions=[5],
            noise={"soft": noise}, seed=0, advance=quiet,
        )  # fmt: skip
        return float(found["rho"].mean())  # type: ignore[arg-type]

    assert rho(0.0, 1) > rho(1.0, 10) > rho(1.0, 1) + 0.05


def test_sizes_beyond_the_largest_take_its_answers_and_keep_their_number() -> None:
    found = answers_at(
        [Candidate("hard"), Candidate("sparse", 4)], items=[60, 900], classes=[3, 5],
        dimensions=[2, 3], noise={"hard": 0.3, "sparse": 0.3}, seed=1, advance=quiet,
    )  # fmt: skip

    few, many = (found.filter(items=n).drop("items") for n in (60, 900))
    assert few.equals(many)
    assert found.filter(form="sparse")["classes"].unique().to_list() == [5]  # k̂ above k: left out
    assert found["seed"].unique().sort().to_list() == [1, 2, 3, 4]  # two worlds a dimension


@pytest.mark.parametrize(
    ("votes", "says", "kind"),
    [
        (0.95, ": votes are the better buy", "found"),
        (0.36, "neither shown nor ruled out", "not found"),
        (0.04, "votes are not the better buy", "found"),
    ],
)
def test_whether_total_time_favours_votes_is_said(votes: float, says: str, kind: str) -> None:
    rows = [
        alternative("sparse", 2, probability=1 - votes, people=1, rho=0.44, cost=32_400),
        alternative("hard", probability=votes, people=18, rho=0.41, cost=32_400),
    ]
    rows.sort(key=lambda row: -row.probability)

    found = by_total_cost(Plan(Task(1000, 10), advised(*rows)))

    assert found is not None
    assert found.kind == kind
    assert says in found.text
    assert found.text.startswith("32.4 seconds per item pay for 18 people giving votes or 1 person")
    assert "Votes recover ρ 0.41" in found.behind
    assert "Paper 4 cautions that total time may favour votes" in found.behind


def test_total_time_is_not_judged_where_nothing_was_spent_alike() -> None:
    rows = alternative("sparse", 2), alternative("hard")

    assert by_total_cost(Plan(Task(20, 6), advised(*rows, criterion="weight"))) is None
    assert by_total_cost(Plan(Task(20, 6), advised(rows[0], alternative("soft")))) is None


def test_pilots_about_other_items_are_a_caution() -> None:
    rows = alternative("soft"), alternative("hard")
    alike = (piloted("soft", 0.1), piloted("hard", 0.1))
    other = (piloted("soft", 0.1), piloted("hard", 0.1, items=7))

    plain = plan_lead(Plan(Task(20, 6), advised(*rows), alike)).against
    warned = plan_lead(Plan(Task(20, 6), advised(*rows), other)).against

    assert not any("different items" in each for each in plain)
    assert any("4 (soft), 7 (hard), 4 of them shared" in each for each in warned)


def test_people_that_are_enough_are_said_with_their_interval() -> None:
    stop = Enough(5, 4, 6, 0.129, beyond=False)
    advice = replace(advised(alternative("sparse", 2), alternative("hard")), enough=stop)

    assert "From 5 people per item on (95 % interval over the pilot's items 4 to 6)" in (
        enough_people(Plan(Task(20, 6), advice))
    )
    assert "needs a pilot" in enough_people(Plan(Task(20, 6), rule_of_thumb(20, 6)))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plan, Path]]:
    """A plan with a budget and two pilots, drawn once, in few pixels and at few sizes."""
    folder = tmp_path_factory.mktemp("plan") / "mine"
    rows = (
        alternative("soft", people=1, probability=0.6, error=0.05, error_source="measured"),  # type: ignore[arg-type]
        alternative("hard", people=3, probability=0.4),
    )
    pilots = (piloted("soft", 0.1, seconds=15), piloted("hard", 0.05, seconds=5))
    plan = Plan(
        Task(70, 3, dimensions=2), advised(*rows), pilots, errors={"hard": 0.02}, seed=3,
        files={"votes.csv": "ab" * 32},
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as quick:
        quick.setattr(draw, "PNG_DPI", 20)
        quick.setattr(plans, "MOST_ITEMS", 12)
        quick.setattr(plans, "MOST_CLASSES", 6)
        assert write_plan(plan, folder) == folder / "plan.html"
    yield plan, folder


def test_every_figure_is_there_as_picture_and_as_numbers(written: tuple[Plan, Path]) -> None:
    _, folder = written
    found = sorted(path.name for path in (folder / "figures").iterdir())

    assert found == sorted(f"{name}.{end}" for name in NAMES for end in ("svg", "png", "csv"))
    marked = {
        name: pl.read_csv(folder / "figures" / f"{name}.csv")["simulated"][0] for name in NAMES
    }
    assert {name for name in NAMES if not marked[name]} == {"annotators", "information-ratio"}


def test_maps_hold_the_task_itself_and_the_cost_of_all_its_items(
    written: tuple[Plan, Path],
) -> None:
    _, folder = written
    told = pl.read_csv(folder / "figures" / "information-ratio.csv")
    preferred = pl.read_csv(folder / "figures" / "preference.csv")

    assert len(told.filter(x=70, y=3)) == 3
    assert preferred["x"].unique().sort().to_list() == [3, 6, 12, 70]
    least, middle = (
        preferred.filter(pl.col("panel") == panel)
        for panel in preferred["panel"].unique(maintain_order=True)[:2]
    )
    # hard costs 5 seconds and soft 15 with 3 classes, more with more; at a β four times as large
    weights = [float(part["panel"][0].split("= ")[1]) for part in (least, middle)]
    assert weights[1] == pytest.approx(4 * weights[0])
    gap = least["value"].to_numpy() - middle["value"].to_numpy()
    more = 15 * least["y"].to_numpy() / 3 - 5
    assert gap == pytest.approx(more * least["x"].to_numpy() * (weights[1] - weights[0]))


def test_assumed_price_of_soft_answers_grows_with_the_classes_of_a_cell() -> None:
    plan = Plan(Task(6, 4), rule_of_thumb(60, 4))
    pairs = answers_at(
        [Candidate("hard"), Candidate("soft")], items=[6], classes=[4, 8], dimensions=[3],
        noise={"hard": 0.0, "soft": 0.0}, seed=0, advance=quiet,
    )  # fmt: skip

    drawn = [
        draw_preference(plan, pairs, [beta], answer_costs(plan), 1).table.filter(
            pl.col("panel").str.starts_with("linear")
        )
        for beta in (0.0, 1.0)
    ]

    assert drawn[0]["y"].to_list() == [4, 8]
    saved = drawn[1]["value"].to_numpy() - drawn[0]["value"].to_numpy()
    assert saved == pytest.approx([6 * (4 - 1), 6 * (8 - 1)])  # n(k - 1) labels, S1-31


def test_middle_weight_is_where_both_forms_are_equally_good(written: tuple[Plan, Path]) -> None:
    _, folder = written
    preferred = pl.read_csv(folder / "figures" / "preference.csv")
    panels = preferred["panel"].unique(maintain_order=True).to_list()

    assert [panel.split(",")[0] for panel in panels] == (
        ["linear"] * 3 + ["sigmoid"] * 3 + ["inverse-sigmoid"] * 3
    )
    own = preferred.filter(pl.col("panel") == panels[1], pl.col("x") == 70, pl.col("y") == 3)
    assert own["value"].to_list() == pytest.approx([0.0], abs=0.02)


def test_json_of_the_folder_is_what_is_printed_with_settings_seed_and_versions(
    written: tuple[Plan, Path],
) -> None:
    plan, folder = written

    found = json.loads((folder / "plan.json").read_text(encoding="utf-8"))

    printed = json.loads(json.dumps(plan_json(plan.task, plan.advice)))
    assert {name: found[name] for name in printed} == printed
    assert found["seed"] == 3
    assert set(found["versions"]) >= {"python", "sfumato", "numpy"}
    assert found["settings"]["items"] == 70
    assert found["settings"]["errors"] == {"hard": 0.02}
    assert found["settings"]["files"] == {"votes.csv": "ab" * 32}
    assert (
        found["settings"]["pilots"][0] | {"form": "soft", "cost": 15.0, "by": "agreement"}
        == (found["settings"]["pilots"][0])
    )


def test_page_needs_nothing_else_and_says_what_it_rests_on(written: tuple[Plan, Path]) -> None:
    _, folder = written

    page = (folder / "plan.html").read_text(encoding="utf-8")

    assert "src=" not in page
    assert "Collect soft answers, 1 person per item, but it is not clear-cut" in page
    assert "The framed cross is the task." in page
    assert "12 simulated items stand for the task&#39;s 70." in page
    assert "as noisy as the errors of hard and soft answers say" in page
    assert "Paper 4 cautions" in page
    assert page.index("not clear-cut") < page.index('class="chart"') < page.index("Alternatives")


def test_second_plan_removes_the_figures_of_the_first_and_nothing_else(tmp_path: Path) -> None:
    for name in ("equal-spending.png", "annotators.csv", "mine.png"):
        (tmp_path / name).write_bytes(b"")

    remove_figures(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["mine.png"]


def test_plan_with_nothing_weighed_says_so_first() -> None:
    lead = plan_lead(Plan(Task(40, 3), rule_of_thumb(40, 3)))

    assert lead.answer == "Collect hard answers: by rule of thumb, with nothing weighed."
    assert lead.against[0].startswith("Nothing was weighed")
    assert lead.figure is not None
    assert {bar.label for bar in lead.figure.bars if bar.strong} == {"hard"}


def test_picture_of_a_plan_holds_the_probabilities_of_the_sentence() -> None:
    rows = alternative("soft", probability=0.7), alternative("hard", probability=0.2)

    lead = plan_lead(Plan(Task(20, 6), advised(*rows)))

    assert lead.question == "Which labels should be collected for 20 items of 6 classes?"
    assert lead.figure is not None
    assert [(bar.label, bar.value) for bar in lead.figure.bars] == [("soft", 0.7), ("hard", 0.2)]


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan"
    path.write_text("", encoding="utf-8")

    with pytest.raises(DataError, match="plan is a file; give a folder"):
        plan_folder(path)
    with pytest.raises(DataError, match="cannot be made: Not a directory"):
        plan_folder(path / "below")
