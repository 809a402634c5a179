"""The surprisingly popular answer, and the middle of a scale."""

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.aggregate import aggregate
from sfumato.labels.labelset import CrowdLabels
from sfumato.labels.verbs import label


def judged(rows: Sequence[tuple[str, str, str, object]], classes: list[str]) -> Judgments:
    table = pl.DataFrame(
        [
            {"item": item, "annotator": who, "answer": json.dumps({"own": own, "others": others})}
            for item, who, own, others in rows
        ]
    )
    return Judgments(ask("own-and-others", classes), table)


def test_philadelphia_is_not_the_capital() -> None:
    """Most say yes and expect everybody to; those who know expect others to be wrong."""
    yes = [("a", f"y{n}", "yes", {"yes": 90, "no": 10}) for n in range(6)]
    no = [("a", f"n{n}", "no", {"yes": 80, "no": 20}) for n in range(4)]
    answers = judged([*yes, *no], ["yes", "no"])

    assert label(answers, aggregate="majority")["a"].top == "yes"
    assert label(answers, aggregate="surprisingly-popular")["a"].top == "no"
    assert label(answers, "predicted-others")["a"]["yes"] == pytest.approx(0.86)


def test_without_predictions_it_is_refused() -> None:
    crowd = CrowdLabels(("a",), ("p",), ("x", "y"), [0], [0], said=[0])
    with pytest.raises(DataError, match="expect others to say"):
        aggregate(crowd, "surprisingly-popular", rng=np.random.default_rng(0))


def test_real_votes_gain_by_surprise_where_the_majority_is_misled(data_folder: Path) -> None:
    """Which of two comes first, and what others will say of it (Hosseini and others, 2021).

    In the third domain the majority is below chance and the surprisingly popular answer above; in
    all three together it is not better, as votes are predicted there and not shares.
    """
    table = pl.read_csv(data_folder / "sp_voting" / "question_responses.csv").filter(treatment=6)
    rows = []
    for domain, question, who, options, response in table.select(
        "domain", "question", "workerId", "options", "response"
    ).iter_rows():
        own, others = json.loads(response)
        for one, two in combinations(json.loads(options), 2):  # the options stand in true order
            mine, theirs = (
                "first" if said.index(one) < said.index(two) else "second" for said in (own, others)
            )
            rows.append((f"{domain}: {question} {one} {two}", str(who), mine, theirs))
    answers = judged(rows, ["first", "second"])

    right = {}
    for name in ("majority", "surprisingly-popular"):
        labels = label(answers, aggregate=name)
        hard = [one["first"] for item, one in labels if item.startswith("3:")]
        right[name] = float(np.mean(hard)), float(labels.probs[:, 0].mean())

    assert len(answers.table["item"].unique()) == 360
    assert right["majority"] == pytest.approx((0.408, 0.569), abs=0.001)
    assert right["surprisingly-popular"] == pytest.approx((0.521, 0.536), abs=0.001)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.permutations(range(5)))
def test_the_median_is_that_of_numpy(said: list[int], order: list[int]) -> None:
    values = np.array([1.0, 2, 4, 8, 16])[order]
    people = [str(n) for n in range(len(said))]
    where = [0] * len(said), list(range(len(said)))
    scale = values.tolist()
    crowd = CrowdLabels(("a",), people, "abcde", *where, said=said, values=scale)

    found = aggregate(crowd, "median", rng=np.random.default_rng(0)).labels

    assert found.means()[0] == pytest.approx(np.median(values[said]))
    bare = CrowdLabels(("a",), people, "abcde", *where, said=said)
    with pytest.raises(DataError, match="in which order"):
        aggregate(bare, "median", rng=np.random.default_rng(0))
