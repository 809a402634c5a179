from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.evaluation.metrics import by_class
from sfumato.evaluation.models import Evaluation, evaluate
from sfumato.labels.labelset import LabelSet
from sfumato.reporting.evaluation import (
    PLOTS,
    evaluation_page,
    plot_evaluation,
    report_evaluation,
    worst_items,
)
from sfumato.reporting.page import Table, render
from sfumato.reporting.text import number, said
from sfumato.scores import Estimates


@pytest.fixture(scope="module")
def found() -> Evaluation:
    rng = np.random.default_rng(0)
    items = tuple(f"i{place}" for place in range(40))
    probs = rng.dirichlet(np.full(3, 0.5), 40)
    votes = np.stack([rng.multinomial(4, row) for row in probs]) / 4
    human = LabelSet(items, ("cat", "dog", "none"), votes)
    near = LabelSet(items, ("cat", "dog", "none"), 0.9 * probs + 0.1 / 3)
    far = LabelSet(items, ("cat", "dog", "none"), np.full((40, 3), 1 / 3))
    return evaluate(human, {"near": near, "far": far}, draws=20)


@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_is_drawn_and_shown_in_a_notebook(found: Evaluation, name: str) -> None:
    drawing = plot_evaluation(found, name)

    assert "<svg" in drawing._repr_svg_()
    assert drawing.table.height


def test_unknown_plot_gets_the_nearest(found: Evaluation) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'reliability'"):
        plot_evaluation(found, "reliablity")


def test_table_alone_draws_scores_and_says_what_it_lacks(found: Evaluation) -> None:
    bare = Estimates(found.table)

    assert plot_evaluation(bare, "leaderboard").table.height
    assert plot_evaluation(bare, "strata").table.height
    with pytest.raises(DataError, match="A reliability diagram needs the labels and the predic"):
        plot_evaluation(bare, "reliability")


def test_page_has_every_part_and_every_metric(found: Evaluation, tmp_path: Path) -> None:
    path = report_evaluation(found, tmp_path / "r.html", text={"i3": "a <b>text</b>"})

    text = path.read_text()
    for title in (
        "Leaderboard",
        "Scores",
        "Is the confidence earned?",
        "By stratum",
        "By class",
        "Worst items",
    ):
        assert f"<h3>{title}</h3>" in text
    for metric in dict.fromkeys(found.table["metric"]):
        assert metric in text
    assert "<b>text" not in text
    assert 'href="figures/' not in text
    assert "near is closest to people: its cross-entropy is" in text


def test_single_model_needs_no_leaderboard(found: Evaluation) -> None:
    one = evaluate(found.labels, {"near": found.models["near"]}, metrics=["kl", "ece"], draws=5)

    page = evaluation_page(one)

    assert [section.title for section in page.sections] == [
        "Worst items",
        "Is the confidence earned?",
        "By stratum",
        "By class",
        "Scores",
    ]
    (table,) = page.sections[3].blocks
    assert isinstance(table, Table)
    scored = by_class(one.labels, one.models["near"])
    assert table.table["items"].to_list() == scored["items"].to_list()
    assert table.table["near, accuracy"].to_list() == [
        "" if value is None else number(value) for value in scored["accuracy"]
    ]
    assert page.lead is not None
    assert page.lead.question == "How close to people is near?"
    assert "ece" in render(page)


def test_number_in_the_answer_is_the_estimate(found: Evaluation) -> None:
    page = evaluation_page(found)

    behind = found.places[1].behind
    assert page.lead is not None
    assert behind is not None
    assert f"{said(behind.value, 'cross_entropy')} lower than that of the next, far" in (
        page.lead.answer
    )
    assert page.lead.figure is not None
    assert [bar.value for bar in page.lead.figure.bars][:2] == [
        place.cross_entropy.value for place in found.places
    ]


def test_several_models_without_an_order_are_shown_side_by_side(found: Evaluation) -> None:
    page = evaluation_page(evaluate(found.labels, found.models, metrics=["brier"], draws=5))

    assert page.lead is not None
    assert page.lead.question == "How close are they to people?"
    assert page.lead.figure is not None
    assert [bar.label for bar in page.lead.figure.bars] == ["near", "far"]


def test_treatment_of_classes_stands_at_the_top(found: Evaluation) -> None:
    probs = found.models["near"].probs[:, :2]
    model = LabelSet(found.labels.items, ("cat", "dog"), probs / probs.sum(axis=1, keepdims=True))

    page = evaluation_page(evaluate(found.labels, model, metrics=["kl"], draws=5))

    assert page.lead is not None
    assert any("Only the labels have the class 'none'" in line for line in page.lead.against)


def test_worst_items_are_the_farthest(found: Evaluation) -> None:
    worst = worst_items(found, 40)["distance"].to_list()

    assert worst == sorted(worst, reverse=True)
