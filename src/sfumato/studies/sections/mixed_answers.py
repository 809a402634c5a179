"""Sections about answers to mixed images: what people see, how sure they are, and soft labels."""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from sfumato.judgments.mixed import mix_named
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.figures import (
    boxes,
    coefficient_curves,
    gallery,
    histograms,
    mix_gallery,
    pair_curves,
)
from sfumato.reporting.page import Block, Section, Table
from sfumato.reporting.text import interval, number, signed_number
from sfumato.scores import Estimate, metric_words
from sfumato.studies.cifar_sources import LATER, THESIS
from sfumato.studies.data import RunFolder
from sfumato.studies.measures.mixed_answers import (
    ALL,
    AMBIGUOUS,
    ANOTHER,
    CLEAR,
    CONSISTENT,
    FIGURE_4_3,
    FIRST_VIEWS,
    OVER,
    PARTS,
    SAME,
    SOFT_LABELS,
    mix_words,
)

PART_NAMES = {THESIS: "thesis's 810 mixes", LATER: "1,260 later mixes", ALL: "whole release"}
BRACKETS = "In brackets 95 % intervals over people and mixes, both resampled."
LABEL_METRICS = (
    "other_mass",
    "other_mass_by_answer",
    "pearson_mass_coefficient",
    "pearson_mass_coefficient_by_answer",
)

Key = tuple[str, str, str, str, str]
"""Part, metric, arm, the arm that is subtracted, and stratum."""


def _known(run: RunFolder) -> dict[Key, Estimate]:
    return {(one.part, one.metric, one.arm, one.second, one.stratum): one for one in run.estimates}


def _has_answers(run: RunFolder) -> bool:
    return "mix_answers" in run.tables


def _basis(known: Mapping[Key, Estimate], part: str, interval: str = "") -> Basis:
    mixes, people = (known[part, metric, "", "", "all"].value for metric in ("items", "people"))
    return Basis(False, items=int(mixes), people=int(people), interval=interval)


def _with_ends(one: Estimate | None) -> str:
    if one is None:
        return "–"
    return f"{number(one.value)} {interval(one.low, one.high) or '(no interval)'}"


def whose_answers(run: RunFolder) -> Section | None:
    """The two parts of the release."""
    if not _has_answers(run):
        return None
    text = (
        "The release does not say which of its rows the thesis is about, but its mixes do. The "
        "thesis mixes each of 270 pairs of images with three coefficients; all other pairs in the "
        "release are mixed once. The first are 810 mixes, judged by 33 people, and the rest 1,260, "
        "judged by 48 others: no person and no mix is in both."
    )
    caption = (
        "Answers include repeats. “Of the 7,000” are the test images that the thesis trains on."
    )
    table = Table("The two parts of the release", part_rows(run), caption=caption)
    return Section("Whose answers these are", text, (table,))


def part_rows(run: RunFolder) -> pl.DataFrame:
    """One row per part: people, mixes, answers and images."""
    known = _known(run)
    rows = []
    for part in PARTS:
        count = {
            key[1]: f"{one.value:,.0f}" for key, one in known.items() if key[2:] == ("", "", "all")
            and key[0] == part
        }  # fmt: skip
        rows.append(
            {
                "part": PART_NAMES[part],
                "people": count["people"],
                "mixes": count["items"],
                "pairs of images": count["image_pairs"],
                "answers": count["answers"],
                "repeats": count["repeats"],
                "answers per person": f"{count['fewest_answers']}–{count['most_answers']}",
                "people per mix, at least": count["fewest_people"],
                "images": count["images"],
                "of the 7,000": count["training_images"],
            }
        )
    return pl.DataFrame(rows)


def mixes_seen(run: RunFolder) -> Section | None:
    """What people see against what was mixed."""
    if not _has_answers(run):
        return None
    known = _known(run)
    blocks: list[Block] = [_seen_boxes(run, known, part) for part in (THESIS, LATER)]
    caption = (
        f"{BRACKETS} “On the other side” are answers that see more of the image there is less of."
    )
    blocks.append(Table("Answers by coefficient", coefficient_rows(run), caption=caption))
    medians, confidence = (
        " / ".join(
            f"{known[ALL, metric, '', '', name].value:.2f}".lstrip("0")
            for name in _coefficients(run)
        )
        for metric in ("median_answer", "confidence")
    )
    text = (
        "People were told the two classes and said which share of each makes up the image. At "
        f"{' / '.join(name.lstrip('0') for name in _coefficients(run))} their median answers are "
        f"{medians} and their mean confidence {confidence}. Half of all answers lie in a box; "
        "dashed: people see what was mixed."
    )
    return Section("What people see against what was mixed", text, tuple(blocks))


def _coefficients(run: RunFolder) -> list[str]:
    return [f"{shown:g}" for shown in run.tables["mix_answers"]["shown"].unique().sort()]


def _seen_boxes(run: RunFolder, known: Mapping[Key, Estimate], part: str) -> Drawing:
    mine = run.tables["mix_answers"].filter(pl.col("part") == part).sort("shown")
    return boxes(
        mine.select(pl.col("shown").cast(pl.String).alias("group"), value="perceived"),
        _basis(known, part),
        xlabel="coefficient of the first image",
        ylabel="share of the first class that people see",
        diagonal=mine["shown"].unique().sort().to_list(),
        name=f"seen-{part}",
        title=f"Inferred and generating coefficient: {PART_NAMES[part]}",
    )


def coefficient_rows(run: RunFolder) -> pl.DataFrame:
    """One row per part and coefficient: median, quartiles, error and confidence."""
    known = _known(run)
    rows = []
    for part in PARTS:
        for name in _coefficients(run):
            by = {key[1]: one for key, one in known.items() if key[0] == part
                  and key[2:] == ("", "", name)}  # fmt: skip
            quartiles = [
                number(by[f"{which}_quartile_answer"].value) for which in ("lower", "upper")
            ]
            rows.append(
                {
                    "part": PART_NAMES[part],
                    "coefficient": name,
                    "answers": f"{by['answers'].value:.0f}",
                    "median seen": _with_ends(by["median_answer"]),
                    "middle half": " to ".join(quartiles),
                    "|seen - mixed|": _with_ends(by["coefficient_error"]),
                    "on the other side": _with_ends(by.get("other_side")),
                    "confidence": _with_ends(by["confidence"]),
                }
            )
    return pl.DataFrame(rows)


def single_mixes(run: RunFolder) -> Section | None:
    """Galleries of mixes, and the mean answers that figure 4.3 prints."""
    if "mix_gallery" not in run.tables:
        return None
    galleries = {
        "figure": "The mixes of figure 4.3",
        "farthest": "Where people are farthest from the coefficient",
        "divided": "Where people are most divided",
    }
    blocks: list[Block] = []
    for key, title in galleries.items():
        answers = run.tables["mix_gallery"].filter(pl.col("gallery") == key)
        basis = Basis(False, items=answers["mix"].n_unique())
        blocks.append(mix_gallery(answers, run.pictures, basis, name=f"mixes-{key}", title=title))
    known = _known(run)
    rows = []
    for name, printed in FIGURE_4_3.items():
        mix = mix_words(mix_named(name))
        rows.append(
            {
                "mix": mix,
                "figure 4.3": f"{printed:g}",
                "all answers": number(known[THESIS, "mean_answer", "", "", mix].value),
                "first views only": number(
                    known[THESIS, "mean_answer", FIRST_VIEWS, "", mix].value
                ),
                "answers": f"{known[THESIS, 'answers', '', '', mix].value:.0f}",
            }
        )
    caption = "Mean share of the first class, with and without repeated answers."
    blocks.append(Table("Figure 4.3 and its mixes", pl.DataFrame(rows), caption=caption))
    text = (
        "Mixed again from their two images. Only mixes with three answers or more are looked "
        "through for the second and third gallery."
    )
    return Section("Single mixes", text, tuple(blocks))


def class_pairs(run: RunFolder) -> Section | None:
    """The curve of every class pair."""
    if "pair_points" not in run.tables:
        return None
    known = _known(run)
    points, lines = run.tables["pair_points"], run.tables["pair_lines"]
    first, second = run.study.mixes.example
    example = pl.col("pair") == f"{first} + {second}"
    basis = _basis(known, ALL, interval=OVER)
    blocks: list[Block] = [
        pair_curves(
            points.filter(example),
            lines.filter(example),
            basis,
            columns=1,
            name="pair-example",
            title=f"A category boundary: {first} and {second}",
        ),
        pair_curves(points, lines, basis, name="pair-curves", title="All class pairs"),
        Table("Curves of class pairs", _parameter_rows(points, known), caption=BRACKETS),
    ]
    off, off_half, bent = (
        known[ALL, metric, "", "", "all"]
        for metric in ("share_off_coefficient", "share_off_half", "share_bent")
    )
    text = (
        "A logistic curve is fitted to all answers about a class pair by least squares: the "
        "midpoint is the coefficient at which both classes are seen alike, and at a steepness of 4 "
        "a curve is as steep in its middle as the dashed line. The bend is the slope of mean "
        "answers from 0.25 to 0.75 less that outside: zero for every straight line. "
        f"{_of(off)} mean answers with an interval miss the coefficient, {_of(off_half)} midpoints "
        f"miss 0.5, and {_of(bent)} class pairs bend by themselves."
    )
    return Section("Class pairs", text, tuple(blocks))


def _of(share: Estimate) -> str:
    return f"{share.value * share.items:.0f} of {share.items}"


def _parameter_rows(points: pl.DataFrame, known: Mapping[Key, Estimate]) -> pl.DataFrame:
    rows = []
    for pair in points["pair"].unique(maintain_order=True):
        middle, steep, bend = (
            known[ALL, metric, "", "", pair]
            for metric in ("curve_midpoint", "curve_steepness", "bend")
        )
        rows.append(
            {
                "class pair": pair,
                "answers": f"{known[ALL, 'answers', '', '', pair].value:.0f}",
                "midpoint": _with_ends(middle),
                "steepness": _with_ends(steep),
                "bend": signed_number(bend.value)
                + f" {interval(bend.low, bend.high) or '(no interval)'}",
            }
        )
    return pl.DataFrame(rows)


def how_sure(run: RunFolder) -> Section | None:
    """Confidence by coefficient, and by the doubts about both images."""
    if not _has_answers(run):
        return None
    known = _known(run)
    curve = [
        {
            "series": PART_NAMES[part],
            "shown": float(name),
            "value": one.value,
            "low": one.low,
            "high": one.high,
        }
        for part in PARTS
        for name in _coefficients(run)
        for one in [known[part, "confidence", "", "", name]]
    ]
    cut = run.study.mixes
    blocks = (
        coefficient_curves(
            pl.DataFrame(curve),
            _basis(known, ALL, interval=OVER),
            ylabel="mean confidence, 0 to 1",
            name="confidence",
            title="How sure people are, by coefficient",
        ),
        _endpoint_boxes(run, known, "confidence", "confidence, 0 to 1"),
        _endpoint_boxes(run, known, "error", "|seen - mixed|"),
        Table("By the entropy of both images", _endpoint_rows(known), caption=BRACKETS),
    )
    text = (
        f"Ambiguous images have an entropy of at least {cut.high:g} nats in CIFAR-10H, clear ones "
        f"at most {cut.low:g}. Few mixes are of two ambiguous images, so their boxes hold few "
        "answers; the correlation uses all mixes, with the sum of both entropies."
    )
    return Section("Confidence", text, blocks)


def _endpoint_boxes(
    run: RunFolder, known: Mapping[Key, Estimate], column: str, ylabel: str
) -> Drawing:
    ends, cut = pl.col("first_entropy", "second_entropy"), run.study.mixes
    kinds = {
        "clear": pl.all_horizontal(ends <= cut.low),
        "ambiguous": pl.all_horizontal(ends >= cut.high),
    }
    answers = run.tables["mix_answers"]
    found = [
        answers.filter(inside, pl.col("part") == part).select(
            pl.lit(f"{kind}, {part}").alias("group"), value=column
        )
        for part in (THESIS, LATER)
        for kind, inside in kinds.items()
    ]
    return boxes(
        pl.concat(found),
        _basis(known, ALL),
        xlabel="both images are",
        ylabel=ylabel,
        name=f"endpoints-{column}",
        title=f"Mixes of ambiguous and of clear images: {ylabel}",
    )


def _endpoint_rows(known: Mapping[Key, Estimate]) -> pl.DataFrame:
    shown = (
        ("confidence", "pearson_confidence_entropy", "confidence"),
        ("coefficient_error", "pearson_error_entropy", "|seen - mixed|"),
    )
    rows = []
    for part in PARTS:
        for metric, along, title in shown:
            clear, ambiguous = (known[part, metric, arm, "", "all"] for arm in (CLEAR, AMBIGUOUS))
            less = known[part, metric, AMBIGUOUS, CLEAR, "all"]
            ends = interval(less.low, less.high) or "(no interval)"
            rows.append(
                {
                    "part": PART_NAMES[part],
                    "of": title,
                    "mixes, clear": clear.items,
                    "mixes, ambiguous": ambiguous.items,
                    "both clear": _with_ends(clear),
                    "both ambiguous": _with_ends(ambiguous),
                    "difference": f"{signed_number(less.value)} {ends}",
                    "r with entropy": _with_ends(known[part, along, "", "", "all"]),
                }
            )
    return pl.DataFrame(rows)


def repeats(run: RunFolder) -> Section | None:
    """Whether the same person, or another one, says the same again."""
    known = _known(run)
    metrics = ("coefficient_change", "confidence_change", "pearson_two_answers")
    shown = [one for one in known.values() if one.metric in metrics and one.arm in (SAME, ANOTHER)]
    if not shown:
        return None
    text = (
        "The images of trials 15 and 20 came again at the end. A change is the absolute difference "
        "of two answers about one mix: by the same person, or by two people."
    )
    table = Table("Repeats", _estimate_rows(shown, known), caption=BRACKETS)
    return Section("Would they say it again?", text, (table,))


def half_and_half(run: RunFolder) -> Section | None:
    """Which mix people call half and half."""
    if "mix_midpoints" not in run.tables:
        return None
    known, midpoints = _known(run), run.tables["mix_midpoints"]
    metrics = ("mean_midpoint", "median_midpoint", "share_near_half")
    shown = [one for one in known.values() if one.metric in metrics]
    drawn = histograms(
        midpoints.select(group="task", value="perceived"),
        Basis(False, people=midpoints["annotator"].n_unique()),
        xlabel="coefficient chosen as half and half",
        counted="answers",
        name="midpoints",
        title="Which mix people call half and half",
    )
    text = (
        "In two other tasks of H-Mix people search: they step through the mixes of two images "
        "(construct) or pick one of eleven that are shown in any order (select). Coefficients are "
        "in steps of 0.1. The thesis does not report these tasks."
    )
    table = Table("Midpoints", _estimate_rows(shown, known), caption=BRACKETS)
    return Section("Half and half", text, (drawn, table))


def other_classes(run: RunFolder) -> Section | None:
    """Soft labels of mixes, and how much of them goes to classes that were not mixed."""
    if "mix_bars" not in run.tables:
        return None
    known = _known(run)
    galleries = {
        "figure": "Horse and ship, half and half (figure 5.1)",
        "others": "Mixes with most mass on other classes",
        "mixed": "Mixes with least mass on other classes",
    }
    blocks: list[Block] = []
    for key, title in galleries.items():
        bars = run.tables["mix_bars"].filter(pl.col("gallery") == key).drop("gallery")
        basis = Basis(False, items=bars["item"].n_unique())
        blocks.append(gallery(bars, run.pictures, basis, name=f"labels-{key}", title=title))
    people = known[THESIS, "people", SOFT_LABELS, "", "all"]
    blocks.append(
        histograms(
            run.tables["label_masses"]
            .sort("shown")
            .select(group=pl.format("coefficient {}", "shown"), value="other_mass"),
            Basis(False, items=people.items, people=int(people.value)),
            xlabel="mass on classes that were not mixed",
            counted="mixes",
            name="other-mass",
            title="How much of a label goes to other classes",
        )
    )
    shown = [
        one
        for arm in ("", CONSISTENT)
        for one in known.values()
        if one.metric in LABEL_METRICS and one.arm == arm
    ]
    blocks.append(Table("Soft labels of mixes", _label_rows(shown, known), caption=BRACKETS))
    mass = known[THESIS, "other_mass", "", "", "all"]
    along = known[THESIS, "pearson_mass_coefficient_by_answer", "", "", "all"]
    text = (
        f"{people.value:.0f} people who were not told the classes gave soft labels of "
        f"{people.items} of the mixes, which put {mass.value:.2%} of their mass on classes that "
        "were not mixed; their mass on the first class follows the coefficient with Pearson's r = "
        f"{along.value:.2f}. Which of the horses and ships figure 5.1 shows, it does not say. The "
        "released labels name no annotators; each was given to the answer whose label by our "
        "recipe is nearest. They keep 1/1.1 of what people stated where classes were left "
        "possible, ours 0.9."
    )
    return Section("Classes that were not mixed", text, tuple(blocks))


def _label_rows(shown: Sequence[Estimate], known: Mapping[Key, Estimate]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "labels": one.arm or "as released",
            "measure": metric_words(one.metric).title,
            "coefficient": one.stratum,
            "value": _with_ends(one),
            **_counted(known, (one.part, SOFT_LABELS, one.stratum)),
        }
        for one in shown
    )


def _estimate_rows(shown: Iterable[Estimate], known: Mapping[Key, Estimate]) -> pl.DataFrame:
    table = pl.DataFrame(
        {
            "part": PART_NAMES[one.part],
            "measure": metric_words(one.metric).title,
            "of": one.arm,
            "value": _with_ends(one),
            **_counted(known, (one.part, one.arm, one.stratum)),
        }
        for one in shown
    )
    return table.drop("part") if table["part"].n_unique() == 1 else table


def _counted(known: Mapping[Key, Estimate], where: tuple[str, str, str]) -> dict[str, int]:
    """Answers, mixes and people behind a number."""
    part, arm, stratum = where
    answers, people = (known[part, metric, arm, "", stratum] for metric in ("answers", "people"))
    return {"answers": int(answers.value), "mixes": answers.items, "people": int(people.value)}
