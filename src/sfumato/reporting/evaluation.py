"""Draw what an evaluation found: reliability, strata, leaderboard and the worst items."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.evaluation.cartography import bars
from sfumato.evaluation.metrics import jensen_shannon, reliability
from sfumato.evaluation.models import Evaluation
from sfumato.evaluation.score import leaderboard_table
from sfumato.names import find
from sfumato.provenance import is_simulated
from sfumato.reporting import figures
from sfumato.reporting.contents import ItemContents, label_words, load_contents
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.page import Block, Origin, Page, Section, Table, Text, scores_shown, write
from sfumato.reporting.text import Finding, count, interval, number, summarise
from sfumato.scores import Estimate, Estimates

FEW = 6
"""Metrics up to this number are all shown by stratum."""

DRAWN = ("cross_entropy", "accuracy", "total_variation", "rms_calibration")
"""The metrics that are shown by stratum where there are more."""

WORST = 12
"""How many of the worst items are shown."""

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
        Section("What was compared", _compared(found), (Text(remarks),) if remarks else ()),
        Section("Leaderboard", "", tuple(ranked)) if several else None,
        Section("Scores", SCORES, tuple(_scores(found))),
        Section("Is the confidence earned?", RELIABILITY, (draw_reliability(found),)),
        Section("By stratum", STRATA, (draw_strata(found), *_by_stratum(found))),
        Section("Worst items", WORST_TEXT, tuple(_worst(found, contents))),
    ]
    return Page(
        title,
        f"{count(len(found.models), 'model')} against people's labels of "
        f"{count(len(found.labels), 'item')}",
        tuple(_findings(found)),
        tuple(section for section in sections if section is not None),
        Origin(provenance=found.labels.provenance),
        alone=True,
    )


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


def _findings(found: Evaluation) -> list[Finding]:
    rows = list(found)
    scores = [row for row in rows if not row.is_difference]
    told = summarise(scores, [row for row in rows if row.is_difference])
    return [*told, *(Finding(caution, "caution") for caution in found.cautions)]


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
        return [_matrix(list(found.scores), ("metric", "against"), "stratum", "By stratum")]
    everywhere = list(found.scores.filter(stratum="all"))
    return [_matrix(everywhere, ("metric", "against"), "arm", "All items, by model")]


def _by_stratum(found: Evaluation) -> list[Block]:
    if len(found.models) == 1:
        return []  # one model's strata are among its scores
    people = list(_by_people(found))
    return [_matrix(people, ("metric", "arm"), "stratum", "Every model by stratum")]


def _matrix(scores: Sequence[Estimate], rows: tuple[str, str], columns: str, title: str) -> Table:
    """One cell per score, with a row for each pair of the fields ``rows``."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for score in scores:
        value = f"{number(score.value)} {interval(score.low, score.high)}".rstrip()
        key = tuple(str(getattr(score, name)) for name in rows)
        cells.setdefault(key, {})[str(getattr(score, columns))] = value
    across = list(dict.fromkeys(str(getattr(score, columns)) for score in scores))
    table = pl.DataFrame(
        [
            {**dict(zip(rows, key, strict=True)), **{name: row.get(name, "–") for name in across}}
            for key, row in cells.items()
        ]
    )
    notes = " ".join(dict.fromkeys(f"{row.metric}: {row.note}." for row in scores if row.note))
    shown = scores_shown(scores)
    return Table(title, table, notes, shown.how, shown.simulated)


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
