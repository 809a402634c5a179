"""Turn labels, beliefs and pictures into items to look at, and pictures that are there twice."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.cartography import (
    OUR_RULES,
    InterestRules,
    Kind,
    bars,
    kinds_of_interest,
    same_top_other_rest,
    samples_of_interest,
)
from sfumato.evaluation.duplicates import (
    NEAR,
    Duplicates,
    Pictures,
    find_duplicates,
    groups_table,
    leakage_table,
    pairs_table,
)
from sfumato.labels.build import build
from sfumato.labels.compare import closest_pairs, farthest_pairs
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.signals import entropy
from sfumato.scores import Estimate, source_text
from sfumato.studies.data import (
    LEARNT_SOFT,
    PEOPLE,
    Findings,
    Predictions,
    StudyData,
    beliefs_by_seed,
    blank_row,
    share_row,
    shared_items,
)
from sfumato.studies.measures.doubt import UNSURE, at_items, signals_of
from sfumato.studies.measures.dynamics import SIGNALS, TRAINING, map_beliefs, watched_runs

SHOWN = 8
"""Pictures in a gallery."""
SAMPLES = 4
"""Of each kind of interest."""
PAIRED = 3
"""Pictures of each group in which labels of two kinds of people are compared."""
VARIETIES = 6
"""Readings of one answer that are shown; more have no colours of their own."""
SURE = 1e-9
"""Entropy below which people are of one mind, but for rounding."""
MODELS = 3
"""Arms whose beliefs stand beside people's."""


def items_of_interest(data: StudyData, predictions: Predictions) -> Findings:
    """Pictures with people's and models' bars: the most doubtful ones, and those where only the
    first guess agrees; kinds of interest among what was learnt."""
    from sfumato.learn.targets import distil

    if not predictions.runs:
        return Findings()
    study, part = data.study, data.study.tests[0].part
    network = study.networks[-1]
    believed = {
        arm: list(beliefs_by_seed(data, predictions, arm, network).values())
        for arm in study.arm_names[:MODELS]
    }
    items = shared_items([one.items for one in each] for each in believed.values())
    items = items or predictions.runs[0].test(part).items
    models = {
        f"learnt from {arm}": distil(same)
        for arm, beliefs in believed.items()
        if (same := [one for one in beliefs if one.items == items])
    }
    people = data.people.take(items)
    tables = {"doubtful": bars({"people": people, **models}, most_doubtful(people))}
    if models:
        last = list(models.values())[-1]
        tables["alternatives"] = same_top_other_rest(people, last, count=SHOWN)
        others = tables["alternatives"]["item"].to_list()
        tables["alternatives_bars"] = bars({"people": people, **models}, others)
    kinds = _kinds(data, predictions, network)
    tables |= kinds.tables
    if "interest" in tables:
        tables["interest_bars"] = bars(
            {"people": data.people}, tables["interest"]["item"].to_list()
        )
    shown = [item for name in ("doubtful", "alternatives_bars", "interest_bars") if name in tables
             for item in tables[name]["item"]]  # fmt: skip
    return Findings(kinds.estimates, tables, _images(data, tuple(dict.fromkeys(shown))))


def label_pairs(data: StudyData, predictions: Predictions) -> Findings:
    """Pictures with the labels of two kinds of people: the study's judgments, and whoever it tests
    by first (S3-17; S3-F1, F3, F4, F8, F9).

    The closest among doubtful pictures are as rich from both; the farthest tell them apart; of
    those on which the second are of one mind the first are least sure. ``varieties`` is one answer
    to a doubtful picture as every arm of the study reads it (S3-F2).
    """
    study = data.study
    tested = study.tests[0].against[0]
    if data.judgments is None or tested == PEOPLE:
        return Findings()
    soft = build(data.judgments, study.recipe).crowd.mean()
    known = set(data.people.items)
    soft = soft.take([item for item in soft.items if item in known])
    other = data.people.take(soft.items)
    doubt = entropy(other)

    def among(rows: NDArray[np.bool_]) -> tuple[LabelSet, LabelSet]:
        items = [item for item, kept in zip(soft.items, rows, strict=True) if kept]
        return other.take(items), soft.take(items)

    agreed, softened = among(doubt < SURE)
    least_sure = most_doubtful(softened, count=PAIRED)
    chosen = {
        "closest": closest_pairs(*among(doubt > np.median(doubt)), PAIRED),
        "farthest": farthest_pairs(other, soft, PAIRED),
        "softened": farthest_pairs(agreed.take(least_sure), softened.take(least_sure), PAIRED),
    }
    distances = {pair.item: (group, pair.distance) for group in chosen for pair in chosen[group]}
    sources = {tested: other, f"answers read by {study.recipe}": soft}
    pairs = bars(sources, list(distances)).with_columns(
        group=pl.col("item").map_elements(lambda item: distances[item][0], pl.String),
        distance=pl.col("item").map_elements(lambda item: distances[item][1], pl.Float64),
    )
    varieties = _varieties(data, most_doubtful(soft, count=PAIRED))
    shown = dict.fromkeys([*distances, *varieties["item"]])
    return Findings(
        tables={"label_pairs": pairs, "varieties": varieties}, pictures=_images(data, tuple(shown))
    )


def _varieties(data: StudyData, items: Sequence[str]) -> pl.DataFrame:
    """One person's answer to each item as the arms read it; none where all read it alike."""
    named: dict[str, str] = {}
    for arm in data.study.arms:
        if arm.labels in data.recipes:
            named.setdefault(data.recipes[arm.labels], arm.labels)
    crowds = {name: data.crowds[name] for name in list(named.values())[:VARIETIES]}
    if len(crowds) < 2:
        return bars({}, ())
    rows: dict[str, list[NDArray[np.float64]]] = {name: [] for name in crowds}
    for item in items:
        said = {name: _by_person(crowd, item) for name, crowd in crowds.items()}
        first, *others = said.values()
        person = next(who for who in first if all(who in other for other in others))
        for name, answers in said.items():
            rows[name].append(answers[person])
    return bars(
        {
            name: LabelSet(tuple(items), crowds[name].classes, np.stack(each))
            for name, each in rows.items()
        },
        items,
    )


def _by_person(crowd: CrowdLabels, item: str) -> dict[str, NDArray[np.float64]]:
    """The labels of an item by who gave them."""
    places = np.flatnonzero(crowd.item == crowd.items.index(item))
    return {crowd.annotators[crowd.annotator[at]]: crowd.probs[at] for at in places}


def _images(data: StudyData, items: tuple[str, ...]) -> dict[str, NDArray[np.uint8]]:
    if data.pictures is None:
        return {}
    return dict(zip(items, data.pictures.take(items).images, strict=True))


def most_doubtful(people: LabelSet, *, count: int = SHOWN) -> list[str]:
    """The items whose labels have the highest entropy, the highest first."""
    order = np.argsort(-entropy(people), kind="stable")
    return [people.items[row] for row in order[:count]]


def _kinds(data: StudyData, predictions: Predictions, network: str) -> Findings:
    """By the data map of soft labels, where they were learnt, else of the last arm."""
    names = data.study.arm_names
    arm = LEARNT_SOFT if LEARNT_SOFT in names else names[-1]
    seen = watched_runs(data, predictions, arm, network)
    if seen is None or not seen.items:
        return Findings()
    found = map_beliefs(seen.from_end, seen.target)
    signals = {name: getattr(found, name) for name in SIGNALS}
    unsure = signals_of(data).get(UNSURE)
    if unsure is not None:
        signals[UNSURE] = at_items(seen.items, data.people.items, unsure)
    blank = replace(blank_row(data, seen.runs, part=TRAINING), arm=arm, network=network)
    return interesting(data.people.take(seen.items), signals, blank, count=SAMPLES)


def interesting(
    people: LabelSet,
    signals: Mapping[str, NDArray[np.float64]],
    blank: Estimate,
    *,
    rules: InterestRules = OUR_RULES,
    count: int,
) -> Findings:
    """How many disputed items are of each kind (S4-52), all kinds, and the clearest few of each.

    ``signals`` are ``confidence`` and ``variability`` of a data map and the share of unsure
    annotators, as far as they are known.
    """
    unknown = np.full(len(people), np.nan)
    kinds = kinds_of_interest(
        people,
        confidence=signals.get("confidence", unknown),
        variability=signals.get("variability", unknown),
        unsure=signals.get(UNSURE),
        rules=rules,
    )
    rows = [
        replace(
            blank,
            metric="items_of_interest",
            value=kinds.filter(pl.col("kind") == kind).height,
            stratum=kind,
            items=len(people),
        )
        for kind in get_args(Kind)
    ]
    return Findings(rows, {"kinds": kinds, "interest": samples_of_interest(kinds, count=count)})


# Turn pictures into those that are there twice, and those that are in two parts.


LEARNT = "train"
"""The part that is learnt: a picture of another part that is here too has leaked."""


def duplicates(data: StudyData, predictions: Predictions) -> Findings:
    """Duplicates in the parts of the first training, and what leaked between them."""
    if data.pictures is None or not predictions.runs:
        return Findings()
    split, names = predictions.runs[0].split, np.array(data.pictures.classes, dtype=object)
    parts = []
    for part, items in (
        (LEARNT, split.train),
        ("validation", split.validation),
        ("test", split.test),
    ):
        if items:
            taken = data.pictures.take(items)
            labels = tuple(names[taken.labels].tolist())
            parts.append(Pictures(data.study.data, part, items, taken.images, labels))
    return same_pictures(parts, near=data.study.near_duplicates)


def same_pictures(parts: Sequence[Pictures], *, near: bool) -> Findings:
    """Exact and near duplicates, those with other labels, and what is in two parts.

    A leak is about the pictures of ``part``, of which some are in the part ``against`` too.
    """
    found = find_duplicates(parts, near=NEAR if near else None)
    groups = groups_table(found, "near" if near else "exact")
    pairs = pairs_table(found).with_columns(
        labels_agree=pl.col("first_label") == pl.col("second_label")
    )
    source = source_text(pictures=[*dict.fromkeys(part.source for part in parts)])
    blank = Estimate("", 0.0, against="", items=len(found.pictures), source=source)
    kinds = ("exact", "near") if near else ("exact",)
    rows = [
        replace(blank, metric="pictures", value=len(found.pictures)),
        *(replace(blank, metric="pictures", value=len(p.items), part=p.split) for p in parts),
        replace(blank, metric="duplicated_pictures", value=len(groups)),
        *(
            replace(
                blank,
                metric="duplicated_pictures",
                value=groups.filter(pl.col("kind") == kind).height,
                stratum=kind,
            )
            for kind in kinds
        ),
        replace(blank, metric="duplicate_groups", value=groups["group"].n_unique()),
        replace(blank, metric="duplicate_pairs", value=len(pairs)),
        replace(
            blank,
            metric="duplicate_pairs",
            value=pairs.filter(~pl.col("labels_agree")).height,
            stratum="other label",
        ),
    ]
    leaks, leaked = _leaks(found, parts, blank)
    return Findings([*rows, *leaks], {"duplicates": groups, "pairs": pairs, **leaked})


def _leaks(
    found: Duplicates, parts: Sequence[Pictures], blank: Estimate
) -> tuple[list[Estimate], dict[str, pl.DataFrame]]:
    """Each pair of parts; what is learnt comes first, the others as they were given."""
    sizes = {part.split: len(part.items) for part in parts}
    rows, tables = [], []
    for learnt, tested in combinations(sorted(sizes, key=lambda part: part != LEARNT), 2):
        leaked = leakage_table(found, train=learnt, test=tested)
        tables.append(leaked.with_columns(split=pl.lit(tested), twin_split=pl.lit(learnt)))
        pair = replace(blank, part=tested, against=learnt, items=sizes[tested])
        rows.append(share_row(pair, "leaked_share", np.arange(sizes[tested]) < len(leaked)))
        rows += [
            replace(pair, metric="leaked_pictures", value=amount, stratum=stratum)
            for stratum, amount in (
                ("all", len(leaked)),
                ("exact", leaked.filter(pl.col("kind") == "exact").height),
                ("other label", leaked.filter(~pl.col("labels_agree")).height),
            )
        ]
    return rows, {"leakage": pl.concat(tables)} if tables else {}
