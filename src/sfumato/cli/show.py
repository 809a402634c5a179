"""Print what the library found as text for a person."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from sfumato.judgments.judgments import Judgments
    from sfumato.labels.make import Labelling

__all__ = [
    "bracketed",
    "datasets",
    "description",
    "evaluation",
    "files",
    "labelled",
    "leaderboard",
    "other",
    "say",
    "simulated",
    "summary_of",
    "tabulate",
]

WIDTH = 100
"""Lines are as wide as the screen but not wider than this; elsewhere exactly this."""


def description(found: Mapping[str, Any]) -> None:
    """Everything ``describe`` found out about judgments."""
    question = found["question"]
    say(f"{found['file']}: {question['kind']}, {len(question['classes'])} classes{_note(found)}")
    who = f"{found['people']:,} people" if found["people"] else "people not recorded"
    say(f"{found['judgments']:,} answers, {who}, {found['items']:,} items")
    views = ", ".join(f"{name} {count:,}" for name, count in found["views"].items())
    say(f"views: {views}; {found['selected']:,} answers make labels")
    tabulate(
        "Spread",
        ("", "min", "median", "mean", "max"),
        [
            (name, *(_number(spread[key]) for key in ("min", "median", "mean", "max")))
            for name, spread in _spreads(found)
        ],
    )
    tabulate("Numbers", ("", "value", "95 % interval"), _numbers(found))
    _oddities(found)
    _set_aside(found)
    _exclusions(found)
    if "aggregators" in found:
        _aggregators(found["aggregators"])


def labelled(found: Mapping[str, Any]) -> None:
    """What ``label`` did."""
    say(
        f"Wrote {_count(found['rows'], 'row')} to {found['written']}: "
        f"{_count(found['items'], 'item')}, {found['classes']} classes{_note(found)}."
    )
    say(f"From {found['judgments']:,} answers: {found['used']:,} used")
    for count, reason in found["left_out"]:
        say(f"  {count:,} {reason}")
    for rule, people, answers in found["excluded"]:
        say(f"  rule {rule}: {people:,} people, {answers:,} answers excluded")
    how = "one row a judgment, not aggregated"
    if found["aggregate"]:
        how = f"aggregated by {found['aggregate']}, which estimates {found['estimand']!r}"
    say(f"Recipe {found['recipe']}{_settings(found['settings'])}; {how}.")
    if found["hint"]:
        say(found["hint"])


def summary_of(judgments: "Judgments", made: "Labelling", *, per_annotator: bool) -> dict[str, Any]:
    """What ``label`` prints, as plain numbers."""
    from sfumato.labels.make import default_aggregator
    from sfumato.provenance import is_simulated

    built = next(step for step in reversed(made.crowd.provenance) if step.name.startswith("label "))
    aggregate = made.labels.provenance[-1].name.removeprefix("aggregate ")
    better = default_aggregator(made.crowd)
    few = better != "mean" and aggregate in ("mean", "vote-shares") and not per_annotator
    settings = {name: value for name, value in built.settings.items() if name != "left_out"}
    return {
        "simulated": is_simulated(made.crowd.provenance),
        "rows": len(made.crowd) if per_annotator else len(made.labels),
        "items": len(made.labels),
        "classes": len(made.labels.classes),
        "judgments": len(judgments) + len(judgments.rejected),
        "used": len(made.crowd),
        "left_out": [
            (count, reason)
            for count, reason in (
                (len(judgments.rejected), "set aside when reading"),
                (len(made.not_selected), "not selected: repeats, checks, practice or duplicates"),
                (len(made.left_out), "state too little for the recipe"),
            )
            if count
        ],
        "excluded": made.ledger.rules.select("rule", "people", "answers").rows(),
        "recipe": built.name.removeprefix("label "),
        "settings": settings,
        "aggregate": None if per_annotator else aggregate,
        "estimand": None if per_annotator else made.aggregation.estimand,
        "hint": f"Few votes an item: --aggregate {better} predicts further votes better."
        if few
        else "",
    }


def other(found: Mapping[str, Any]) -> None:
    """A description of comparisons or mixes: names and numbers."""
    say(f"{found['what']}: {found['judgments']:,} answers, {found['people']:,} people")
    tabulate("Numbers", ("", "value"), [(name, _number(value)) for name, value in found["numbers"]])
    _set_aside(found)


def simulated(found: Mapping[str, Any]) -> None:
    """What ``simulate`` made."""
    say(
        f"Wrote {found['judgments']:,} SIMULATED answers of {found['people']:,} simulated people "
        f"about {found['items']:,} items to {found['written']}."
    )
    elicited = found["elicited"]
    if elicited["judgments"]:
        say(
            f"Before them stand {elicited['judgments']:,} answers of people about "
            f"{elicited['items']:,} items, untouched."
        )
    if found["order"]:
        say(f"Alternatives are ordered by {found['order']}.")
    if found["marginals"]:
        rows = [
            (row["marginal"], _number(row["real"]), _number(row["simulated"]))
            for row in found["marginals"]
        ]
        tabulate("Real and simulated people", ("", "real", "simulated"), rows)


def evaluation(found: Mapping[str, Any]) -> None:
    """The scores of one model, or the leaderboard of several."""
    scores = found["scores"]
    arms = list(dict.fromkeys(score["arm"] for score in scores))
    whole = [score for score in scores if score["stratum"] == "all" and score["arm"] == arms[0]]
    mark = " (SIMULATED people or models)" if found["simulated"] else ""
    say(f"{found['labels']}: people's labels of {_count(whole[0]['items'], 'item')}{mark}")
    if len(arms) == 1:
        _scores(arms[0], scores)
        return
    leaderboard(found["leaderboard"])
    for score in whole:
        if score["metric"] in ("entropy_floor", "class_oracle"):
            line = bracketed(score["value"], score["low"], score["high"])
            note = f" ({score['note']})" if score["note"] else ""
            say(f"{score['metric']}: {line}{note}")
    say(f"{_count(len(scores), 'score')} in all: --json prints them, -o writes them.")


def datasets(found: Mapping[str, Any]) -> None:
    """The table of data sets."""
    rows = [
        (row["name"], row["present"], row["licence"], row["about"]) for row in found["datasets"]
    ]
    tabulate("Data sets", ("name", "here", "licence", "what"), rows)


def files(found: Mapping[str, Any]) -> None:
    """The files of one data set and their state."""
    tabulate("Files", ("file", "state"), [(row["file"], row["state"]) for row in found["files"]])


def leaderboard(places: Sequence[Mapping[str, Any]]) -> None:
    """Models by their cross-entropy to people, with the test that compares them."""

    def cell(row: Mapping[str, Any], name: str) -> str:
        return bracketed(row[name], row[f"{name}_low"], row[f"{name}_high"])

    rows = [
        (
            str(row["rank"]),
            row["arm"],
            cell(row, "cross_entropy"),
            f"{row['accuracy']:.4f} ({row['accuracy_rank']})",
            cell(row, "behind"),
            "–" if row["p"] is None else f"{row['p']:.3f}",
        )
        for row in places
    ]
    header = ("", "model", "cross-entropy", "accuracy (rank)", "behind the first", "p")
    tabulate("Closest to people first, with 95 % intervals over items", header, rows)
    tests = {row["test"] for row in places if row["test"]}
    for test in tests:
        say(f"p: {test}")


def bracketed(value: float | None, low: float | None, high: float | None) -> str:
    """A value and its interval in brackets; a dash where there is no value."""
    if value is None:
        return "–"
    if low is None or high is None:
        return f"{value:.4f}"
    return f"{value:.4f} [{low:.3f}, {high:.3f}]"


def tabulate(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A titled table, numbers to the right; nothing where there are no rows."""
    if not rows:
        return
    console = _console()
    console.print(f"\n{title}")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, name in enumerate(header):
        numeric = place and all(row[place][:1] in "0123456789-–" for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def say(text: str) -> None:
    """A line of text."""
    _console().print(text, soft_wrap=True)


def _spreads(found: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    taken = found["times"] or {}
    named = [
        ("answers per item", found["per_item"]),
        ("answers per person", found["per_person"]),
        ("median seconds per person", taken.get("median_by_person")),
        ("median seconds per item", taken.get("median_by_item")),
    ]
    return [(name, spread) for name, spread in named if spread]


def _numbers(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    taken, right, again = found["times"], found["accuracy"], found["repeats"]
    if taken:
        rows.append(("median seconds an answer", _number(taken["median"]), ""))
    if right:
        rows.append(("top choice equals the known class", f"{right['top1']:.2%}", ""))
        rows.append(("known class among the top two", f"{right['top2']:.2%}", ""))
    if again:
        rows.append(
            (f"changed top choice in {again['pairs']} repeats", _share(again["changed"]), "")
        )
        rows.append(("change of probability, points", _number(again["points"]), ""))
        rows.append(_measured(again["within_person"]))
    rows.extend(_measured(measure) for measure in found["agreement"])
    labels = found["labels"]
    rows.extend(
        (f"{name.replace('_', ' ')} ({labels['recipe']})", _number(value), "")
        for name, value in labels.items()
        if name != "recipe"
    )
    return rows


def _measured(measure: Mapping[str, Any]) -> tuple[str, str, str]:
    low, high = _number(measure["low"]), _number(measure["high"])
    return measure["name"], _number(measure["value"]), f"{low} to {high}"


def _oddities(found: Mapping[str, Any]) -> None:
    rows = [
        (row["name"], f"{row['count']:,}", f"item {row['examples'][0]['item']}", row["about"])
        for row in found["oddities"]
    ]
    tabulate("Oddities", ("name", "answers", "for example", "what"), rows)


def _set_aside(found: Mapping[str, Any]) -> None:
    rejected = found["rejected"]
    if rejected["count"]:
        rows = [(f"{row['count']:,}", row["field"], row["reason"]) for row in rejected["reasons"]]
        tabulate("Rows set aside", ("rows", "field", "reason"), rows)
        for example in rejected["examples"]:
            say(f"  {example}")
    rows = [(f"{row['count']:,}", row["what"], row["example"]) for row in found["remarks"]]
    tabulate("Noticed while reading", ("times", "what", "for example"), rows)


def _exclusions(found: Mapping[str, Any]) -> None:
    if not found["exclusions"]:
        return
    named = {
        "rule": "rule",
        "people": "people dropped",
        "answers": "answers dropped",
        "fewer": "items with fewer answers",
        "emptied": "with none",
        "mean_before": "answers an item",
        "mean_after": "after",
        "majority_changed": "majority changed",
    }
    rows = [tuple(_cell(row[name]) for name in named) for row in found["exclusions"]]
    tabulate("What if these rules were applied", list(named.values()), rows)


def _aggregators(scored: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        (
            row["aggregator"],
            row["estimand"],
            _number(row["log_loss"]),
            f"{_number(row['low'])} to {_number(row['high'])}",
        )
        for row in scored
    ]
    header = ("aggregator", "estimates", "held-out log-loss", "over splits")
    tabulate("Aggregators by how well they predict votes they have not seen", header, rows)


def _scores(arm: str, scores: Sequence[Mapping[str, Any]]) -> None:
    strata = list(dict.fromkeys(score["stratum"] for score in scores))
    cells: dict[str, dict[str, str]] = {}
    for score in scores:
        shown = bracketed(score["value"], score["low"], score["high"])
        cells.setdefault(score["metric"], {})[score["stratum"]] = shown
    rows = [(name, *(row[stratum] for stratum in strata)) for name, row in cells.items()]
    tabulate(f"{arm}, with 95 % intervals over items", ("metric", *strata), rows)
    notes: dict[str, list[str]] = {}
    for score in scores:
        if score["note"]:
            notes.setdefault(f"{score['metric']}: {score['note']}", []).append(score["stratum"])
    for note, places in notes.items():
        say(f"{note} ({', '.join(places)})")


def _console() -> Console:
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        return Console(highlight=False, markup=False, width=WIDTH)
    return console


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else _number(value)


def _number(value: float | int | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.2f}" if abs(value) >= 10 else f"{value:.4f}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"


def _settings(settings: Mapping[str, Any]) -> str:
    return "".join(f", {name} {value}" for name, value in settings.items())


def _note(found: Mapping[str, Any]) -> str:
    return " (SIMULATED answers)" if found["simulated"] else ""
