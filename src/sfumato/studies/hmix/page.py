"""Draw the report of an analysis of H-Mix from the files in its folder alone."""

from pathlib import Path
from typing import Any

import polars as pl

from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.figures import (
    boxes,
    coefficient_curves,
    gallery,
    histograms,
    mix_gallery,
    pair_curves,
)
from sfumato.reporting.page import Block, Page, Section
from sfumato.reporting.tables import How, Table
from sfumato.reporting.text import Finding, interval, number, signed
from sfumato.studies.files import write_report
from sfumato.studies.hmix.analysis import RELEASED
from sfumato.studies.hmix.curves import BEND
from sfumato.studies.hmix.measured import AMBIGUOUS, CLEAR, FOLLOWS, OTHER_MASS
from sfumato.studies.hmix.stored import HMixRun, read_run
from sfumato.studies.hmix.study import ALL, LATER, PARTS, THESIS
from sfumato.studies.hmix.thesis import (
    PART_NAMES,
    Compared,
    claims_table,
    compare_claims,
)
from sfumato.studies.verdicts import KINDS, counted

__all__ = ["coefficient_rows", "draw_hmix_report", "part_rows"]

BRACKETS = "In brackets 95 % intervals over people and mixes, both resampled."
OVER = "people and mixes"


def draw_hmix_report(folder: Path) -> Path:
    """Write ``report.html`` and ``figures/``; returns the path of the report."""
    return write_report(_page(read_run(folder)), folder)


def _page(run: HMixRun) -> Page:
    compared = compare_claims(run)
    sections = (
        Section(
            "Next to the thesis",
            counted(one.verdict for one in compared),
            (claims_table(compared),),
        ),
        _whose(run),
        _seen(run),
        _single(run),
        _pairs(run),
        _confidence(run),
        _consistency(run),
        _halves(run),
        _labels(run),
    )
    settings = {"study": run.study, "versions": run.versions, "provenance": run.provenance}
    return Page(
        title=run.study["title"],
        subtitle=run.study["about"],
        summary=(_numbers(run), *_summary(compared)),
        sections=sections,
        how=How(settings=settings),
    )


def _numbers(run: HMixRun) -> Finding:
    """The numbers of the whole release in one sentence."""
    by = {
        measure: " / ".join(f"{row['value']:.2f}".lstrip("0") for row in rows.iter_rows(named=True))
        for measure in ("median", "confidence")
        for rows in [
            run.tables["measured"].filter(
                pl.col("group").str.contains(r"^0\."), part=ALL, measure=measure
            )
        ]
    }
    mass = run.measured(THESIS, OTHER_MASS, RELEASED)
    follows = run.measured(THESIS, f"{FOLLOWS}, answers", RELEASED)
    assert mass and follows
    text = (
        f"At .1 / .25 / .5 / .75 / .9 people's median answers are {by['median']} and their mean "
        f"confidence {by['confidence']}. Soft labels of mixes put {mass['value']:.2%} of their "
        "mass on classes that were not mixed; their mass on the first class follows the "
        f"coefficient with Pearson's r = {follows['value']:.2f}."
    )
    return Finding(text, "found")


def _summary(compared: list[Compared]) -> list[Finding]:
    found = [
        Finding(
            f"{one.claim.says}: {one.verdict}{f' ({one.elsewhere})' if one.elsewhere else ''}.",
            KINDS[one.verdict],
        )
        for one in compared
    ]
    told = (
        "Mixed images are made anew from JPEG copies of CIFAR-10 where the official archive is "
        "not at hand: nearly, not exactly, what people saw."
    )
    return [*found, Finding(told, "caution")]


def _whose(run: HMixRun) -> Section:
    text = (
        "The release does not say which of its rows the thesis is about, but its mixes do. The "
        "thesis mixes each of 270 pairs of images with three coefficients; all other pairs in the "
        "release are mixed once. The first are 810 mixes, judged by 33 people, and the rest 1,260, "
        "judged by 48 others: no person and no mix is in both."
    )
    shown = Table(
        "The two parts of the release",
        part_rows(run),
        caption=(
            "Answers include repeats. “Of the 7,000” are the test images that the thesis trains on."
        ),
    )
    return Section("Whose answers these are", text, (shown,))


def part_rows(run: HMixRun) -> pl.DataFrame:
    """A row a part: people, mixes, answers and images."""
    rows = [
        {
            "part": PART_NAMES[part],
            "people": facts["people"],
            "mixes": facts["mixes"],
            "pairs of images": facts["image_pairs"],
            "answers": facts["answers"],
            "repeats": facts["repeats"],
            "answers a person": f"{facts['fewest_of_a_person']}–{facts['most_of_a_person']}",
            "people a mix, at least": facts["fewest_people_of_a_mix"],
            "images": facts["images"],
            "of the 7,000": facts["images_of_the_7000"],
        }
        for part in PARTS
        for facts in [run.facts[part]]
    ]
    return pl.DataFrame(rows)


def _seen(run: HMixRun) -> Section:
    blocks: list[Block] = [_seen_boxes(run, part) for part in (THESIS, LATER)]
    blocks.append(
        Table(
            "Answers by coefficient",
            coefficient_rows(run),
            caption=(
                f"{BRACKETS} “On the other side” are answers that see more of the image there is "
                "less of."
            ),
        )
    )
    text = (
        "People were told the two classes and said which share of each makes up the image. Half of "
        "all answers lie in a box; dashed: people see what was mixed."
    )
    return Section("What people see against what was mixed", text, tuple(blocks))


def _seen_boxes(run: HMixRun, part: str) -> Drawing:
    mine = run.tables["inferred"].filter(pl.col("part") == part).sort("shown")
    groups = mine["shown"].unique().sort().to_list()
    return boxes(
        mine.select(pl.col("shown").cast(pl.String).alias("group"), value="perceived"),
        _basis(run, part),
        xlabel="coefficient of the first image",
        ylabel="share of the first class that people see",
        diagonal=groups,
        name=f"seen-{part}",
        title=f"Inferred and generating coefficient: {PART_NAMES[part]}",
    )


def coefficient_rows(run: HMixRun) -> pl.DataFrame:
    """A row a part and coefficient: median, quartiles, error and confidence with intervals."""
    measured = run.tables["measured"]
    rows = []
    for part in PARTS:
        for shown in sorted(run.tables["inferred"]["shown"].unique()):
            mine = measured.filter(part=part, group=f"{shown:g}")
            by = {row["measure"]: row for row in mine.iter_rows(named=True)}
            quartiles = [number(by[f"{one} quartile"]["value"]) for one in ("lower", "upper")]
            rows.append(
                {
                    "part": PART_NAMES[part],
                    "coefficient": f"{shown:g}",
                    "answers": by["median"]["answers"],
                    "median seen": _with_ends(by["median"]),
                    "middle half": " to ".join(quartiles),
                    "|seen - mixed|": _with_ends(by["error"]),
                    "on the other side": _with_ends(by["other side"])
                    if "other side" in by
                    else "–",
                    "confidence": _with_ends(by["confidence"]),
                }
            )
    return pl.DataFrame(rows)


def _single(run: HMixRun) -> Section:
    galleries = (
        ("figure", "The mixes of figure 4.3", "mixes-figure"),
        ("farthest", "Where people are farthest from the coefficient", "mixes-farthest"),
        ("divided", "Where people are most divided", "mixes-divided"),
    )
    blocks: list[Block] = []
    for key, title, name in galleries:
        answers = run.tables[f"gallery_{key}"]
        basis = Basis(False, items=answers["mix"].n_unique())
        blocks.append(mix_gallery(answers, run.pictures, basis, name=name, title=title))
    blocks.append(
        Table(
            "Figure 4.3 and its mixes",
            run.tables["examples"],
            caption="Mean share of the first class, with and without repeated answers.",
        )
    )
    text = (
        "Mixed again from their two images. Only mixes with three answers or more are looked "
        "through for the second and third gallery."
    )
    return Section("Single mixes", text, tuple(blocks))


def _pairs(run: HMixRun) -> Section:
    points, lines = run.tables["points"], run.tables["lines"]
    first, second = run.study["example"]
    example = pl.col("pair") == f"{first} + {second}"
    basis = _basis(run, ALL, interval=OVER)
    blocks: tuple[Block, ...] = (
        pair_curves(
            points.filter(example),
            lines.filter(example),
            basis,
            columns=1,
            name="pair-example",
            title=f"A category boundary: {first} and {second}",
        ),
        pair_curves(points, lines, basis, name="pair-curves", title="All class pairs"),
        Table("Curves of class pairs", _parameter_rows(run), caption=BRACKETS),
    )
    text = (
        "A logistic curve is fitted to all answers about a class pair by least squares: the "
        "midpoint is the coefficient at which both classes are seen alike, and at a steepness of 4 "
        "a curve is as steep in its middle as the dashed line. The bend is the slope of mean "
        "answers from 0.25 to 0.75 less that outside: zero for every straight line."
    )
    return Section("Class pairs", text, blocks)


def _parameter_rows(run: HMixRun) -> pl.DataFrame:
    rows: dict[str, dict[str, str]] = {}
    for one in run.tables["parameters"].iter_rows(named=True):
        row = rows.setdefault(one["pair"], {"class pair": one["pair"]})
        row["answers"] = str(one["answers"])
        sign = signed if one["parameter"] == BEND else number
        ends = interval(one["low"], one["high"]) or "(no interval)"
        row[one["parameter"]] = f"{sign(one['value'])} {ends}"
    return pl.DataFrame(list(rows.values()))


def _confidence(run: HMixRun) -> Section:
    measured = run.tables["measured"].filter(
        pl.col("measure") == "confidence", pl.col("group").str.contains(r"^0\.")
    )
    curves = measured.select(
        pl.col("part").replace_strict(PART_NAMES).alias("series"),
        pl.col("group").cast(pl.Float64).alias("shown"),
        "value",
        "low",
        "high",
    )
    drawn = coefficient_curves(
        curves,
        _basis(run, ALL, interval=OVER),
        ylabel="mean confidence, 0 to 1",
        name="confidence",
        title="How sure people are, by coefficient",
    )
    text = (
        "Ambiguous images have an entropy of at least "
        f"{run.study['high']:g} nats in CIFAR-10H, clear ones at most {run.study['low']:g}. There "
        "are few mixes of two ambiguous images, so their boxes hold few answers; the correlation "
        "uses all mixes, with the sum of both entropies."
    )
    blocks = (
        drawn,
        _endpoint_boxes(run, "confidence", "confidence, 0 to 1"),
        _endpoint_boxes(run, "error", "|seen - mixed|"),
        Table("By the entropy of both images", _endpoint_rows(run), caption=BRACKETS),
    )
    return Section("Confidence", text, blocks)


def _endpoint_boxes(run: HMixRun, column: str, ylabel: str) -> Drawing:
    ends = pl.col("first_entropy", "second_entropy")
    high = pl.all_horizontal(ends >= run.study["high"])
    low = pl.all_horizontal(ends <= run.study["low"])
    group = pl.when(low).then(pl.lit("clear")).when(high).then(pl.lit("ambiguous"))
    found = (
        run.tables["inferred"]
        .with_columns(kind=group)
        .filter(pl.col("kind").is_not_null())
        .select(
            group=pl.format("{}, {}", "kind", pl.col("part").replace({LATER: "later"})),
            value=column,
        )
    )
    order = [f"{kind}, {part}" for part in (THESIS, LATER) for kind in ("clear", "ambiguous")]
    found = pl.concat([found.filter(pl.col("group") == name) for name in order])
    return boxes(
        found,
        _basis(run, ALL),
        xlabel="both images are",
        ylabel=ylabel,
        name=f"endpoints-{column}",
        title=f"Mixes of ambiguous and of clear images: {ylabel}",
    )


def _endpoint_rows(run: HMixRun) -> pl.DataFrame:
    rows = []
    for part in PARTS:
        for measure, name in (("confidence", "confidence"), ("error", "|seen - mixed|")):
            groups = [(measure, one) for one in (CLEAR, AMBIGUOUS, "ambiguous less clear")]
            groups.append((f"correlation of {measure} with the endpoints' entropy", ALL))
            clear, ambiguous, less, along = (run.measured(part, *one) for one in groups)
            assert clear and ambiguous and less and along
            rows.append(
                {
                    "part": PART_NAMES[part],
                    "of": name,
                    "mixes, clear": clear["mixes"],
                    "mixes, ambiguous": ambiguous["mixes"],
                    "both clear": _with_ends(clear),
                    "both ambiguous": _with_ends(ambiguous),
                    "difference": f"{signed(less['value'])} {interval(less['low'], less['high'])}",
                    "r with entropy": _with_ends(along),
                }
            )
    return pl.DataFrame(rows)


def _consistency(run: HMixRun) -> Section:
    measures = ("change of the coefficient", "correlation of the coefficient")
    shown = _measured_rows(run, (*measures, "change of confidence"))
    text = (
        "The images of trials 15 and 20 came again at the end. A change is the absolute difference "
        "of two answers about one mix: by the same person, or by two people."
    )
    return Section("Would they say it again?", text, (Table("Repeats", shown, caption=BRACKETS),))


def _halves(run: HMixRun) -> Section:
    midpoints = run.tables["midpoints"]
    drawn = histograms(
        midpoints.select(group="task", value="perceived"),
        Basis(False, people=midpoints["annotator"].n_unique()),
        xlabel="coefficient chosen as half and half",
        counted="answers",
        name="midpoints",
        title="Which mix people call half and half",
    )
    measures = ("mean midpoint", "median midpoint", "share within 0.1 of 0.5")
    text = (
        "In two other tasks of H-Mix people search: they step through the mixes of two images "
        "(construct) or pick one of eleven that are shown in any order (select). Coefficients are "
        "in steps of 0.1. The thesis does not report these tasks."
    )
    shown = Table("Midpoints", _measured_rows(run, measures), caption=BRACKETS)
    return Section("Half and half", text, (drawn, shown))


def _labels(run: HMixRun) -> Section:
    galleries = (
        ("figure", "Horse and ship, half and half (figure 5.1)", "labels-figure"),
        ("others", "Mixes with most mass on other classes", "labels-others"),
        ("mixed", "Mixes with least mass on other classes", "labels-mixed"),
    )
    blocks: list[Block] = []
    for key, title, name in galleries:
        bars = run.tables[f"bars_{key}"]
        basis = Basis(False, items=bars["item"].n_unique())
        blocks.append(gallery(bars, run.pictures, basis, name=name, title=title))
    masses = (
        run.tables["label_masses"]
        .group_by("mix", maintain_order=True)
        .agg(pl.col("shown").first(), pl.col("other_mass").mean())
    )
    facts: dict[str, Any] = run.facts["labels"]
    blocks.append(
        histograms(
            masses.sort("shown").select(
                group=pl.format("coefficient {}", "shown"), value="other_mass"
            ),
            Basis(False, items=facts["mixes"], people=facts["people"]),
            xlabel="mass on classes that were not mixed",
            counted="mixes",
            name="other-mass",
            title="How much of a label goes to other classes",
        )
    )
    measured = run.tables["measured"]
    names = [name for name in measured["measure"].unique(maintain_order=True) if "mass" in name]
    blocks.append(Table("Soft labels of mixes", _measured_rows(run, names), caption=BRACKETS))
    text = (
        f"{facts['people']} people who were not told the classes gave soft labels of "
        f"{facts['mixes']} of the mixes. Which of the horses and ships figure 5.1 shows, it does "
        "not say. The released labels name no annotators; each was given to the answer whose label "
        "by our recipe is nearest. They keep 1/1.1 of what people stated where classes were left "
        "possible, ours 0.9: the second rows of the table are ours."
    )
    return Section("Classes that were not mixed", text, tuple(blocks))


def _measured_rows(run: HMixRun, measures: tuple[str, ...] | list[str]) -> pl.DataFrame:
    found = run.tables["measured"].filter(pl.col("measure").is_in(list(measures)))
    rows = [
        {
            "part": PART_NAMES[row["part"]],
            "measure": row["measure"],
            "of": row["group"],
            "value": _with_ends(row),
            "answers": row["answers"],
            "mixes": row["mixes"],
            "people": row["people"],
        }
        for row in found.iter_rows(named=True)
    ]
    table = pl.DataFrame(rows)
    return table.drop("part") if table["part"].n_unique() == 1 else table


def _basis(run: HMixRun, part: str, interval: str = "") -> Basis:
    facts = run.facts[part]
    return Basis(False, items=facts["mixes"], people=facts["people"], interval=interval)


def _with_ends(row: dict[str, Any]) -> str:
    return f"{number(row['value'])} {interval(row['low'], row['high']) or '(no interval)'}"
