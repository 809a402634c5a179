"""Sets of texts are read whole, and their published labels follow from people's answers."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.data import load_set, load_texts
from sfumato.errors import DataError
from sfumato.evaluation.metrics import cross_entropy
from sfumato.items.load import load_items
from sfumato.judgments.formats import read
from sfumato.labels.build import build
from sfumato.labels.labelset import align
from sfumato.labels.verbs import label

ROUNDING = {
    ("lewidi-2023", "HS-Brexit"): 0.005,
    ("lewidi-2023", "ArMIS"): 0.005,
    ("lewidi-2023", "ConvAbuse"): 0.0005,
    ("lewidi-2025", "Paraphrase"): 1e-12,
    ("chaosnli", None): 1e-12,
}
"""Half of the last published decimal."""


@pytest.mark.parametrize(("name", "part"), ROUNDING)
def test_published_labels_follow_from_the_answers(
    name: str, part: str | None, data_folder: Path
) -> None:
    found = load_texts(name, part, data_folder)
    assert found.labels is not None

    human, ours = align(found.labels, build(found.judgments, "votes").crowd.mean())

    assert human.values == ours.values == found.judgments.question.values
    assert np.abs(human.probs - ours.probs).max() <= ROUNDING[name, part]


def test_published_shares_of_variation_are_those_who_found_a_class_right(data_folder: Path) -> None:
    folder = data_folder / "lewidi" / "2025" / "VariErrNLI"
    found = load_texts("lewidi-2025", "VariErrNLI", data_folder)
    sets: dict[str, list[set[str]]] = {}
    for item, answer in found.judgments.table.select("item", "answer").iter_rows():
        sets.setdefault(item, []).append(set(json.loads(answer)))

    assert found.judgments.question.kind == "multi-label"
    ours, published = label(found.judgments, "per-class"), found.labels_by_class
    assert published is not None
    both = ours.take(published.items, published.classes)
    assert np.abs(both.probs - published.probs).max() <= 0.005

    checked = 0
    for split in ("train", "dev", "test"):
        records = json.loads((folder / f"VariErrNLI_{split}.json").read_text(encoding="utf-8"))
        for number, record in records.items():
            said = sets[f"{split}-{number}"]
            for name, shares in record["soft_label"].items():
                share = sum(name in one for one in said) / len(said)
                assert shares["1"] == pytest.approx(share, abs=0.005)
                assert shares["0"] == pytest.approx(1 - share, abs=0.005)
                checked += 1
    assert checked == 3 * 488


@pytest.mark.parametrize(
    ("name", "part", "texts", "answers", "people"),
    [
        ("lewidi-2023", "HS-Brexit", 1_120, 6_720, 6),
        ("lewidi-2023", "ConvAbuse", 4_050, 12_168, 8),
        ("lewidi-2025", "VariErrNLI", 488, 1_816, 4),
        ("chaosnli", None, 3_113, 311_300, 0),
        ("dices", "crowdsourced", 350, 43_050, 0),
        ("varierr", None, 500, 1_856, 4),
        ("judges", "cebab_aspects", 1_008, 4_032, 10),
        ("judges", "mtbench", None, 246, 3),
        ("aggrecat", "round_2", None, 625, 25),
    ],
)
def test_everything_is_read(
    name: str, part: str | None, texts: int | None, answers: int, people: int, data_folder: Path
) -> None:
    found = load_texts(name, part, data_folder)

    assert len(found.judgments) == answers and not found.judgments.rejected
    assert len(found.judgments.annotators) == people
    assert (None if found.items is None else len(found.items)) == texts
    assert found.licence and found.source
    if found.items is not None:
        assert set(found.judgments.table["item"]) == set(found.items.ids)
        assert load_items(found) is found.items


def test_conversations_keep_who_said_what(data_folder: Path) -> None:
    found = load_texts("lewidi-2023", "ConvAbuse", data_folder)

    assert found.items is not None
    assert found.items.columns == ("prev_agent", "prev_user", "agent", "user")
    assert found.items["train-1"]["user"] == "yes"


def test_stored_predictions_name_the_class_that_their_file_calls_true(data_folder: Path) -> None:
    """RoBERTa names the majority's class far more often than chance: the order is right."""
    found = load_texts("chaosnli", None, data_folder)
    assert found.labels is not None
    shared = {model: beliefs.items for model, beliefs in found.predictions.items()}

    right = {}
    for model, items in shared.items():
        human, belief = align(found.labels.take(items), found.predictions[model])
        right[model] = (human.probs.argmax(1) == belief.probs.argmax(1)).mean()
        assert np.isfinite(cross_entropy(human, belief)).all()

    assert {model: len(items) for model, items in shared.items()} == {
        "roberta-base": 3_083,
        "bert-base-uncased": 1_514,
    }
    assert min(right.values()) > 0.55


def test_outcomes_and_former_labels_are_kept(data_folder: Path) -> None:
    claims = load_texts("aggrecat", "round_1", data_folder)
    pairs = load_texts("chaosnli", None, data_folder)

    assert claims.original is not None and len(claims.original) == 25
    assert pairs.original is not None and pairs.original.classes == pairs.judgments.question.classes


def test_ratings_know_their_scale_and_reasons_stand_beside_answers(data_folder: Path) -> None:
    pairs = load_texts("lewidi-2025", "Paraphrase", data_folder).judgments
    stars = load_texts("judges", "cebab_stars", data_folder).judgments

    assert pairs.question.values == tuple(range(-5, 6))
    assert stars.question.values == (1, 2, 3, 4, 5)
    assert pairs.table["note"].null_count() < 20


def test_experts_say_how_sure_they_are(data_folder: Path) -> None:
    """Plain means of best guesses (ArMean) and of PERT means; both beat a coin in round 2."""
    claims = load_texts("aggrecat", "round_2", data_folder)
    assert claims.original is not None
    raw = pl.read_csv(data_folder / "aggrecat" / "ratings.csv").filter(
        round="round_2", element="three_point_best"
    )
    expected = raw.group_by(pl.col("paper_id").cast(pl.String)).agg(pl.col("value").mean() / 100)
    plain = dict(expected.iter_rows())

    best = label(claims.judgments, "best-guess")
    pert = label(claims.judgments)

    assert {item: one["replicates"] for item, one in best} == pytest.approx(plain)
    happened = claims.original.take(best.items).probs[:, 0]
    for labels in (best, pert):
        assert ((labels.probs[:, 0] - happened) ** 2).mean() < 0.25
        assert ((labels.probs[:, 0] > 0.5) == happened).mean() > 0.6


def test_several_parts_must_be_told_apart_and_pictures_are_no_texts(data_folder: Path) -> None:
    with pytest.raises(DataError, match="name one of HS-Brexit, ArMIS, ConvAbuse"):
        load_set("lewidi-2023", folder=data_folder)
    with pytest.raises(DataError, match="digits holds no texts"):
        load_texts("digits")
    with pytest.raises(DataError, match="chaosnli holds no images; leave `severity` out"):
        load_set("chaosnli", severity=3)


def test_metadata_that_are_no_json_are_refused_with_the_line(data_folder: Path) -> None:
    meta = data_folder / "lewidi" / "2025" / "Paraphrase" / "Paraphrase_annotators_meta.json"

    with pytest.raises(DataError, match=r"Paraphrase_annotators_meta\.json, line 7: not JSON"):
        read(meta)
