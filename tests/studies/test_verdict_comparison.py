"""Every stored verdict comes out again when the rows of the CSV are judged by the stored numbers.

``docs/results/*.json`` hold what each study found about each claim. Here their numbers are turned
back into a table of estimates, and ``judge`` must find the same verdicts in it: those in the files
are only compared with, never read by the rule.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy.stats import binomtest

from sfumato.studies.claims import CONTROL_ANSWERS, Claim, JudgedClaim, judge, read_claims

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAGES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")
}
NOT_ON_A_PAGE = ("digits-audit", "digits-audit-synthetic")
"""Their data cannot be had; they are held against the same claims as fashion-h."""

SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("study", "arm", "second", "network", "part", "against"), pl.String),
    "stratum": pl.String,
    "attack": pl.String,
    "bound": pl.Float64,
    "step": pl.Int64,
    "metric": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "over": pl.String,
    "items": pl.Int64,
}

PARTS = {
    "thesis's 810 mixes": "thesis",
    "1,260 later mixes": "later",
    "whole release": "all",
    "d = 5": "5",
    "d = 25": "25",
    "d = 125": "125",
    "all d": "all",
}
"""What the pages call a part, to its name in a table of estimates."""
KEY = ("metric", "arm", "against", "stratum", "attack", "bound", "step")
"""The columns that tell the scores of a network apart."""
TITLES = {part: title for title, part in PARTS.items() if not title.endswith("d")}

Row = dict[str, Any]
Stored = dict[str, Any]


def number(text: str) -> float:
    return float(text.replace(",", ""))


def split_stratum(stratum: str) -> Row:
    """Pages pack attacks into the stratum: "fgsm/4", "pgd/4/9". All other strata stay."""
    kind, *rest = stratum.split("/")
    if kind not in ("fgsm", "pgd"):
        return {"stratum": stratum}
    step = int(rest[1]) if len(rest) > 1 else None
    return {"stratum": "all", "attack": kind, "bound": float(rest[0]), "step": step}


def score_rows(page: Stored) -> list[Row]:
    """The scores of single arms, where the page has them in this form."""
    names = ("arm", "network", "against", "metric", "value", "low", "high", "items")
    return [
        {**{name: score[name] for name in names}, **split_stratum(score["stratum"])}
        for score in page["scores"]
        if "arm" in score
    ]


def key_of(claim: Claim) -> Row:
    names = ("metric", "arm", "second", "against", "stratum", "attack", "bound", "step")
    return {name: getattr(claim, name) for name in names}


def as_stored(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
    """The stored numbers as they are: a difference, with the items that it is over."""
    items = {
        (row["network"], row["stratum"]): row["items"]
        for row in score_rows(page)
        if (row["arm"], row["against"], row["metric"])
        == (claim.arm, claim.against or "people", claim.metric)
    }
    for one in stored["found"]:
        where = one["where"]
        part, network = (PARTS[where], "") if where in PARTS else ("", where)
        known = items.get((network, claim.stratum))
        over = {"over": "seeds", "items": known} if known else {}
        ends = {name: one[name] for name in ("value", "low", "high")}
        yield {**key_of(claim), "network": network, "part": part, **ends, **over}


def from_level(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
    """Pages store how far a number is above a level; the estimate is the number itself."""
    assert claim.effect is not None
    for row in as_stored(claim, stored, page):
        yield row | {name: row[name] + claim.effect for name in ("value", "low", "high")}


def nothing(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
    """The estimate is one of the scores."""
    return iter(())


def gain_by_vote(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
    """Besides the vote's part less that of softness: whether there is a gain to divide."""
    for row in as_stored(claim, stored, page):
        yield row | {"stratum": "vote - softness"}
    pattern = r"(\S+): ([+-]?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\] in all"
    for network, *ends in re.findall(pattern, stored["ours"]):
        value, low, high = map(number, ends)
        found = {"network": network, "value": value, "low": low, "high": high}
        yield {**key_of(claim), **found, "stratum": "soft - original"}


def by_dimensions(stored: Stored) -> Iterator[tuple[str, str]]:
    """What was found in each number of dimensions, in words."""
    for text in re.split(r"; (?=d = )", stored["ours"]):
        title, _, found = text.partition(": ")
        yield PARTS[title], found


def lowered(pattern: str, end: Callable[..., float]) -> Callable[..., Iterator[Row]]:
    """Where the claim is of more than the mean, the interval reaches down to the worst task.

    ``end`` says how far, from the numbers that ``pattern`` finds in the text.
    """

    def rows(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
        texts = dict(by_dimensions(stored))
        for row in as_stored(claim, stored, page):
            ends = [
                end(*map(number, each.groups()))
                for each in re.finditer(pattern, texts.get(row["part"], ""))
            ]
            yield row | {"low": min([row["low"], *(worst for worst in ends if worst < 0)])}

    return rows


def clear_losses(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
    for part, text in by_dimensions(stored):
        for lost, beta in re.findall(r"(\d+) at β = ([\d.e-]+)", text):
            counted = {"part": part, "stratum": f"β = {beta}", "value": float(lost)}
            yield {**key_of(claim), **counted}


def best_sparsity(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
    for row in as_stored(claim, stored, page):
        yield row | {"stratum": "gain"}
    for part, text in by_dimensions(stored):
        won, cases = re.findall(r"in (\d+) of (\d+) cases", text)[0]
        often = int(won) / int(cases) - 0.5
        shares = {"stratum": "share of cases - 0.5", "value": often, "low": often, "high": often}
        yield {**key_of(claim), "part": part, **shares}


def flipped(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
    """With wrong answers less with fewer; the page has intervals of the first number only."""
    pattern = r"with ε = (.*?); \(1 - ε\)T right answers give (.*?), \("
    listed = re.findall(pattern, stored["ours"])[0]
    rates, fewer = ([number(each) for each in text.split(", ")] for text in listed)
    wrong = {one["flipped"]: one for one in page["scores"] if one["form"] == "soft"}
    for rate, mean in zip(rates, fewer, strict=True):
        value, low, high = (wrong[rate][name] - mean for name in ("rho", "low", "high"))
        where = {"part": str(wrong[rate]["dimensions"]), "stratum": f"ε = {rate:g}"}
        yield {**key_of(claim), **where, "value": value, "low": low, "high": high}


def counts(pattern: str, *stated: float) -> Callable[..., Iterator[Row]]:
    """Counts less those that the thesis states; a fact is its own interval."""

    def rows(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
        found = re.findall(pattern, stored["ours"])[0]
        for place, (text, wanted) in enumerate(zip(found, stated, strict=True)):
            off = number(text) - wanted
            told = {"part": "thesis", "stratum": str(place), "value": off, "low": off, "high": off}
            yield {**key_of(claim), **told}

    return rows


def by_coefficient(measure: str) -> Callable[..., Iterator[Row]]:
    """What the page of H-Mix lists by part and coefficient; a median is held against the latter."""

    def rows(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
        for score in page["scores"]:
            if score["measure"] == measure and score["group"] != "all":
                off = float(score["group"]) if measure == "median" else 0.0
                ends = {name: score[name] - off for name in ("value", "low", "high")}
                where = {"part": score["part"], "stratum": score["group"]}
                yield {**key_of(claim), **where, **ends}

    return rows


def off_coefficient(claim: Claim, stored: Stored, page: Stored) -> Iterator[Row]:
    """The share of intervals that miss, with the exact interval of a share."""
    missed, of = map(int, re.findall(r"(\d+) of (\d+) intervals", stored["ours"])[0])
    ends = binomtest(missed, of).proportion_ci(method="exact")
    told = {"value": missed / of, "low": float(ends.low), "high": float(ends.high)}
    yield {**key_of(claim), "part": "all", **told}


SHOWN = r"([\d.]+), ([\d.]+), ([\d.]+)"
STIMULI = (
    r"(\d+) mixes of (\d+) pairs of images, (\d+) of (?:\d+) of them among the 7,000; "
    r"(\d+) people with (\d+) to (\d+) answers; at least (\d+) people"
)
COLLECTED = r"(\d+) people, (\d+) mixes, (\d+) of them .* coefficients ([\d.]+), ([\d.]+), ([\d.]+)"

REBUILT: dict[tuple[str, str], Callable[[Claim, Stored, Stored], Iterator[Row]]] = {
    ("accuracy", "above"): nothing,
    ("entropy_share", "above"): from_level,
    ("easy_share", "above"): from_level,
    ("accuracy_gain_by_vote", "higher"): gain_by_vote,
    ("rho", "higher"): lowered(r"^([\d.]+) against ([\d.]+),", lambda soft, hard: soft - 2 * hard),
    ("rho_everywhere", "higher"): lowered(r"the worst (-[\d.]+)", lambda worst: worst),
    ("worth_everywhere", "higher"): lowered(r"clearly loses (\d+)", lambda lost: -lost),
    ("clear_losses", "within"): clear_losses,
    ("best_sparsity_gain", "higher"): best_sparsity,
    ("rho_flipped_less_thinned", "no difference"): flipped,
    ("count_less_stated", "within"): lambda claim, stored, page: (
        counts(STIMULI, 810, 270, 518, 33, 59, 60, 2)
        if claim.arm == "mixes"
        else counts(COLLECTED, 8, 100, 100, 0.25, 0.5, 0.75)
    )(claim, stored, page),
    ("median_less_coefficient", "within"): by_coefficient("median"),
    ("mean_less_printed", "within"): counts(SHOWN, 0.58, 0.99, 0.87),
    ("share_off_coefficient", "above"): off_coefficient,
    ("coefficient_error", "above"): from_level,
    ("confidence_at_half_less_elsewhere", "lower"): by_coefficient(
        "confidence at 0.5 less elsewhere"
    ),
}
"""Where the numbers of a page are not yet the estimate; everything else is stored as it is."""


def estimates_of(study: str, claims: list[Claim]) -> pl.DataFrame:
    """All numbers of a study in one table: each claim has to find its own."""
    page = PAGES[study]
    stored = {one["says"]: one for one in page["claims"]}
    rows = score_rows(page)
    for claim in claims:
        how = REBUILT.get((claim.metric, claim.claimed or ""), as_stored)
        rows += how(claim, stored[claim.sentence], page)
    empty = dict.fromkeys(("arm", "second", "network", "part", "against", "stratum", "attack"), "")
    return pl.DataFrame(
        [{"study": study, **empty, **row} for row in rows], schema=SCHEMA, orient="row"
    ).unique(maintain_order=True)


def judged(study: str) -> list[tuple[JudgedClaim, Stored]]:
    claims = read_claims(study)
    stored = {one["says"]: one for one in PAGES[study]["claims"]}
    return [(one, stored[one.claim.sentence]) for one in judge(claims, estimates_of(study, claims))]


@pytest.fixture(scope="module")
def pairs() -> list[tuple[JudgedClaim, Stored]]:
    return [pair for study in PAGES for pair in judged(study)]


def test_every_stored_verdict_comes_out_again(pairs: list[tuple[JudgedClaim, Stored]]) -> None:
    other = [
        (one.claim.id, one.verdict, stored["verdict"])
        for one, stored in pairs
        if one.verdict != stored["verdict"]
    ]

    kinds = [one.claim.kind for one, _ in pairs]
    assert other == []
    assert (kinds.count("claim"), kinds.count("control")) == (331, 37)


def test_controls_are_answered_as_before(pairs: list[tuple[JudgedClaim, Stored]]) -> None:
    controls = [(one, stored) for one, stored in pairs if stored["work"] == "our controls"]

    assert [one.claim.kind for one, _ in controls] == ["control"] * 37
    assert [one.answer for one, _ in controls] == [
        CONTROL_ANSWERS[stored["verdict"]] for _, stored in controls
    ]


@pytest.mark.parametrize("study", PAGES)
def test_pages_and_rows_have_the_same_claims(study: str) -> None:
    claims, stored = read_claims(study), PAGES[study]["claims"]

    assert [one.sentence for one in claims] == [one["says"] for one in stored]
    assert len({one.sentence for one in claims}) == len(claims)
    assert [one.printed for one in claims] == [one["paper"] for one in stored]
    for claim, old in zip(claims, stored, strict=True):
        assert old["source"] in (
            claim.place,
            f"{claim.paper} {claim.place}",
            f"{claim.paper}, {claim.place}",
        )
        assert old["work"] in (claim.paper, "our controls")


def test_notes_are_the_stored_ones(pairs: list[tuple[JudgedClaim, Stored]]) -> None:
    for one, stored in pairs:
        elsewhere = ", ".join(
            f"{verdict} in the {TITLES[part]}"
            for part, verdict in one.elsewhere.items()
            if one.claim.part
        )
        added = f" The verdict is of the thesis's own mixes; {elsewhere}." if elsewhere else ""

        assert f"{one.claim.note}{added}".strip() == stored["note"]


def test_claims_find_exactly_the_stored_numbers(
    pairs: list[tuple[JudgedClaim, Stored]],
) -> None:
    """No claim takes the numbers of another, though all of a study stand in one table."""
    plain = [
        (one, stored)
        for one, stored in pairs
        if (one.claim.metric, one.claim.claimed) not in REBUILT
    ]

    for one, stored in plain:
        assert [(each.value, each.low, each.high) for each in one.found] == [
            (each["value"], each["low"], each["high"]) for each in stored["found"]
        ], one.claim.id
    assert len(plain) > 340


def test_metric_arms_and_attack_of_a_row_are_those_of_the_stored_difference() -> None:
    """A stored difference is that of the two arms' stored scores, found by the row's columns."""
    checked = 0
    for study, page in PAGES.items():
        scores = {
            (row["network"], *(row.get(name) or None for name in KEY)): row["value"]
            for row in score_rows(page)
        }
        stored = {one["says"]: one for one in page["claims"]}
        for claim in read_claims(study):
            for found in stored[claim.sentence]["found"] if claim.second else []:
                key = {name: getattr(claim, name) or None for name in KEY}
                first, second = (
                    scores.get((found["where"], *(key | {"arm": arm}).values()))
                    for arm in (claim.arm, claim.second)
                )
                if first is not None and second is not None:
                    assert math.isclose(first - second, found["value"], abs_tol=2e-5), claim.id
                    checked += 1

    assert checked > 280


@pytest.mark.parametrize("study", NOT_ON_A_PAGE)
def test_studies_without_a_page_have_the_claims_of_their_paper(study: str) -> None:
    assert read_claims(study) == read_claims("fashion-h")


def test_studies_of_no_paper_have_no_claims() -> None:
    assert read_claims("digits") == read_claims("digits-table") == []
