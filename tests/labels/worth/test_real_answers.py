"""The laws of worth on real people's answers, and published numbers of judges."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.labels.labelset import CrowdLabels
from sfumato.labels.worth import worth
from sfumato.labels.worth.judges import Judge, usual_numbers
from sfumato.labels.worth.panel import Panel, draw_people, end_of_scale, make_panel
from sfumato.labels.worth.predictor import EvidenceSource
from sfumato.labels.worth.result import BEST
from sfumato.labels.worth.scale import EvidenceMix, fall, lose, people_for
from sfumato.stats import percentile_interval
from sfumato.studies.data import JudgedSet
from sfumato.studies.judge_sources import load_judged_sets
from sfumato.studies.study import read_study

SETS = ("aspects of reviews", "crowd: dog", "crowd: face", "crowd: rte")
SPLITS = 200

PUBLISHED = {
    "advice to teenagers": (0.25, 0.71, 0.00, 0.67, 0.75, 0.77, 0.00, 0.72, 0.75, 0.76, 0.25, 0.75),
    "pairs of answers": (0.00, 0.72, 0.00, 0.76, 0.00, 0.77, 0.00, 0.69, 0.00, 0.74, 0.00, 0.68),
    "framing of news": (1.00, 0.83, 1.00, 0.91, 1.00, 0.92, 0.50, 0.80, 1.00, 0.87, 0.25, 0.80),
    "aspects of reviews": (0.70, 0.91, 0.90, 0.94, 0.90, 0.93, 0.60, 0.89, 0.50, 0.90, 0.10, 0.81),
    "quality of prompts": (0.31, 0.67, 0.08, 0.63, 0.69, 0.76, 0.15, 0.67, 0.92, 0.80, 0.15, 0.67),
    "stars of reviews": (0.60, 0.82, 0.80, 0.87, 0.90, 0.90, 0.60, 0.85, 0.90, 0.89, 0.50, 0.83),
}
"""Winning rate and advantage probability of six models, as the authors of the test print them."""

SKETCHED = {
    "aspects of reviews": 0.357,
    "stars of reviews": 1.111,
    "framing of news": 0.471,
    "advice to teenagers": 0.742,
}
"""Log-losses of the best judge and one person, by plain tables."""


@pytest.fixture(scope="module")
def judged(data_folder: Path) -> dict[str, JudgedSet]:
    return dict(load_judged_sets(read_study("judges"), data_folder).judged)


def split(
    panel: Panel, rng: np.random.Generator, count: int = 1
) -> tuple[Panel, list[NDArray[np.int64]]]:
    """The panel without people who are drawn anew for each item, and these as judges."""
    order = np.argsort(rng.random(panel.said.shape) + 2 * (panel.said < 0), axis=1)
    said, who = (np.take_along_axis(table, order, axis=1) for table in (panel.said, panel.who))
    rest = Panel(panel.items, panel.classes, panel.annotators, said[:, count:], who[:, count:])
    return rest, [said[:, place] for place in range(count)]


def resampled(
    panel: Panel,
    judges: list[NDArray[np.int64]],
    rng: np.random.Generator,
    *,
    most: int,
    draws: int,
) -> tuple[NDArray[np.float64], int]:
    """The worths of the judges together in the sample and in resamples, and the scale's end."""
    end = end_of_scale(panel.counts, most)
    kept = panel.counts > end
    order = draw_people(panel.take(kept), end, rng=rng, draws=10)
    mixes = [
        *(EvidenceMix((), people) for people in range(end + 1)),
        EvidenceMix(tuple(range(len(judges)))),
    ]
    losses = lose(order, [EvidenceSource(codes=judge[kept]) for judge in judges], mixes)
    drawn = losses.resample(rng=rng, draws=draws)[0]
    return people_for(drawn[:, -1], fall(drawn[:, : end + 1])), end


@pytest.mark.check
@pytest.mark.parametrize("name", SETS)
def test_a_real_person_redrawn_for_each_item_is_worth_one(
    judged: dict[str, JudgedSet], name: str
) -> None:
    panel = make_panel(judged[name].people)
    worths, held = [], []
    for number in range(SPLITS):
        rng = np.random.default_rng([7, number])
        found, end = resampled(*split(panel, rng), rng, most=2, draws=200)
        low, high = percentile_interval(found[1:])
        worths.append(found[0])
        held.append(low <= 1 <= high)

    assert end == 2
    assert np.mean(held) >= 0.91
    assert 0.95 <= np.median(worths) <= 1.05


@pytest.mark.check
def test_two_real_people_redrawn_for_each_item_are_worth_two(judged: dict[str, JudgedSet]) -> None:
    panel = make_panel(judged["crowd: dog"].people)
    worths = []
    for number in range(30):
        rng = np.random.default_rng([8, number])
        found, end = resampled(*split(panel, rng, 2), rng, most=3, draws=1)
        worths.append(found[0])

    assert end == 3
    assert 1.8 <= np.median(worths) <= 2.2


@pytest.mark.check
@pytest.mark.parametrize("name", SETS)
def test_constant_shuffled_and_spoilt_judges_on_real_answers(
    judged: dict[str, JudgedSet], name: str
) -> None:
    panel = make_panel(judged[name].people)
    rng = np.random.default_rng(0)
    rest, (person,) = split(panel, rng)
    chance = rng.random(len(person)) < 0.3
    spoilt = np.where(chance, rng.integers(len(panel.classes), size=len(person)), person)
    given = {
        "constant": np.zeros_like(person), "shuffled": rng.permutation(person), "spoilt": spoilt,
        "whole": person, "renamed": len(panel.classes) - person, "twice": person,
    }  # fmt: skip
    judges = {
        judge: dict(zip(panel.items, codes.tolist(), strict=True)) for judge, codes in given.items()
    }

    found = worth(crowd_of(rest), judges, most=2, resamples=200)

    worths = {row["judge"]: row["worth"] for row in found.judges.to_dicts()}
    assert worths["constant"] == 0
    assert worths["shuffled"] < 0.05
    assert worths["renamed"] == pytest.approx(worths["whole"], abs=1e-3)
    assert worths["twice"] == pytest.approx(worths["whole"], abs=1e-3)
    (change,) = found.estimates.differences.filter(metric="worth", arm="spoilt", second="whole")
    assert change.low is not None
    assert change.low <= 0


def crowd_of(panel: Panel) -> CrowdLabels:
    item, column = np.nonzero(panel.said >= 0)
    return CrowdLabels(
        panel.items, panel.annotators, panel.classes,
        item, panel.who[item, column], said=panel.said[item, column],
    )  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_winning_rates_are_reproduced(judged: dict[str, JudgedSet], name: str) -> None:
    panel = make_panel(judged[name].people)
    found = []
    for judge, said in judged[name].judges.items():
        assert isinstance(said, CrowdLabels)
        told = usual_numbers(panel, Judge(judge, said), epsilon=judged[name].epsilon)
        found += [told["winning_rate"], told["advantage_probability"]]

    assert found == pytest.approx(PUBLISHED[name], abs=0.0051)  # printed with two digits


@pytest.mark.check
@pytest.mark.parametrize("name", SKETCHED)
def test_best_judge_and_one_person_tell_as_much_as_the_sketch(
    judged: dict[str, JudgedSet], name: str
) -> None:
    one = judged[name]

    found = worth(one.people, one.judges, resamples=1)

    rows = found.table.filter((found.table["judge"] == BEST) & (found.table["people"] == 1))
    assert rows["log_loss"].item() <= SKETCHED[name] + 0.005
