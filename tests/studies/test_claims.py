import csv
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.reporting.text import Kind
from sfumato.studies.claims import (
    COLUMNS,
    FEW_ITEMS,
    KINDS,
    VERDICTS,
    Claim,
    Claimed,
    JudgedClaim,
    Verdict,
    counts_text,
    judge,
    judge_ratio,
    judge_side,
    judge_within,
    overall,
    ratio_text,
    read_claims,
)

CELLS = {
    "id": "few-01",
    "study": "few; other",
    "paper": "paper 4",
    "place": "table 3",
    "sentence": "Cross-entropy is lower with soft labels.",
    "metric": "cross_entropy",
    "arm": "soft",
    "second": "hard",
    "against": "people",
    "stratum": "all",
    "kind": "claim",
    "claimed": "lower",
}
ESTIMATE = {
    **{name: CELLS[name] for name in ("metric", "arm", "second", "against", "stratum")},
    "study": "few",
    "network": "lenet",
    "value": -0.2,
    "low": -0.3,
    "high": -0.1,
}
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("study", "arm", "second", "network", "part", "against"), pl.String),
    **dict.fromkeys(("stratum", "attack", "metric", "over"), pl.String),
    **dict.fromkeys(("bound", "value", "low", "high"), pl.Float64),
    **dict.fromkeys(("step", "items"), pl.Int64),
}


def written(folder: Path, *rows: dict[str, str], columns: tuple[str, ...] = COLUMNS) -> Path:
    with (folder / "own.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return folder


def claim(folder: Path, **cells: str) -> Claim:
    return read_claims("few", written(folder, CELLS | cells))[0]


def estimates(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([ESTIMATE | row for row in rows], schema=SCHEMA, orient="row")


def judged(claim: Claim, *rows: dict[str, Any]) -> JudgedClaim:
    return judge([claim], estimates(*rows))[0]


def test_claims_are_those_of_the_study(tmp_path: Path) -> None:
    other = CELLS | {"id": "few-02", "study": "another"}
    folder = written(tmp_path, CELLS, other)

    assert [one.id for one in read_claims("few", folder)] == ["few-01"]
    assert [one.id for one in read_claims("other", folder)] == ["few-01"]
    assert [one.id for one in read_claims("another", folder)] == ["few-02"]


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"claimed": "lowr"}, r"own\.csv, row 2 has 'lowr' as claimed; it must be one of 'lower'"),
        ({"kind": "guess"}, r"'guess' as kind; it must be one of 'claim', 'control'"),
        ({"attack": "noise", "bound": "4"}, r"'noise' as attack; it must be one of 'fgsm', 'pgd'"),
        ({"attack": "fgsm"}, r"row 2 needs both an attack and its bound"),
        ({"bound": "four", "attack": "fgsm"}, r"'four' as bound, which is no number"),
        ({"metric": ""}, r"needs both a metric and what is claimed of it"),
        ({"metric": "", "claimed": ""}, r"its note must say why nothing can test it"),
        ({"claimed": "within"}, r"claims 'within', but its effect does not say of what"),
        ({"sentence": ""}, r"row 2 has no sentence"),
    ],
)
def test_wrong_cell_is_named(tmp_path: Path, cells: dict[str, str], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        claim(tmp_path, **cells)


def test_unknown_column_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path, CELLS, columns=(*COLUMNS, "margin"))

    with pytest.raises(DataError, match=r"own\.csv is no file of claims: .* differ in margin\."):
        read_claims("few", folder)


def test_id_is_given_once(tmp_path: Path) -> None:
    folder = written(tmp_path, CELLS, CELLS)

    with pytest.raises(DataError, match=r"own\.csv has a second claim with the id 'few-01'"):
        read_claims("few", folder)


@pytest.mark.parametrize(
    ("claimed", "effect"),
    [("lower", ""), ("higher", ""), ("below", "-0.05"), ("within", "0.4"), ("no difference", "")],
)
def test_difference_is_found_whichever_way_it_is_kept(
    tmp_path: Path, claimed: str, effect: str
) -> None:
    stated = claim(tmp_path, claimed=claimed, effect=effect)
    other_way = {"arm": "hard", "second": "soft", "value": 0.2, "low": 0.1, "high": 0.3}

    one = judged(stated, {}, {"network": "cnn-3"})
    mixed = judged(stated, {}, {"network": "cnn-3"} | other_way, other_way)  # lenet both ways

    assert mixed.verdict == one.verdict
    assert mixed.found == one.found


def test_number_of_two_arms_that_is_no_difference_is_not_turned(tmp_path: Path) -> None:
    ratio = {"metric": "cross_entropy_ratio"}

    one = judged(claim(tmp_path, **ratio), ratio | {"arm": "hard", "second": "soft"})

    assert (one.found, one.verdict) == ((), "not testable here")


def test_weakest_network_decides(tmp_path: Path) -> None:
    one = judged(claim(tmp_path), {}, {"network": "cnn-3", "high": 0.1})

    assert one.verdict == "undecided"
    assert one.mixed == {"reproduced": 1, "undecided": 1}
    assert [(each.network, each.verdict) for each in one.found] == [
        ("lenet", "reproduced"),
        ("cnn-3", "undecided"),
    ]


def test_clean_images_are_not_attacked_ones(tmp_path: Path) -> None:
    attacked = {"attack": "pgd", "bound": 4.0, "step": 9, "value": 0.2, "low": 0.1, "high": 0.3}
    rows: list[dict[str, Any]] = [{}, attacked, attacked | {"step": 8}, attacked | {"bound": 8.0}]

    clean = judged(claim(tmp_path), *rows)
    spoilt = judged(claim(tmp_path, attack="pgd", bound="4", step="9"), *rows)

    assert (clean.verdict, len(clean.found)) == ("reproduced", 1)
    assert (spoilt.verdict, len(spoilt.found)) == ("contradicted", 1)


def test_score_of_an_arm_is_no_difference(tmp_path: Path) -> None:
    one = judged(
        claim(tmp_path, second="", claimed="above", effect="0.5"),
        {},
        {"second": None, "value": 0.9},
    )

    assert [each.value for each in one.found] == [0.9]


def test_named_part_decides_and_others_stand_beside_it(tmp_path: Path) -> None:
    one = judged(
        claim(tmp_path, part="thesis"),
        {"part": "thesis"},
        {"part": "later", "high": 0.1},
        {"part": "all"},
    )

    assert one.verdict == "reproduced"
    assert [each.decides for each in one.found] == [True, False, False]
    assert one.elsewhere == {"later": "undecided"}


def test_all_parts_together_decide_only_where_they_are_alone(tmp_path: Path) -> None:
    pooled = {"part": "all", "value": 0.2, "low": 0.1, "high": 0.3}

    beside = judged(claim(tmp_path), {"part": "5"}, {"part": "25"}, pooled)
    alone = judged(claim(tmp_path), pooled)

    assert (beside.verdict, beside.elsewhere) == ("reproduced", {"all": "contradicted"})
    assert alone.verdict == "contradicted"


def test_empty_stratum_asks_every_one(tmp_path: Path) -> None:
    rows = ({"stratum": "0.1"}, {"stratum": "0.9", "value": 0.2, "low": 0.1, "high": 0.3})

    assert judged(claim(tmp_path, stratum=""), *rows).verdict == "contradicted"
    assert judged(claim(tmp_path, stratum="0.1"), *rows).verdict == "reproduced"


def test_interval_over_seeds_of_few_items_decides_nothing(tmp_path: Path) -> None:
    few = {"over": "seeds", "items": FEW_ITEMS - 1}

    assert judged(claim(tmp_path), few).verdict == "not testable here"
    assert judged(claim(tmp_path), few | {"over": "items"}).verdict == "reproduced"
    assert judged(claim(tmp_path), few | {"items": FEW_ITEMS}).verdict == "reproduced"


def test_nothing_found_is_not_testable(tmp_path: Path) -> None:
    assert judged(claim(tmp_path), {"metric": "kl"}).verdict == "not testable here"
    untested = claim(tmp_path, metric="", claimed="", note="The data were never published.")
    assert judged(untested, {}) == JudgedClaim(untested, (), "not testable here")


@pytest.mark.parametrize(
    ("claimed", "effect", "verdict"),
    [
        ("lower", "", "reproduced"),
        ("higher", "", "contradicted"),
        ("higher", "0.5", "reproduced"),  # no loss: -0.3 rules out one of 0.5
        ("higher", "0.15", "undecided"),
        ("higher", "0.05", "contradicted"),
        ("below", "-0.35", "contradicted"),
        ("below", "-0.15", "undecided"),
        ("below", "-0.05", "reproduced"),
        ("above", "-0.4", "reproduced"),
        ("within", "0.3", "reproduced"),
        ("within", "0.25", "undecided"),
        ("within", "0.05", "contradicted"),
        ("equal", "-0.11", "reproduced"),
        ("equal", "0", "contradicted"),
        ("no difference", "", "contradicted"),
        ("shown", "", "not testable here"),
    ],
)
def test_rule(tmp_path: Path, claimed: str, effect: str, verdict: str) -> None:
    """Of an estimate of -0.2 with an interval from -0.3 to -0.1."""
    assert judged(claim(tmp_path, claimed=claimed, effect=effect), {}).verdict == verdict


def test_interval_that_holds_zero_does_not_show_that_there_is_no_difference(
    tmp_path: Path,
) -> None:
    none = claim(tmp_path, claimed="no difference")

    assert judged(none, {"high": 0.1}).verdict == "undecided"
    assert judged(none, {"low": None, "high": None}).verdict == "undecided"
    assert judged(none, {"low": math.nan, "high": math.nan}).verdict == "undecided"


def test_control_is_answered_and_not_reproduced(tmp_path: Path) -> None:
    assert judged(claim(tmp_path, kind="control"), {}).answer == "yes"
    assert judged(claim(tmp_path), {}).answer == "reproduced"


def test_row_has_all_columns_of_the_claim(tmp_path: Path) -> None:
    row = judged(claim(tmp_path), {}).row()

    assert set(row) == {*COLUMNS, "found", "verdict"}
    assert (row["study"], row["verdict"]) == ("few; other", "reproduced")
    assert row["found"][0]["low"] == -0.3


def test_estimates_of_two_studies_or_without_a_column_are_refused(tmp_path: Path) -> None:
    table = estimates({}, {"study": "other"})

    with pytest.raises(DataError, match=r"study by study; these estimates are of few, other\."):
        judge([claim(tmp_path)], table)
    with pytest.raises(DataError, match=r"no column attack, bound\."):
        judge([claim(tmp_path)], table.drop("attack", "bound"))


numbers = st.integers(-64, 64).map(lambda n: n / 64)  # sums of such are exact
estimate_pairs = st.tuples(numbers, numbers, numbers).map(sorted)
directions = st.sampled_from(["lower", "higher"])
PRINTED = {"printed_effect": "-0.4", "yardstick": "hard", "printed_yardstick": "2.2"}
FLOOR = {"metric": "entropy_floor", "arm": None, "second": None, "network": None, "value": 0.2}


def hard(level: float) -> dict[str, Any]:
    return {"arm": "hard", "second": None, "value": level, "low": None, "high": None}


def test_effect_is_judged_as_a_share_of_what_the_hard_arm_loses_above_the_floor(
    tmp_path: Path,
) -> None:
    stated = claim(tmp_path, **PRINTED)

    one = judged(stated, {}, hard(1.2), FLOOR)

    # ours -0.2 of 1.2 - 0.2, printed -0.4 of 2.2 - 0.2: the same share
    assert one.found[0].ratio == pytest.approx((1.0, 0.5, 1.5))
    assert (one.verdict, ratio_text(one.deciding)) == ("reproduced", "1.000 [0.500, 1.500]")


def test_plain_ratio_where_nothing_measures_the_regime(tmp_path: Path) -> None:
    one = judged(claim(tmp_path, printed_effect="-0.8"), {})

    assert one.found[0].ratio == pytest.approx((0.25, 0.125, 0.375))
    assert one.verdict == "smaller"


def test_accuracy_is_measured_by_its_errors(tmp_path: Path) -> None:
    stated = claim(
        tmp_path,
        metric="accuracy",
        claimed="higher",
        printed_effect="0.1",
        yardstick="hard",
        printed_yardstick="0.8",
    )
    gain = {"metric": "accuracy", "value": 0.2, "low": 0.1, "high": 0.3}

    one = judged(stated, gain, hard(0.6) | {"metric": "accuracy"})

    assert one.found[0].ratio == pytest.approx((1.0, 0.5, 1.5))


def test_hard_arm_that_is_hardly_too_sure_leaves_nothing_to_test(tmp_path: Path) -> None:
    stated = claim(tmp_path, **PRINTED)

    assert judged(stated, {}, hard(1.19), FLOOR).verdict == "not testable at this size"
    assert judged(stated, {}, hard(1.21), FLOOR).verdict == "reproduced"


@given(st.tuples(numbers, numbers).map(sorted))
def test_ratio_is_in_one_of_five_places(ends: list[float]) -> None:
    low, high = ends

    expected = (
        ("reproduced" if high >= 0.5 else "smaller")
        if low > 0
        else "contradicted"
        if high < 0
        else "absent"
        if high < 0.25
        else "undecided"
    )
    assert judge_ratio(low, high) == expected


@given(estimate_pairs, directions)
def test_side_needs_an_interval_that_excludes_zero(ends: list[float], claimed: Claimed) -> None:
    low, _, high = ends
    above, below = (low > 0, high < 0) if claimed == "higher" else (high < 0, low > 0)

    verdict = judge_side(low, high, claimed)

    assert verdict == ("reproduced" if above else "contradicted" if below else "undecided")


@given(estimate_pairs, directions)
def test_mirrored_numbers_say_the_same_of_the_mirrored_claim(
    ends: list[float], claimed: Claimed
) -> None:
    low, _, high = ends
    other: Claimed = "lower" if claimed == "higher" else "higher"

    assert judge_side(low, high, claimed) == judge_side(-high, -low, other)


@given(estimate_pairs, directions, st.sampled_from([1 / 64, 0.25, 1.0]))
def test_margin_moves_where_a_loss_begins(
    ends: list[float], claimed: Claimed, margin: float
) -> None:
    low, _, high = ends
    shift = margin if claimed == "higher" else -margin

    spared = judge_side(low, high, claimed, margin=margin)

    assert spared == judge_side(low + shift, high + shift, claimed)


@given(estimate_pairs, numbers.map(abs))
def test_within_is_decided_by_the_whole_interval(ends: list[float], margin: float) -> None:
    low, _, high = ends

    verdict = judge_within(low, high, margin)

    inside = max(abs(low), abs(high)) <= margin
    apart = low > margin or high < -margin
    assert verdict == ("reproduced" if inside else "contradicted" if apart else "undecided")


def test_estimate_without_an_interval_decides_nothing() -> None:
    for low, high in ((None, None), (math.nan, math.nan), (0.1, None)):
        assert judge_side(low, high, "higher", margin=0.5) == "undecided"
        assert judge_within(low, high, 0.2) == judge_ratio(low, high) == "undecided"


def test_no_number_is_not_testable(tmp_path: Path) -> None:
    assert judged(claim(tmp_path), {"value": None}).verdict == "not testable here"


@given(st.lists(st.sampled_from(VERDICTS)))
def test_overall_is_the_weakest_that_could_be_tested(verdicts: list[Verdict]) -> None:
    order = ["contradicted", "absent", "undecided", "smaller", "reproduced"]
    order += ["not testable at this size", "not testable here"]

    found = overall(verdicts)

    assert order.index(found) == min([*map(order.index, verdicts), len(order) - 1])


def test_counts_name_every_verdict_and_what_chance_would_give() -> None:
    assert counts_text(["contradicted", "reproduced", "reproduced"]) == (
        "3 claims: 2 reproduced, 1 contradicted."
    )
    assert "about 8 of 331 would be called" in counts_text(["undecided"] * 331)
    marks: dict[Verdict, Kind] = KINDS
    assert list(marks) == list(VERDICTS)
