"""Sections about networks that learnt from different labels: claims, scores, curves, attacks."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby, product

import polars as pl

from sfumato.evaluation.people import PERSON_METRICS
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.figures import curves as curve_figures
from sfumato.reporting.figures import curves as uncertainty
from sfumato.reporting.figures import galleries, trade_off
from sfumato.reporting.figures import scores as score_figures
from sfumato.reporting.page import Block, Origin, Section, Table, score_table
from sfumato.reporting.text import BOTH, condition_words, number, with_ends
from sfumato.scores import Estimate, Estimates, metric_words
from sfumato.studies.claims import (
    JudgedClaim,
    counts_text,
    found_text,
    ratio_text,
    regime_table,
)
from sfumato.studies.data import ORIGINAL, PEOPLE, RunFolder
from sfumato.studies.measures.rescore import ORACLE
from sfumato.studies.study import Arm, StudyCurve

DRAWN = ("cross_entropy", "accuracy", "rms_calibration", "second_best_accuracy")
DISTRIBUTION = ("cross_entropy", "manhattan", "wasserstein")
TABLED = (*DRAWN, "kl", "brier")
PAIRED = ("cross_entropy", "accuracy", "rms_calibration")
SHOWN = ("cross_entropy", "accuracy")
CONFIDENCE = ("confidence_right", "confidence_wrong")
AGREEMENT = ("unanimous", "disputed")
CORRUPTED = "corrupted"


def claims(run: RunFolder) -> Section | None:
    """What papers say, and what was found."""
    if not run.claims:
        return None
    rows = [
        {
            "claim": one.claim.sentence,
            "paper": f"{one.claim.printed} ({one.claim.place})".strip(),
            "here (95 %)": found_text(one),
            "ratio": ratio_text(one.deciding),
            "verdict": "; ".join([one.answer, *_elsewhere(one)]),
        }
        for one in run.claims
    ]
    text = (
        f"{counts_text(one.verdict for one in run.claims if one.claim.kind == 'claim')} The ratio "
        "is our effect over the printed one, each divided by what its own hard arm loses above the "
        "floor: reproduced reaches a half, smaller does not; absent holds zero and lies below a "
        "quarter. Networks and training are smaller than the paper's unless the study ran at its "
        "size. Intervals do not allow for the number of comparisons."
    )
    notes = tuple(dict.fromkeys(one.claim.note for one in run.claims if one.claim.note))
    table = Table(
        "Claims",
        pl.DataFrame(rows),
        how=Origin(meaning=notes),
        simulated=run.simulated,
        made="annotators" if run.study.worlds is None else "worlds",
    )
    return Section("Next to the paper", text, (table, *_regime(run)))


def _regime(run: RunFolder) -> list[Block]:
    """Our hard arm beside the paper's."""
    arm, table = regime_of(run)
    title = f"Regime: {arm!r}, here and in the paper"
    return [Table(title, table)] if len(table) else []


def regime_of(run: RunFolder) -> tuple[str, pl.DataFrame]:
    """Which arm is the hard one, and how well its networks know what they learnt and others."""
    study = run.study
    return regime_table(
        [one.claim for one in run.claims],
        run.printed,
        run.estimates.table,
        against=study.tests[0].against[0] if study.tests else "",
        control=study.controls[0] if study.controls else "",
    )


def _elsewhere(one: JudgedClaim) -> list[str]:
    """What other parts of the data say, where it is something else."""
    return [f"{verdict} in the part {part!r}" for part, verdict in one.elsewhere.items()]


def clean(estimates: Estimates) -> Estimates:
    """Numbers about untouched items, all of them."""
    return estimates.filter(attack="", stratum="all")


def against_of(estimates: Estimates) -> list[str]:
    """Whose labels are held against, in the order of first appearance."""
    return list(dict.fromkeys(estimates.table["against"]))


def scores(run: RunFolder) -> Section | None:
    """Every arm against every set of labels: dots, differences from controls, paper's numbers."""
    blocks: list[Block] = []
    known = run.estimates.scores
    trained = Estimates(known.table.filter(pl.col("network") != ""))
    for at, against in enumerate(against_of(trained)):
        mine = trained.filter(against=against)
        if len(clean(mine).filter(metric=DRAWN)):
            blocks += [*(_drawn_against(run, mine, against) if at == 0 else ())]
            blocks.append(_tabled_against(run, mine, against))
    if not blocks:
        return None
    text = (
        "All scores are on items that no network was trained on and no epoch was chosen on, unless "
        "a test says otherwise. Differences are paired by seed and, where a metric is "
        "a mean over items, by item. All numbers are in estimates.parquet."
    )
    return Section("How close to people and to labels", text, tuple(blocks))


def grids(run: RunFolder) -> Section | None:
    """Arms that differ in one number that is searched over, and which value is best."""
    families: dict[str, list[str]] = {}
    for arm in run.study.arms:
        if arm.grid_values:
            families.setdefault(arm.family, []).append(arm.name)
    metric, against = "cross_entropy", run.study.tests[0].against[0] if run.study.tests else ""
    found = clean(run.estimates.scores).filter(metric=metric, against=against)
    rows = []
    for (family, arms), network in product(families.items(), run.study.networks):
        known = {one.arm: one for one in found.filter(arm=arms, network=network)}
        best = min(known.values(), key=lambda one: one.value, default=None)
        rows += [
            {
                "labels": family,
                "network": network,
                "value": run.study.arm(arm).grid_values,
                f"{metric_words(metric).title} (95 %)": with_ends(known[arm]),
                "": "best" if known[arm] is best else "",
            }
            for arm in arms
            if arm in known and len(known) > 1
        ]
    if not rows:
        return None
    text = (
        f"Held against {against}. Values whose intervals overlap may change places with other "
        "seeds; differences from the controls are paired and tell more."
    )
    return Section("Values side by side", text, (Table("Grids", pl.DataFrame(rows)),))


def people(run: RunFolder) -> Section | None:
    """The distribution beside what is expected of each person, as shared tasks tell them."""
    told = clean(run.estimates.scores)
    if not len(told.filter(metric=tuple(PERSON_METRICS))):
        return None
    rows = list(told.filter(metric=(*PERSON_METRICS, *DISTRIBUTION), against=PEOPLE))
    rows.sort(key=lambda one: (one.part, one.network, one.arm))
    table = score_table(
        rows, rows=("part", "network", "arm"), columns="metric", title="Distributions and people"
    )
    text = (
        "Of each person the answer about an item is expected by an offset of theirs on top of the "
        "network, which was learnt from their answers about other items. The log-loss of single "
        "answers without any offset is the cross-entropy."
    )
    return Section("Each person", text, (table,))


def _drawn_against(run: RunFolder, mine: Estimates, against: str) -> Iterable[Block]:
    """Scores and differences, of the labels that are asked for first; the others are in tables."""
    name = file_name(against)
    yield score_figures.by_arm(
        clean(mine).filter(metric=DRAWN).table,
        references=reference_lines(run, against),
        name=f"scores-{name}",
        title=f"Against {against}",
    )
    paired = paired_with_controls(run, against)
    if len(paired):
        yield score_figures.paired_differences(paired.table, name=f"differences-{name}")


def _tabled_against(run: RunFolder, mine: Estimates, against: str) -> Table:
    return Table(
        f"Against {against}" + (", next to the paper's numbers" if run.printed else ""),
        scores_table(run, mine),
        caption=_caption(_tabled(mine)),
        simulated=bool(mine.table["simulated"].any()),
    )


def _caption(shown: Sequence[Estimate]) -> str:
    """What the intervals are over: of most numbers, and of the metrics that are told otherwise."""
    of: dict[str, dict[str, None]] = {}  # metrics by what their intervals are over
    for one in shown:
        if one.over:
            of.setdefault(one.over, {})[metric_words(one.metric).title] = None
    if not of:
        return ""
    most = BOTH if BOTH in of else max(of, key=lambda over: sum(one.over == over for one in shown))
    others = []
    for over in sorted(of.keys() - {most}):
        for word, titles in (
            ("those", [title for title in of[over] if title not in of[most]]),
            ("some", [title for title in of[over] if title in of[most]]),
        ):
            if titles:
                others.append(f"{word} of {' and '.join(titles)} are over {over}")
    whole = f"Means over seeds with 95 % intervals over {most}"
    return f"{whole}; {', '.join(others)}." if others else f"{whole}."


def reference_lines(run: RunFolder, against: str) -> dict[str, dict[str, float]]:
    """The floor and the class oracle that cross-entropy is read against (C20)."""
    lines = {
        metric_words(one.metric).title: one.value
        for one in run.estimates.filter(metric=("entropy_floor", "class_oracle"), against=against)
        if one.stratum == "all"
    }
    return {"cross_entropy": lines} if lines else {}


def last_steps(estimates: Estimates) -> Estimates:
    """Numbers about attacked and corrupted items, those of PGD after its last step only."""
    table = estimates.table.filter((pl.col("attack") != "") | (pl.col("stratum") == CORRUPTED))
    last = pl.col("step").max().over("attack", "bound", "against")
    return Estimates(table.filter(pl.col("step").is_null() | (pl.col("step") == last)))


def paired_with_controls(run: RunFolder, against: str) -> Estimates:
    """Every arm minus every control, on untouched items, by the metrics that are drawn."""
    controls = list(run.study.controls)
    found = clean(run.estimates).filter(against=against, metric=PAIRED).minus(*controls)
    return Estimates(found.table.filter(~pl.col("arm").is_in(controls)))


def scores_table(run: RunFolder, mine: Estimates) -> pl.DataFrame:
    """A row per arm, network and condition, a column per metric; the paper's number behind ours."""
    printed = {
        (
            row["arm"],
            row["against"],
            row["stratum"],
            row["attack"],
            row["bound"],
            row["metric"],
        ): row["printed"]
        for row in run.printed
    }
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for one in _tabled(mine):
        row = rows.setdefault((one.arm, one.network, condition_words(one)), {})
        ours = with_ends(one)
        paper = printed.get((one.arm, one.against, one.stratum, one.attack, one.bound, one.metric))
        row[metric_words(one.metric).title] = f"{ours} | paper {paper}" if paper else ours
    titles = list(dict.fromkeys(title for row in rows.values() for title in row))
    seconds = _seconds(run)
    columns = next(iter(seconds.values()), {})
    return pl.DataFrame(
        [
            {"arm": arm, "network": network, "images": condition}
            | {**dict.fromkeys(columns, ""), **seconds.get(arm, {})}
            | {title: row.get(title, "") for title in titles}
            for (arm, network, condition), row in rows.items()
        ]
    )


def _seconds(run: RunFolder) -> dict[str, dict[str, str]]:
    """By arm, what its answers take; where the study has one price of each label (S3-03)."""
    prices = [curve for curve in run.study.curves if curve.over == "seconds"]
    if len(prices) != 1:
        return {}
    (curve,) = prices
    return {
        arm.name: {
            "seconds per answer": f"{curve.seconds[arm.labels]:g}",
            "seconds per image": f"{taken:g}",
        }
        for arm in run.study.arms
        if (taken := amount(curve, arm)) is not None
    }


def _tabled(mine: Estimates) -> list[Estimate]:
    """All items, attacked and corrupted ones, and those that people agree on or dispute; whatever
    metric is told of these is told of all items too."""
    strata = mine.filter(attack="", stratum=AGREEMENT, metric=TABLED)
    return [*clean(mine).filter(metric=TABLED), *last_steps(mine), *strata]


def curves(run: RunFolder) -> Section | None:
    """Arms against what they have more or less of: people, items, seconds."""
    blocks: list[Block] = []
    for place, curve in enumerate(run.study.curves, start=1):
        for against in against_of(run.estimates.scores):
            points = _points(run, curve, against)
            if points:
                name = f"curve-{place}-{file_name(against)}"
                blocks.append(_curve(curve, points, against, name))
    return Section("Against what it takes", "", tuple(blocks)) if blocks else None


Point = tuple[str, float, Estimate]
"""A curve's name, where on the axis, and what was found there."""


def _points(run: RunFolder, curve: StudyCurve, against: str) -> list[Point]:
    """What curves go through; every network has its own."""
    found = run.estimates.scores.filter(against=against)
    shown = [
        *clean(found).filter(metric=PAIRED),
        *found.filter(metric="cross_entropy", attack="fgsm"),
    ]
    several = len(run.study.networks) > 1
    points = []
    for arm in run.study.arms:
        at = amount(curve, arm)
        if at is not None:
            name = series_name(curve, arm)
            points += [
                (f"{name}, {one.network}" if several else name, at, one)
                for one in shown
                if one.arm == arm.name
            ]
    return points


def amount(curve: StudyCurve, arm: Arm) -> float | None:
    """How much of what a curve is over an arm has; None: it is not on the curve."""
    match curve.over:
        case "people":
            return arm.people or curve.everybody.get(arm.labels)
        case "items":
            return arm.items if arm.items is not None else arm.per_class
        case "seconds":
            people = arm.people or curve.everybody.get(arm.labels)
            price = curve.seconds.get(arm.labels)
            return None if people is None or price is None else round(people * price, 1)


def series_name(curve: StudyCurve, arm: Arm) -> str:
    """The curve that an arm is on: its labels, their mode or one answer at a time."""
    if curve.over == "items":
        return f"{arm.labels} majority" if arm.majority else arm.labels
    how = "mode of M" if arm.majority else "one of M" if arm.shown != "fixed" else "mean of M"
    return f"{arm.labels}, {how}"


def _curve(curve: StudyCurve, points: list[Point], against: str, name: str) -> Drawing:
    draw, column = {
        "people": (curve_figures.against_annotators, "M"),
        "seconds": (curve_figures.against_seconds, "seconds"),
        "items": (curve_figures.against_items, "items"),
    }[curve.over]
    rows = [
        {
            "arm": series,
            column: at,
            "metric": f"loss under {condition_words(one)}" if one.attack else one.metric,
            "value": one.value,
            "low": one.low,
            "high": one.high,
        }
        for series, at, one in sorted(points, key=lambda point: (point[0], point[1]))
    ]
    basis = score_figures.basis_of(Estimates.of(one for _, _, one in points).table)
    table = pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high"), pl.Float64))
    return draw(table, basis, name=name, title=f"{curve.title}, held against {against}")


def ladder(run: RunFolder) -> Section | None:
    """Arms on tests ever further away (S0-F2), and in how many trainings each was better (C5)."""
    blocks: list[Block] = []
    for place, steps in enumerate(run.study.ladders, start=1):
        rows = _ladder_rows(run, steps)
        if len(rows) and rows["step"].n_unique() > 1:
            shown = clean(run.estimates.scores).filter(against=list(steps))
            blocks.append(
                curve_figures.shift_ladder(
                    rows,
                    score_figures.basis_of(shown.table),
                    name=f"ladder-{place}",
                    title=f"From {rows['data'][0]} further and further away",
                )
            )
    if not blocks:
        return None
    if "wins" in run.tables:
        caption = "How many trainings, of the same seed and fold, are better than the control's."
        blocks.append(Table("Training by training", run.tables["wins"], caption=caption))
    text = f"The gap is to {run.study.controls[0]!r}." if run.study.controls else ""
    return Section("Further and further away", text, tuple(blocks))


def _ladder_rows(run: RunFolder, steps: Sequence[str]) -> pl.DataFrame:
    known = clean(run.estimates.filter(against=list(steps), metric=SHOWN))
    place = {name: at for at, name in enumerate(s for s in steps if s in against_of(known))}
    gaps = {
        (one.arm, one.network, one.against, one.metric): one.value
        for one in known.minus(*run.study.controls[:1])
    }
    return pl.DataFrame(
        [
            {
                "data": one.against,
                "step": place[one.against],
                "arm": one.arm,
                "network": one.network,
                "metric": one.metric,
                "value": one.value,
                "gap": gaps.get((one.arm, one.network, one.against, one.metric)),
            }
            for one in known.scores
        ],
        schema_overrides={"gap": pl.Float64},
    )


def attacks(run: RunFolder) -> Section | None:
    """Loss and accuracy after every step of PGD (S0-F4)."""
    blocks: list[Block] = []
    found = run.estimates.scores.filter(attack="pgd")
    found = Estimates(found.table.filter(pl.col("step").is_not_null()))
    for against in against_of(found)[:1]:  # the others go the same way, and are in the tables
        mine = found.filter(against=against)
        bound = pl.col("bound").map_elements("{:g}".format, pl.String)
        rows = mine.table.select(
            "arm", "network", "metric", "value", "low", "high",
            pl.col("step").alias("iteration"),
            pl.format("PGD within {}/255", bound).alias("attack"),
        ).sort("metric", "attack", "network", "arm", "iteration")  # fmt: skip
        blocks.append(
            curve_figures.attack_curves(
                rows,
                score_figures.basis_of(mine.table),
                x="iteration",
                unit="steps of a quarter of the bound",
                name=f"pgd-{file_name(against)}",
                title=f"Held against {against}",
            )
        )
    text = (
        "Bounds are in units of 1/255 of the way from black to white. Iteration 0 is the same "
        "images before the attack."
    )
    return Section("Under attack, step by step", text, tuple(blocks)) if blocks else None


def confidence(run: RunFolder) -> Section | None:
    """How sure networks are when they are right, and when they are wrong (S0-35, S0-F3)."""
    found = clean(run.estimates.scores).filter(metric=CONFIDENCE)
    blocks: list[Block] = [
        score_figures.by_arm(
            found.filter(against=against).table,
            name=f"confidence-{file_name(against)}",
            title=f"Right or wrong by {against}",
        )
        for against in against_of(found)[:1]
    ]
    return Section("How sure, right or wrong", "", tuple(blocks)) if blocks else None


def agreement(run: RunFolder) -> Section | None:
    """Where people agree and where they do not: who gains where (C21)."""
    found = run.estimates.scores.filter(attack="", stratum=AGREEMENT, metric=("kl", *SHOWN))
    if not len(found):
        return None
    drawn = score_figures.by_stratum(found.table, name="agreement", title="By people's agreement")
    return Section("Where people agree, and where not", "", (drawn,))


def softness(run: RunFolder) -> Section | None:
    """Learnt by tested labels (S1-43, S1-F5, S1-F9), and entropies of both (S1-F7)."""
    crossed = run.study.crossed
    shown = clean(run.estimates.scores).filter(metric=SHOWN)
    if not crossed or not len(shown):
        return None
    blocks: list[Block] = [
        score_table(
            list(shown.filter(metric=metric)),
            rows=("arm", "network"),
            columns="against",
            title=f"{metric_words(metric).title.capitalize()}: learnt in rows, tested in columns",
        )
        for metric in SHOWN
    ]
    soft = {one.arm: one.value for one in run.estimates.filter(metric="label_entropy")}
    blocks += [_against_entropy(shown.filter(metric=metric, arm=crossed), soft) for metric in SHOWN]
    if "entropies" in run.tables:
        drawn = run.tables["entropies"].select(
            pl.format("{}, {}: {}", "arm", "network", "source").alias("source"), "entropy"
        )
        title = "Is a model as undecided as its labels?"
        basis = score_figures.basis_of(shown.table)
        blocks.append(uncertainty.entropy_histograms(drawn, basis, name="entropies", title=title))
    text = (
        "Every label set is learnt, and every one is tested against on images that were not "
        "learnt. Mean entropies of what was learnt, in nats: "
        f"{', '.join(f'{arm} {number(value)}' for arm, value in soft.items())}."
    )
    return Section("Learnt and tested", text, tuple(blocks))


def _against_entropy(mine: Estimates, soft: dict[str, float]) -> Drawing:
    """A panel per test, a curve per network through the label sets by their entropy."""
    metric = metric_words(mine.table["metric"][0])
    sign = 1.0 if metric.better == "lower" else -1.0
    by_place = sorted(mine, key=lambda one: (one.network, one.against))
    best = {
        min(rivals, key=lambda one: sign * one.value)
        for _, group in groupby(by_place, key=lambda one: (one.network, one.against))
        for rivals in [list(group)]
    }
    rows = [
        {
            "panel": f"against {one.against}",
            "series": one.network,
            "x": soft[one.arm],
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "ring": one in best,
        }
        for one in sorted(mine, key=lambda one: soft[one.arm])
    ]
    table = pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high"), pl.Float64))
    return trade_off(
        table,
        score_figures.basis_of(mine.table),
        xlabel="entropy of labels learnt (nats)",
        ylabel=metric.title,
        name=f"softness-{metric.name.replace('_', '-')}",
        title=f"How soft should labels be? {metric.title.capitalize()}",
        ringed="the best label set",
        columns=3,
    )


def similarity(run: RunFolder) -> Section | None:
    """Label sets and networks against rated similarities (S1-F4, S1-F8, S1-F10)."""
    recovered = run.estimates.scores.filter(metric="recovered_similarity")
    if "similarity" not in run.tables or not len(recovered):
        return None
    ends = {one.arm: (one.value, one.low, one.high) for one in recovered}
    rows = [
        {"name": row["labels"], "measure": measure, "x": row[column], **_ends(ends[row["labels"]])}
        for measure, column in (
            ("mean entropy (nats)", "mean_entropy"),
            ("variance of the largest probability", "variance_of_top"),
            ("share of wrong comparisons", "wrong"),
        )
        for row in run.tables["similarity"].iter_rows(named=True)
    ]
    blocks: list[Block] = [
        _relation(rows, recovered, name="similarity", title="What label sets tell of similarity")
    ]
    networks = run.estimates.scores.filter(metric="network_similarity")
    if len(networks):
        blocks.append(
            score_figures.by_arm(
                networks.filter(part=networks.table["part"][0]).table,
                name="network-similarity",
                title="Do networks find alike what people do?",
            )
        )
    shown = clean(run.estimates.scores).filter(metric="cross_entropy", arm=list(ends))
    rows = [
        {
            "name": one.arm,
            "measure": f"tested on {one.against}, {one.network}",
            "x": ends[one.arm][0],
            **_ends((one.value, one.low, one.high)),
        }
        for one in shown
    ]
    title = "Cross-entropy by what labels tell of similarity"
    drawn = {"name": "performance-information", "title": title, "value": "cross-entropy"}
    blocks += [_relation(rows, shown, **drawn)] if rows else []
    text = (
        "Every label set is embedded by itself and compared with rated pairs; label sets that only "
        "smooth others recover the same. Networks are compared by what their last layer reads."
    )
    return Section("Similarities that people rated", text, tuple(blocks))


def _ends(numbers: tuple[float, float | None, float | None]) -> dict[str, float | None]:
    return dict(zip(("value", "low", "high"), numbers, strict=True))


def _relation(rows: list[dict[str, object]], basis: Estimates, **how: str) -> Drawing:
    table = pl.DataFrame(rows, schema_overrides=dict.fromkeys(("low", "high"), pl.Float64))
    return score_figures.relation(table, score_figures.basis_of(basis.table), **how)


def tracking(run: RunFolder) -> Section | None:
    """Whether soft answers follow the ambiguity that others' votes show: items as dots (S3-F5)."""
    if "tracking" not in run.tables:
        return None
    table = run.tables["tracking"]
    found = run.estimates.filter(metric="rank_correlation")
    drawing = uncertainty.entropy_tracking(table, score_figures.basis_of(found.table))
    text = (
        "People who gave soft answers did not see the votes. Where these disagree more, a first "
        "choice that is less probable and more classes that are left possible say the same."
    )
    return Section("Answers and ambiguity", text, (drawing,))


def label_pairs(run: RunFolder) -> Section | None:
    """Labels of two kinds of people side by side, and one answer as every recipe reads it."""
    if "label_pairs" not in run.tables:
        return None
    basis = Basis(run.simulated)
    blocks: list[Block] = [galleries.label_pairs(run.tables["label_pairs"], run.pictures, basis)]
    if "varieties" in run.tables:
        blocks.append(
            galleries.gallery(
                run.tables["varieties"],
                run.pictures,
                basis,
                name="varieties",
                title="One person's answer, as every recipe reads it",
            )
        )
    text = (
        "Closest are doubtful pictures to which both give the same label; farthest those on which "
        "they differ most; softened are those on which one kind of people is of one mind and the "
        "other is least sure. Chosen by total variation and entropy, not by hand."
    )
    return Section("Labels side by side", text, tuple(blocks))


def arms(run: RunFolder) -> Section | None:
    """What the networks learnt from."""
    if "arms" not in run.tables:
        return None
    labels = run.tables["arms"].rename(lambda name: name.replace("_", " "))
    learnt = Table("What the networks learnt from", labels, simulated=run.simulated)
    study = run.study
    folds = f" and {study.folds} folds" if study.folds > 1 else ""
    text = (
        f"Every arm trained {', '.join(study.networks)} for {study.training.epochs} epochs at "
        f"most, with {study.seeds} seeds{folds}; all took {run.timing.seconds:.0f} s."
    )
    if study.corruptions:
        whose = "CIFAR-10-C's own" if run.info.get("corrupted elsewhere") else "corrupted by us"
        text += f" Corrupted images are {whose}."
    if study.dynamics is not None:
        text += (
            f" Data maps and convergence are of other trainings, of {study.dynamics.epochs} epochs "
            f"at a {study.dynamics.schedule} rate."
        )
    return Section("What was compared", text, (learnt,))


def file_name(against: str) -> str:
    """The part of a figure's file name that says whose labels it is about.

    >>> file_name("CIFAR-10S+hard")
    'cifar-10s-hard'
    """
    return re.sub(r"[^\w.]+", "-", against.lower()).strip("-")


# Networks that were trained elsewhere: which is closest to people.

COLUMNS = (
    ("cross_entropy", PEOPLE),
    ("cross_entropy", ORIGINAL),
    ("accuracy", ORIGINAL),
    ("second_best_accuracy", PEOPLE),
    ("second_best_accuracy_all", PEOPLE),
    ("confidence_right", PEOPLE),
    ("confidence_wrong", PEOPLE),
)
"""What the table shows of each network, and against whose labels."""


def leaderboard(run: RunFolder) -> Section | None:
    """Networks by their closeness to people, with the lines that it is read against (C20)."""
    stored = clean(run.estimates.scores)
    stored = Estimates(stored.table.filter(pl.col("network") == "", pl.col("arm") != ""))
    close = stored.filter(metric="cross_entropy", against=PEOPLE)
    if ORACLE not in set(close.table["arm"]):
        return None
    ranked = pl.concat([close.table, stored.filter(metric="accuracy", against=ORIGINAL).table])
    drawn = score_figures.leaderboard(
        ranked.filter(pl.col("arm") != ORACLE), references=reference_lines(run, PEOPLE)
    )
    table = Table(
        "Networks, next to the paper's numbers",
        networks_table(run, stored),
        caption="In brackets 95 % intervals over images: each network was trained once.",
    )
    return Section("Which network is closest to people?", _lines_text(run), (drawn, table))


def _lines_text(run: RunFolder) -> str:
    floor, oracle = (
        next(iter(run.estimates.filter(metric=metric, against=PEOPLE, stratum="all"))).value
        for metric in ("entropy_floor", "class_oracle")
    )
    text = (
        f"Cross-entropy to people cannot be below {floor:.4f}; knowing each image's class and "
        f"nothing else reaches {oracle:.4f}."
    )
    for one in run.estimates.filter(metric="modes_differ", stratum="all"):
        text += (
            f" People's most frequent answer is not the original label on {one.value:,.0f} of "
            f"{one.items:,} images."
        )
    return text


def networks_table(run: RunFolder, stored: Estimates) -> pl.DataFrame:
    """One row per network, one column per number; the paper's number behind ours."""
    printed = {(row["arm"], row["metric"], row["against"]): row["printed"] for row in run.printed}
    known = {(one.arm, one.metric, one.against): one for one in stored}
    rows = []
    for arm in stored.table["arm"].unique(maintain_order=True):
        row = {"network": arm}
        for metric, against in COLUMNS:
            one = known.get((arm, metric, against))
            ours = "–" if one is None else with_ends(one)
            paper = printed.get((arm, metric, against))
            title = f"{metric_words(metric).title}, {against}"
            row[title] = f"{ours} | paper {paper}" if paper else ours
        rows.append(row)
    return pl.DataFrame(rows)
