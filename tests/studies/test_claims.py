import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest, spearmanr
from sfumato.studies.analysis import Findings
from statsmodels.stats.proportion import confint_proportions_2indep

from sfumato.errors import DataError
from sfumato.scores import Difference, Score
from sfumato.studies import map_answers, paper5
from sfumato.studies.answers import (
    FEW_ITEMS,
    Answer,
    Claim,
    Found,
    difference,
    mostly_by_vote,
    only_shown,
    relabelled,
)
from sfumato.studies.claims import PAPER_5, claims_table, compare_claims
from sfumato.studies.folder import read_findings, write_findings
from sfumato.studies.verdicts import VERDICTS, Claimed, Verdict

SEEDS = (0, 1, 2)
Ends = tuple[float, float]


def apart(
    low: float | None,
    high: float | None,
    *,
    metric: str = "kl",
    first: str = "soft",
    second: str = "majority",
    network: str = "lenet",
    stratum: str = "disputed",
    items: int = 500,
) -> Difference:
    value = 0.0 if low is None or high is None else (low + high) / 2
    return Difference(
        metric,
        value,
        first,
        second,
        network,
        stratum=stratum,
        low=low,
        high=high,
        interval="seeds",
        items=items,
        seeds=SEEDS,
    )


def planted(*differences: Difference, tables: Mapping[str, pl.DataFrame] | None = None) -> Findings:
    networks = dict.fromkeys([one.network for one in differences] or ["lenet"])
    scores = [Score("kl", 0.5, "soft", network, seeds=SEEDS) for network in networks]
    return Findings(scores, list(differences), tables or {})


def a_map(
    arm: str,
    regions: list[str],
    entropy: list[float],
    confidence: list[float] | None = None,
    variability: list[float] | None = None,
) -> pl.DataFrame:
    n = len(regions)
    return pl.DataFrame(
        {
            "item": [f"i{place}" for place in range(n)],
            "arm": [arm] * n,
            "network": ["lenet"] * n,
            "confidence": confidence or [0.9] * n,
            "variability": variability or [0.1] * n,
            "correctness": [1.0] * n,
            "region": regions,
            "human_entropy": entropy,
        }
    )


def says(answer: Answer, findings: Findings, network: str = "lenet") -> Found:
    return answer(findings, network, np.random.default_rng(0))


def only(verdicts: list[Verdict]) -> Verdict:
    """The verdict over networks of which each says one of the given."""
    by_network = {f"n{place}": verdict for place, verdict in enumerate(verdicts)}

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        return Found("", by_network[network])

    findings = planted(*(apart(0.1, 0.2, network=network) for network in by_network))
    claim = Claim("here", "something", answer)
    return compare_claims(findings, [claim], rng=np.random.default_rng(0))[0].verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.3, -0.1, "reproduced"),
        (-0.3, 0.1, "same direction"),
        (-0.1, 0.3, "not reproduced"),
        (0.1, 0.3, "not reproduced"),
        (0.0, 0.3, "not reproduced"),
        (-0.3, 0.0, "same direction"),  # an end at zero is not beyond it
        (math.nan, math.nan, "not testable here"),
    ],
)
def test_interval_of_a_difference_decides(
    low: float | None, high: float | None, verdict: str, tmp_path: Path
) -> None:
    write_findings(planted(apart(low, high)), tmp_path)
    found = read_findings(tmp_path)
    first = compare_claims(found, PAPER_5[:1], rng=np.random.default_rng(0))[0]

    assert first.verdict == verdict


def test_estimate_without_an_interval_is_a_direction_at_most() -> None:
    alone = replace(apart(-0.3, -0.1), low=None, high=None)
    question = difference("kl", "soft", "majority", "disputed", claimed="lower")

    assert says(question, planted(alone)).verdict == "same direction"
    assert says(question, planted(replace(alone, value=0.2))).verdict == "not reproduced"


def test_interval_over_seeds_on_a_handful_of_items_decides_nothing() -> None:
    question = difference("kl", "soft", "majority", "unanimous", claimed="lower")
    few = says(question, planted(apart(-2, -1, stratum="unanimous", items=FEW_ITEMS - 1)))
    enough = says(question, planted(apart(-2, -1, stratum="unanimous", items=FEW_ITEMS)))

    assert few.verdict == "not testable here"
    assert f"on {FEW_ITEMS - 1} items only" in few.text
    assert enough.verdict == "reproduced"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.03, 0.03, "reproduced"),
        (-0.03, 0.05, "same direction"),
        (0.03, 0.06, "not reproduced"),  # the estimate is outside
        (-0.06, -0.05, "not reproduced"),
        (math.nan, math.nan, "not testable here"),
    ],
)
def test_comparable_is_claimed_only_inside_the_margin(
    low: float | None, high: float | None, verdict: str
) -> None:
    question = difference("kl", "soft", "majority", "disputed", claimed=0.04)

    assert says(question, planted(apart(low, high))).verdict == verdict


def test_other_networks_arms_strata_and_labels_answer_nothing() -> None:
    question = difference("kl", "soft", "majority", "disputed", claimed="lower")
    others = (
        apart(-1, -0.5, network="simple-ffn"),
        apart(-1, -0.5, first="sampled"),
        apart(-1, -0.5, second="original"),
        apart(-1, -0.5, stratum="all"),
        apart(-1, -0.5, metric="brier"),
        replace(apart(-1, -0.5), against="original"),
    )

    assert says(question, planted(*others)).verdict == "not testable here"


@pytest.mark.parametrize("verdict", VERDICTS)
def test_verdict_that_all_networks_share_is_the_claims(verdict: Verdict) -> None:
    assert only([verdict] * 3) == verdict


@pytest.mark.parametrize(
    "verdicts",
    [
        ["reproduced", "reproduced", "same direction"],
        ["same direction", "not testable here"],
    ],
)
def test_weakest_network_decides(verdicts: list[Verdict]) -> None:
    assert only(verdicts) == "same direction"
    assert only([*verdicts, "not reproduced"]) == "not reproduced"


def vote_and_softness(vote: Ends, rest: Ends, whole: Ends = (0.05, 0.09)) -> Verdict:
    parts = (
        apart(*whole, metric="accuracy", first="soft", second="original", stratum="all"),
        apart(*vote, metric="accuracy", first="majority", second="original", stratum="all"),
        apart(*rest, metric="accuracy", first="soft", second="majority", stratum="all"),
    )
    return says(mostly_by_vote(), planted(*parts)).verdict


def test_gain_is_the_votes_only_where_intervals_do_not_overlap() -> None:
    assert vote_and_softness((0.05, 0.07), (0.01, 0.02)) == "reproduced"
    assert vote_and_softness((0.01, 0.02), (0.05, 0.07)) == "not reproduced"
    assert vote_and_softness((0.03, 0.09), (0.01, 0.04)) == "same direction"
    assert vote_and_softness((0.05, 0.07), (0.01, 0.02), (-0.01, 0.09)) == "same direction"
    assert vote_and_softness((0.05, 0.07), (0.01, 0.02), (-0.09, 0.01)) == "not reproduced"


def on_both_labels(original: Ends, majority: Ends) -> Verdict:
    rows = [
        {"tested_on": on, "value": sum(ends) / 2, "low": ends[0], "high": ends[1]}
        for on, ends in (("original", original), ("majority", majority), ("soft", majority))
    ]
    same = {"network": "lenet", "trained_on": "soft", "metric": "accuracy"}
    modes = pl.DataFrame([{**same, **row} for row in rows])
    return says(relabelled("soft"), planted(tables={"modes": modes})).verdict


def test_same_model_on_other_labels() -> None:
    assert on_both_labels((0.78, 0.80), (0.86, 0.88)) == "reproduced"
    assert on_both_labels((0.86, 0.88), (0.78, 0.80)) == "not reproduced"
    assert on_both_labels((0.78, 0.82), (0.81, 0.84)) == "same direction"
    assert says(relabelled("soft"), planted()).verdict == "not testable here"


def test_most_of_a_stratum_is_an_exact_binomial_question() -> None:
    question = map_answers.region_share("soft", "unanimous", "easy")
    regions = ["easy"] * 19 + ["hard"] * 1 + ["hard"] * 30
    table = a_map("soft", regions, [0.0] * 20 + [0.5] * 30)
    found = says(question, planted(tables={"data_map": table}))

    ends = binomtest(19, 20).proportion_ci()
    assert found.text == f"95.0% of 20 [{ends.low:.1%}, {ends.high:.1%}]"
    assert found.verdict == "reproduced"
    flipped = table.with_columns(pl.col("region").replace({"easy": "hard", "hard": "easy"}))
    assert says(question, planted(tables={"data_map": flipped})).verdict == "not reproduced"
    few_more = table.with_columns(region=pl.Series(["easy"] * 11 + ["hard"] * 39))
    assert says(question, planted(tables={"data_map": few_more})).verdict == "same direction"
    nobody = table.with_columns(human_entropy=pl.lit(0.5))
    assert says(question, planted(tables={"data_map": nobody})).verdict == "not testable here"


def test_gap_between_strata_has_newcombes_interval() -> None:
    regions = ["hard"] * 30 + ["easy"] * 70 + ["easy"] * 20
    table = a_map("soft", regions, [0.5] * 100 + [0.0] * 20)
    question = map_answers.region_gap("soft", "disputed", "unanimous")
    found = says(question, planted(tables={"data_map": table}))

    low, high = confint_proportions_2indep(30, 100, 0, 20, method="newcomb", compare="diff")
    assert found.text == f"30.0% against 0.0%: +0.300 [{low:.3f}, {high:.3f}]"
    assert found.verdict == "reproduced"
    swapped = map_answers.region_gap("soft", "unanimous", "disputed")
    assert says(swapped, planted(tables={"data_map": table})).verdict == "not reproduced"


def test_thirds_are_of_the_disputed_items_only() -> None:
    entropy = [0.0] * 50 + [0.1] * 30 + [0.5] * 30 + [0.9] * 30
    regions = ["hard"] * 50 + ["easy"] * 30 + ["hard"] * 30 + ["ambiguous"] * 30
    table = a_map("soft", regions, entropy)
    question = map_answers.region_gap("soft", "most disputed", "least disputed")

    text = says(question, planted(tables={"data_map": table})).text
    assert text.startswith("100.0% against 0.0%")


def two_maps(soft: list[float], vote: list[float], entropy: list[float]) -> Findings:
    regions = ["easy"] * len(soft)
    maps = [
        a_map("soft", regions, entropy, soft, soft),
        # another order of rows: items are matched by name
        a_map("majority", regions, entropy, vote, vote)[::-1],
    ]
    return planted(tables={"data_map": pl.concat(maps)})


def test_change_of_confidence_is_paired_by_item() -> None:
    rng = np.random.default_rng(1)
    hard = rng.uniform(0.1, 0.9, 40)  # items differ far more than arms
    lower = hard - 0.05 + rng.normal(0, 0.01, 40)
    findings = two_maps(lower.tolist(), hard.tolist(), [0.5] * 40)

    def change(claimed: Claimed, stratum: str = "disputed") -> Verdict:
        question = map_answers.map_change("confidence", stratum, claimed=claimed)
        return says(question, findings).verdict

    assert change("lower") == "reproduced"
    assert change("higher") == "not reproduced"
    assert change("lower", "unanimous") == "not testable here"
    noisy = two_maps((hard + rng.normal(0, 0.1, 40)).tolist(), hard.tolist(), [0.5] * 40)
    question = map_answers.map_change("confidence", "disputed", claimed="lower")
    assert says(question, noisy).verdict in ("same direction", "not reproduced")


def test_stronger_correlation_is_the_difference_of_scipys() -> None:
    rng = np.random.default_rng(2)
    entropy = rng.uniform(0.1, 1, 200)
    close = 1 - entropy + rng.normal(0, 0.05, 200)
    loose = 1 - entropy + rng.normal(0, 0.6, 200)
    found = {
        name: says(
            map_answers.stronger_correlation("confidence", claimed="lower"),
            two_maps(soft.tolist(), vote.tolist(), entropy.tolist()),
        )
        for name, soft, vote in (
            ("soft closer", close, loose),
            ("vote closer", loose, close),
            ("the same", close, close + rng.normal(0, 1e-3, 200)),
        )
    }

    expected = spearmanr(entropy, close).statistic - spearmanr(entropy, loose).statistic
    assert found["soft closer"].text.startswith(f"{expected:.3f} [")
    assert found["soft closer"].verdict == "reproduced"
    assert found["vote closer"].verdict == "not reproduced"
    assert found["the same"].verdict in ("same direction", "not reproduced")


def test_correlation_reads_the_sign_of_the_interval() -> None:
    row = {"arm": "soft", "network": "lenet", "second": "confidence", "stratum": "all"}
    question = map_answers.correlation("soft", "confidence", claimed="lower")

    def verdict(low: float, high: float) -> Verdict:
        table = pl.DataFrame([{**row, "rho": (low + high) / 2, "low": low, "high": high}])
        return says(question, planted(tables={"alignment": table})).verdict

    assert verdict(-0.6, -0.5) == "reproduced"
    assert verdict(-0.2, 0.1) == "same direction"
    assert verdict(0.5, 0.6) == "not reproduced"
    assert says(question, planted()).verdict == "not testable here"


def test_movement_is_of_early_epochs_only() -> None:
    def curve(arm: str, early: float, late: float) -> list[dict[str, object]]:
        return [
            {"arm": arm, "network": "lenet", "epoch": epoch, "jsd": jsd}
            | {"low": jsd - 0.01, "high": jsd + 0.01}
            for epoch in range(2, 41)
            for jsd in [early if epoch <= map_answers.EARLY else late]
        ]

    def verdict(soft: float, vote: float) -> Verdict:
        table = pl.DataFrame(curve("soft", soft, 0.9) + curve("majority", vote, 0.5))
        question = map_answers.movement(claimed="lower")
        return says(question, planted(tables={"convergence": table})).verdict

    assert verdict(0.1, 0.2) == "reproduced"
    assert verdict(0.2, 0.1) == "not reproduced"
    assert verdict(0.1, 0.11) == "same direction"


@pytest.mark.parametrize(
    ("apart", "low", "high", "verdict"),
    [
        (0.02, 0.01, 0.03, "reproduced"),
        (0.02, -0.01, 0.05, "same direction"),
        (-0.02, -0.03, -0.01, "not reproduced"),
    ],
)
def test_settled_is_spread_above_movement(
    apart: float, low: float, high: float, verdict: str
) -> None:
    row = {"movement": 0.03, "spread": 0.03 + apart, "ratio": 1.0, "apart": apart}
    table = pl.DataFrame([{"arm": "soft", "network": "lenet", **row, "low": low, "high": high}])
    found = planted(tables={"steadiness": table})

    assert says(map_answers.settled("soft"), found).verdict == verdict
    assert says(map_answers.settled("majority"), found).verdict == "not testable here"


def test_what_stands_in_for_something_else_decides_nothing() -> None:
    question = difference("kl", "soft", "majority", "disputed", claimed="lower")
    found = says(only_shown(question), planted(apart(-2.5, -0.5)))

    assert found == Found("-1.500 [-2.500, -0.500]", "not testable here", -1.5, -2.5, -0.5)


def test_empty_run_can_say_nothing_about_any_claim() -> None:
    compared = compare_claims(planted(), rng=np.random.default_rng(0))

    assert {one.verdict for one in compared} == {"not testable here"}
    assert len(compared) == len({claim.says for claim in PAPER_5})
    with pytest.raises(DataError, match="no scores of any network"):
        compare_claims(Findings([], [], {}), rng=np.random.default_rng(0))


def test_papers_numbers_are_those_of_its_text() -> None:
    assert paper5.KL["MNIST"]["original"][2] == (0.178, 2.214)
    assert paper5.KL["synthetic"]["soft-b"][0] == (0.451, 0.556)
    assert paper5.BRIER["MNIST"]["majority"][2] == (0.093, 0.281)
    assert paper5.ACCURACY["synthetic"]["majority"][1] == (0.8396, 0.5603)
    assert paper5.OVERALL["MNIST"]["soft-a"][2] == (0.8541, 0.8669)
    assert paper5.overall_shown("soft", "original").startswith("MNIST +0.011 · +0.024 · +0.017;")
    assert paper5.relabelled_shown("original").endswith("synthetic -0.184 · -0.208 · -0.272")
    assert PAPER_5[0].paper == (
        "MNIST -0.518 · -0.498 · -0.996; synthetic -0.369 · -0.375 · -0.431"
    )


def test_table_holds_every_claim_and_is_the_same_again(tmp_path: Path) -> None:
    write_findings(planted(apart(-0.3, -0.1), apart(-0.2, 0.1, network="simple-ffn")), tmp_path)
    findings = read_findings(tmp_path)
    table = claims_table(findings)

    assert table.table.equals(claims_table(findings).table)
    assert table.table["paper 5 claims"].to_list() == [claim.says for claim in PAPER_5]
    first = table.table.row(0, named=True)
    assert first["found here"] == "-0.200 [-0.300, -0.100] · -0.050 [-0.200, 0.100]"
    assert first["verdict"] == "same direction (reproduced in 1 of 2, same direction in 1 of 2)"
    assert "lenet · simple-ffn" in table.caption
    assert not table.simulated


def test_simulated_people_are_marked() -> None:
    findings = planted(apart(-0.3, -0.1))
    some = [*findings.scores, replace(findings.scores[0], simulated=True)]

    assert claims_table(replace(findings, scores=some)).simulated
