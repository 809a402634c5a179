"""Draw what an evaluation found: reliability, strata, leaderboard and the worst items."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.evaluation.cartography import bars
from sfumato.evaluation.metrics import by_class, jensen_shannon, reliability
from sfumato.evaluation.models import Evaluation, compare
from sfumato.evaluation.score import leaderboard_table
from sfumato.names import find
from sfumato.provenance import is_simulated
from sfumato.reporting import figures
from sfumato.reporting.contents import ItemContents, label_words, load_contents
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.page import (
    Bar,
    Block,
    Chart,
    Lead,
    Origin,
    Page,
    Section,
    Table,
    Text,
    meaning_of,
    provenance_of,
    score_table,
    write,
)
from sfumato.reporting.text import (
    FOUND_BY,
    Contrast,
    Finding,
    choose_findings,
    contrasts,
    count,
    interval,
    number,
    references,
    said,
    with_ends,
)
from sfumato.scores import Estimate, Estimates, metric_words, swap_arms

FEW = 6
"""Metrics up to this number are all shown by stratum."""

DRAWN = ("cross_entropy", "accuracy", "total_variation", "rms_calibration")
"""The metrics that are shown by stratum where there are more."""

HEADLINE = ("accuracy", "cross_entropy")
"""What a model that is not compared is told by first."""

WORST = 12
"""How many of the worst items are shown."""

DRAWS = 300
"""Of the bootstrap of differences between the first two models, which a page computes itself."""

MOST_BARS = 10
"""Models in the picture of the leaderboard."""

MODELS_SHOWN = 3
"""Models whose beliefs stand beside people's in a picture of an item."""


def draw_reliability(found: Estimates) -> Drawing:
    """Accuracy against confidence, one panel per model."""
    known = _with_beliefs(found, "A reliability diagram")
    tables = [
        reliability(known.labels, model).select(
            pl.lit(arm).alias("arm"), pl.lit("").alias("network"), pl.all()
        )
        for arm, model in known.models.items()
    ]
    return figures.reliability(pl.concat(tables).filter(pl.col("items") > 0), _basis(known))


def draw_strata(found: Estimates) -> Drawing:
    """Every model on every stratum, one panel per metric."""
    return figures.by_stratum(_by_people(found).table)


def _by_people(found: Estimates) -> Estimates:
    """The scores against people by the metrics that are shown by stratum: all if they are few."""
    scores = found.scores.filter(against="people")
    lines = ("entropy_floor", "class_oracle")
    known = [name for name in dict.fromkeys(scores.table["metric"]) if name not in lines]
    few = [name for name in DRAWN if name in known]
    return scores.filter(metric=known if len(known) <= FEW or not few else few)


def draw_leaderboard(found: Estimates) -> Drawing:
    """Models by cross-entropy to people, next to accuracy; by the first metric without."""
    scores = found.scores.filter(stratum="all", against="people")
    known = list(dict.fromkeys(scores.table["metric"]))
    metric = "cross_entropy" if "cross_entropy" in known else known[0]
    if "accuracy" in known and "original" in set(found.table["against"]):
        right = found.scores.filter(stratum="all", against="original", metric="accuracy")
        others = scores.table.filter(pl.col("metric") != "accuracy")
        scores = Estimates(pl.concat([others, right.table]))
    floor = scores.filter(metric="entropy_floor")
    lines = {metric: {"entropy of the labels": floor.table["value"][0]}} if len(floor) else {}
    beside = "accuracy" if metric != "accuracy" else ""
    title = "Models in order"
    return figures.leaderboard(
        scores.table, metric=metric, beside=beside, references=lines, title=title
    )


def draw_worst(found: Estimates, contents: ItemContents | None = None) -> Drawing:
    """The items on which the models are farthest from people, with their pictures."""
    known = _with_beliefs(found, "A picture of the worst items")
    items = list(worst_items(known)["item"])
    sources = {"people": known.labels, **_closest(known)}
    return figures.gallery(
        bars(sources, items),
        {} if contents is None else contents.pictures,
        _basis(known),
        name="worst-items",
        title="Where the models are farthest from people",
    )


PLOTS: dict[str, Callable[[Estimates], Drawing]] = {
    "reliability": draw_reliability,
    "strata": draw_strata,
    "leaderboard": draw_leaderboard,
    "worst": draw_worst,
}
"""Every plot of an evaluation by the name that a person types."""


def plot_evaluation(found: Estimates, plot: str = "reliability") -> Drawing:
    """The plot of that name; its ``figure`` is matplotlib's, and a notebook shows it."""
    return find(PLOTS, plot, what="plot")(found)


def report_evaluation(
    found: Estimates,
    path: str | Path,
    *,
    title: str = "Evaluation",
    text: object = None,
    pictures: str | Path | None = None,
) -> Path:
    """Write everything on one HTML page, with the worst items as texts or pictures, if given."""
    known = _with_beliefs(found, "A report")
    contents = load_contents(known.labels.items, text=text, pictures=pictures)
    write(evaluation_page(known, title=title, contents=contents), Path(path))
    return Path(path)


def evaluation_page(
    found: Evaluation, *, title: str = "Evaluation", contents: ItemContents | None = None
) -> Page:
    """One page: what was compared, leaderboard, scores, reliability, strata, worst items."""
    contents = contents or ItemContents()
    several = len(found.models) > 1
    remarks = "\n\n".join(found.remarks)
    ranked = [draw_leaderboard(found), *_places(found)] if several else []
    sections = [
        Section("Leaderboard", "", tuple(ranked)) if several else None,
        Section("Worst items", WORST_TEXT, tuple(_worst(found, contents))),
        Section("Is the confidence earned?", RELIABILITY, (draw_reliability(found),)),
        Section("By stratum", STRATA, (draw_strata(found), *_by_stratum(found))),
        Section("By class", CLASSES, (_by_class(found),)),
        Section("Scores", SCORES, tuple(_scores(found))),
    ]
    compared = Section("What was compared", _compared(found), (Text(remarks),) if remarks else ())
    rivals = _rivals(found)
    main = rivals[0] if rivals else None
    findings = choose_findings(rivals[1:], *_names(main), named=True) if main is not None else []
    return Page(
        title,
        _scored_lead(found) if main is None else _ranked_lead(found, main),
        findings=tuple([*findings, *_references(found)] if main is not None else _alone(found)),
        sections=tuple(section for section in sections if section is not None),
        appendix=(compared,),
        how=Origin(provenance=found.labels.provenance),
        alone=True,
    )


def _rivals(found: Evaluation) -> list[Contrast]:
    """The first of the leaderboard against the second, by every metric that findings are of."""
    if len(found.places) < 2 or found.places[1].behind is None:
        return []
    main = swap_arms(found.places[1].behind)
    differences = compare(
        found.labels,
        {name: found.models[name] for name in (main.second, main.arm)},
        metrics=[metric for metric in FOUND_BY if metric != main.metric],
        strata=(),
        draws=DRAWS,
    )
    mine = [row for row in differences if row.against == "people" and row.stratum == "all"]
    return contrasts([main, *mine], found.scores)


def _names(main: Contrast) -> tuple[str, str]:
    return main.head.arm, f" than {main.head.second}"


def _scored_lead(found: Evaluation) -> Lead:
    """How close a model is, or each of several by a metric that ranks them not."""
    scores = found.scores.filter(stratum="all", against="people")
    known = set(scores.table["metric"])
    metric = next((name for name in (*HEADLINE, *scores.table["metric"]) if name in known), "")
    rows = list(scores.filter(metric=metric, arm=list(found.models)))
    sign = -1 if metric_words(metric).better == "higher" else 1
    head = min(rows, key=lambda one: sign * one.value if np.isfinite(one.value) else np.inf)
    answer = f"{head.arm} has a {metric_words(metric).title} of {number(head.value)}."
    if metric == "accuracy":
        answer = f"{head.arm} names people's first choice on {head.value:.0%} of the items."
    several = len(rows) > 1
    drawn = rows if several else list(found.scores.filter(metric=metric, against="people"))
    bars = [
        Bar(one.arm if several else one.stratum, one.value, one.low, one.high, strong=one == head)
        for one in drawn
    ]
    share = (metric_words(metric).low, metric_words(metric).high) == (0, 1)
    title = metric_words(metric).title.capitalize()
    chart = Chart(
        title if several else f"{title} of {head.arm}, by stratum of the items",
        tuple(bars),
        f"{metric_words(metric).better.capitalize()} is better. Lines: 95 % intervals over items.",
        from_zero=share,
        most=1.0 if share else None,
    )
    question = "How close are they to people?" if several else f"How close to people is {head.arm}?"
    sure = f"{with_ends(head)}, 95 % interval over items."
    return _with_basis(found, question, answer, chart, sure, [head])


def _ranked_lead(found: Evaluation, main: Contrast) -> Lead:
    scores = {one.arm: one.cross_entropy for one in found.places}
    bars = [
        Bar(arm, one.value, one.low, one.high, strong=arm == main.head.arm)
        for arm, one in list(scores.items())[:MOST_BARS]
    ]
    floor = found.scores.filter(metric="entropy_floor", stratum="all", against="people")
    if len(floor):
        bars.append(Bar("no model can be below", float(floor.table["value"][0])))
    chart = Chart(
        "Cross-entropy to people in nats, the closest first",
        tuple(bars),
        "Lower is better. Lines are 95 % intervals over items, each model by itself; differences "
        "between models are paired and surer.",
    )
    answer = main.finding(*_names(main), named=True).text
    if main.clear:
        answer = (
            f"{main.head.arm} is closest to people: its cross-entropy is "
            f"{said(main.head.value, main.head.metric)} lower than that of the next, "
            f"{main.head.second}."
        )
    question = "Which model is closest to people?"
    return _with_basis(
        found, question, answer, chart, f"The difference is {main.behind()}", main.rows
    )


def _with_basis(
    found: Evaluation,
    question: str,
    answer: str,
    chart: Chart,
    sure: str,
    rows: Sequence[Estimate],
) -> Lead:
    models = count(len(found.models), "model")
    basis = (sure, f"{models}, {count(len(found.labels), 'item')}, {_answers(found)}.")
    against = [one.text for one in _references(found) if one.way == "worse"]
    against += _other_order(found)
    against.append("One set of predictions per model: another training run may come out otherwise.")
    path = (
        f"predictions of {models}",
        f"labels of {count(len(found.labels), 'item')}",
        _answers(found),
    )
    how = Origin(meaning_of(rows), provenance_of(rows), path=path)
    return Lead(question, answer, chart, basis, (*against, *found.cautions), how)


def _answers(found: Evaluation) -> str:
    """How many answers are behind the labels, where that is known."""
    amount = int(np.nan_to_num(found.labels.weight).sum())
    known = amount > len(found.labels)
    kind = "simulated people's" if is_simulated(found.labels.provenance) else "people's"
    return f"{amount:,} of {kind} answers" if known else f"{kind} label distributions"


def _other_order(found: Evaluation) -> list[str]:
    """Whether accuracy would choose another model."""
    if len(found.places) < 2:
        return []
    best = min(found.places, key=lambda place: place.accuracy_rank)
    if best.arm == found.places[0].arm:
        return []
    behind = best.accuracy.value - found.places[0].accuracy.value
    return [
        f"By accuracy {best.arm} comes first, {said(behind, 'accuracy')} above "
        f"{found.places[0].arm}."
    ]


def _references(found: Evaluation) -> list[Finding]:
    return references(list(found.scores.filter(stratum="all", against="people")))


def _alone(found: Evaluation) -> list[Finding]:
    """What a single model's scores say: the floor, calibration, doubt, and where people differ."""
    told = _references(found)
    scores = found.scores.filter(against="people")
    known = {(one.metric, one.stratum): one for one in scores}
    parts = [known.get(("accuracy", name)) for name in ("unanimous", "disputed")]
    if all(parts):
        same, apart = (one for one in parts if one is not None)
        told.append(
            Finding(
                f"Where people agree it names their choice on {same.value:.0%} of the items, where "
                f"they do not on {apart.value:.0%}.",
                "found",
                f"{with_ends(same)} against {with_ends(apart)}; {same.items:,} and "
                f"{apart.items:,} items.",
            )
        )
    for metric, words in (
        ("rms_calibration", "Its confidence is {} off how often it is right."),
        ("classwise_calibration", "Its probability of a class is {} off how often it is chosen."),
    ):
        one = known.get((metric, "all"))
        if one is not None:
            text = words.format(said(one.value, metric))
            told.append(Finding(text, "found", f"{with_ends(one)}, 95 % interval over items."))
    return told


def worst_items(found: Evaluation, most: int = WORST) -> pl.DataFrame:
    """``item`` and ``distance``: the mean Jensen–Shannon divergence of the models from people."""
    apart = np.mean(
        [jensen_shannon(found.labels, model) for model in found.models.values()], axis=0
    )
    order = np.argsort(-apart, kind="stable")[:most]
    return pl.DataFrame(
        {"item": [found.labels.items[at] for at in order], "distance": apart[order]}
    )


SCORES = (
    "In brackets the 95 % interval over items. Which way is better, and what each number means, is "
    "told below each table."
)
RELIABILITY = (
    "A model is right where its most probable class is that of people. One that says exactly what "
    "people say is right everywhere, with less confidence where people are divided: dots above the "
    "line are then no fault."
)
STRATA = (
    "“Unanimous” are the items where all mass of the label is on one class; all others are "
    "“disputed”. With answers that are distributions, mass on several classes may be doubt that "
    "everybody shares: the report of the answers tells the two apart."
)
CLASSES = "Items are of the class that people find most probable."
WORST_TEXT = (
    "The items on which the models are farthest from people, by the mean Jensen–Shannon "
    "divergence in nats (at most 0.693). They are the first to look at: the model may be wrong, "
    "and so may the labels."
)


def _with_beliefs(found: Estimates, what: str) -> Evaluation:
    if not isinstance(found, Evaluation):
        raise DataError(
            f"{what} needs the labels and the predictions, and a table of estimates has only the "
            "numbers. Evaluate the predictions again and draw that."
        )
    return found


def _basis(found: Evaluation) -> Basis:
    steps = [found.labels.provenance, *(model.provenance for model in found.models.values())]
    return Basis(simulated=any(map(is_simulated, steps)), items=len(found.labels))


def _compared(found: Evaluation) -> str:
    models = ", ".join(found.models)
    original = "" if found.original is None else " The data set's own labels were given too."
    return (
        f"People's labels of {count(len(found.labels), 'item')} over "
        f"{len(found.labels.classes)} classes ({', '.join(found.labels.classes)}) and the "
        f"predictions of {models}.{original}"
    )


def _places(found: Evaluation) -> list[Block]:
    if not found.places:
        return []
    rows = [
        {
            "rank": str(row["rank"]),
            "model": row["arm"],
            "cross-entropy": _value(row, "cross_entropy"),
            "accuracy": _value(row, "accuracy"),
            "accuracy rank": str(row["accuracy_rank"]),
            "behind the first": _value(row, "behind"),
            "p": "" if row["p"] is None else f"{row['p']:.2g}",
        }
        for row in leaderboard_table(list(found.places)).to_dicts()
    ]
    tests = {place.behind.test for place in found.places if place.behind and place.behind.test}
    caption = f"p: {', '.join(sorted(tests))}. In brackets the 95 % interval over items."
    return [Table("Closest to people first", pl.DataFrame(rows), caption)]


def _value(row: Mapping[str, Any], name: str) -> str:
    if row[name] is None:
        return ""
    return f"{number(row[name])} {interval(row[f'{name}_low'], row[f'{name}_high'])}".rstrip()


def _scores(found: Evaluation) -> list[Block]:
    """Every score: of one model by stratum, of several on all items."""
    if len(found.models) == 1:
        return [
            score_table(
                list(found.scores),
                rows=("metric", "against"),
                columns="stratum",
                title="By stratum",
            )
        ]
    everywhere = list(found.scores.filter(stratum="all"))
    return [score_table(everywhere, rows=("metric", "against"), title="All items, by model")]


def _by_stratum(found: Evaluation) -> list[Block]:
    if len(found.models) == 1:
        return []  # one model's strata are among its scores
    people = list(_by_people(found))
    return [
        score_table(
            people, rows=("metric", "arm"), columns="stratum", title="Every model by stratum"
        )
    ]


def _by_class(found: Evaluation) -> Table:
    """Accuracy and cross-entropy of every class and of the models that stand beside people."""
    scored = {arm: by_class(found.labels, model) for arm, model in _closest(found).items()}
    first = next(iter(scored.values()))
    table = first.select("class", "items").with_columns(
        pl.Series(f"{arm}, {title}", [_told(value) for value in one[name]])
        for arm, one in scored.items()
        for name, title in (("accuracy", "accuracy"), ("cross_entropy", "cross-entropy"))
    )
    return Table("Every class", table)


def _told(value: float | None) -> str:
    return "" if value is None else number(value)


def _closest(found: Evaluation) -> dict[str, Any]:
    """The few models that stand beside people: the first of the leaderboard, or of the list."""
    order = [place.arm for place in found.places] or list(found.models)
    return {arm: found.models[arm] for arm in order[:MODELS_SHOWN]}


def _worst(found: Evaluation, contents: ItemContents) -> list[Block]:
    worst = worst_items(found)
    items = list(worst["item"])
    shown = _closest(found)
    table = pl.DataFrame(
        {
            "item": items,
            **contents.column(items),
            "people": [label_words(found.labels, item) for item in items],
            **{arm: [label_words(one, item) for item in items] for arm, one in shown.items()},
            "distance": [number(value) for value in worst["distance"]],
        }
    )
    blocks: list[Block] = [Table("Farthest from people", table)]
    if contents.pictures:
        blocks.insert(0, draw_worst(found, contents))
    return blocks
