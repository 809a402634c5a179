"""``sfumato label`` and ``simulate``: judgments become distributions, distributions judgments."""

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

import sfumato.cli.options as given
from sfumato.cli.options import (
    ReadShare,
    names_in,
    parse_numbers,
    quality_rules,
    read_judgments,
    read_options,
    refuse_existing,
    tell_shares,
)
from sfumato.cli.printing import (
    format_number,
    null_for_nan,
    print_json,
    print_line,
    print_result,
    print_table,
    progress,
    simulation_mark,
)
from sfumato.errors import DataError
from sfumato.names import format_count

if TYPE_CHECKING:
    from sfumato.judgments.formats.reading import ReadOptions
    from sfumato.judgments.judgments import Judgments
    from sfumato.labels.aggregate import Aggregation
    from sfumato.labels.labelset import LabelSet
    from sfumato.labels.make import LabellingResult, LabelSettings, VoteCounts
    from sfumato.labels.simulate import Simulation, SimulationSettings
    from sfumato.labels.simulate.top_two import HabitsName
    from sfumato.provenance import Provenance

Vectors = Annotated[
    Path | None,
    typer.Option("--vectors", help="File of word vectors: how far the classes are apart."),
]
Words = Annotated[
    Path | None,
    typer.Option("--words", help="CSV class,word: which words stand for the classes."),
]
Distances = Annotated[
    Path | None,
    typer.Option("--distances", help="Table of class distances (.csv), instead of --vectors."),
]
Recipe = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        help="How one answer becomes a distribution (see below); the question tells it.",
    ),
]
LabelOutput = Annotated[
    Path, typer.Option("--output", "-o", help="Where to write: .parquet or .csv.")
]
Gamma = Annotated[
    float | None,
    typer.Option("--gamma", help="Mass kept back for classes not ruled out (clamp; 0.1)."),
]
Reading = Annotated[
    str | None,
    typer.Option("--rule", help="How contradictions are read: consistent or released."),
]
Confusions = Annotated[
    Path | None,
    typer.Option(
        "--confusions", help="Also write how far classes are apart by what people confuse (.csv)."
    ),
]
Keep = Annotated[
    str,
    typer.Option("--keep", help="Leave in: repeats, duplicates, checks, practice."),
]
Exclude = Annotated[
    str, typer.Option("--exclude", help="Quality rules to apply first, comma-separated.")
]
PerAnnotator = Annotated[
    bool, typer.Option("--per-annotator", help="One row per judgment, not per item.")
]
Aggregate = Annotated[
    str | None,
    typer.Option("--aggregate", help="How people become one label (see below; mean)."),
]
Averaged = Annotated[
    Literal["labels", "scores"],
    typer.Option(
        "--average",
        help="The mean is of everybody's distribution, or of slider scores, normalised after.",
    ),
]
Predictions = Annotated[
    Path | None,
    typer.Option(
        "--predictions", "--prior", help="What a model believes (informed, auto, crowdlab)."
    ),
]
Intervals = Annotated[
    Path | None,
    typer.Option("--intervals", help="Also write how sure each probability is (.csv, .parquet)."),
]
LeftOut = Annotated[
    Path | None,
    typer.Option("--left-out", help="Also write what made no label, and why (.csv, .parquet)."),
]
SimulatorName = Annotated[str, typer.Argument(metavar="KIND", help="Who is simulated (see below).")]
SeenLabels = Annotated[
    Path, typer.Option("--labels", help="The label distributions that people would see.")
]
PerItem = Annotated[int, typer.Option("--per-item", help="Answers per item.")]
People = Annotated[
    int | None, typer.Option("--people", help="How many simulated people take turns.")
]
Parameters = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter, as name=number; repeatable.")
]
FitTo = Annotated[
    Path | None, typer.Option("--fit", help="Real judgments to fit the simulated people to.")
]
SavedModel = Annotated[
    Path | None, typer.Option("--model", help="A model saved before, instead of --fit.")
]
SaveModel = Annotated[
    Path | None, typer.Option("--save-model", help="Where to keep what was fitted (.json).")
]
PeopleDraws = Annotated[
    int, typer.Option("--draws", help="How often people are resampled (--check).")
]
AnswersOutput = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write: .parquet, .jsonl or .csv.")
]
HabitsOption = Annotated[
    str | None,
    typer.Option(
        "--habits",
        help="How top-two people answer: independent (default), published (the thesis; needs "
        "--vectors or --distances), joint, personal.",
    ),
]
Route = Annotated[
    str,
    typer.Option(
        "--route",
        metavar="human|none|FILE",
        help="Whose entropy says which items are disputed: that of --labels, nobody's, or that "
        "of a file of labels or predictions.",
    ),
]
Extend = Annotated[
    bool,
    typer.Option("--extend", help="Keep the answers of --fit and simulate the other items."),
]
Check = Annotated[
    str | None,
    typer.Option(
        "--check",
        metavar="items|people",
        help="Write nothing: fit to one half and compare with the other.",
    ),
]


def label(
    file: given.File,
    output: LabelOutput,
    recipe: Recipe = None,
    format_: given.Format = None,
    gamma: Gamma = None,
    rule: Reading = None,
    vectors: Vectors = None,
    words: Words = None,
    distances: Distances = None,
    confusions: Confusions = None,
    keep: Keep = "",
    exclude: Exclude = "",
    per_annotator: PerAnnotator = False,
    aggregate: Aggregate = None,
    average: Averaged = "labels",
    predictions: Predictions = None,
    intervals: Intervals = None,
    left_out: LeftOut = None,
    engine: given.Engine = "local",
    scheduler: given.Scheduler = None,
    *,
    aggregator_options: given.AggregatorOptions,
    table_options: given.TableOptions,
    classes: given.Classes = None,
    question: given.QuestionKind = None,
    strict: given.Strict = False,
    key: given.Key = None,
    seed: given.Seed = 0,
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """Turn judgments into label distributions."""
    from sfumato.labels.build import DEFAULT_RECIPE, EACH_CLASS
    from sfumato.labels.files import read_labels
    from sfumato.labels.make import LabelSettings, make_labels

    files = _Files(output, intervals, left_out, confusions)
    _check_label_usage(files, recipe, aggregate, average, per_annotator=per_annotator)
    refuse_existing(output, intervals, left_out, confusions, overwrite=overwrite)
    told = _read_aggregator_options(aggregate or "mean", aggregator_options)
    options = read_options(table_options, classes, question, key)
    parts = _Parts(file, format_, options, strict, output, engine, scheduler)
    settings = LabelSettings(
        recipe,
        gamma=gamma,
        rule=_reading(rule),
        vectors=vectors,
        words=words,
        distances=distances,
        keep=names_in(keep),
        exclude=quality_rules(exclude),
        aggregate=aggregate or "mean",
        average=average,
        options=told,
        interval="default" if intervals else "none",
        seed=seed,
    )
    whole = per_annotator or intervals or left_out or confusions or predictions
    counts = None
    shares = parts.count_shares() if settings.counts and not whole and not exclude else 1
    judgments = parts.read() if shares == 1 else None
    if settings.counts and not whole:
        counts = _count_shares(parts, shares, settings, judgments)
    if counts is not None:
        summary = _label_counts(counts, settings, output)
    else:
        judgments = parts.read() if judgments is None else judgments
        known = judgments.question.classes
        model = None if predictions is None else read_labels(predictions, classes=known)
        if (recipe or DEFAULT_RECIPE[judgments.question.kind]) in EACH_CLASS:
            summary = _label_classes(judgments, settings, files, per_annotator=per_annotator)
        else:
            with progress("Labelling"):
                made = make_labels(judgments, settings, predictions=model)
            with progress("Writing"):
                _write(made, judgments, files, per_annotator=per_annotator)
            summary = _summarise(judgments, made, per_annotator=per_annotator)
    parts.clear()
    print_result({"written": str(output), **summary}, as_json, _print_labelling)


@dataclass(frozen=True)
class _Parts:
    """A file, or a folder whose parts are kept beside the output once they are read."""

    file: Path
    format: str | None
    options: "ReadOptions"
    strict: bool
    output: Path
    engine: Literal["local", "dask"]
    scheduler: str | None

    @property
    def folder(self) -> Path:
        """Where finished parts are kept until the labels are written."""
        return self.output.with_name(f"{self.output.name}.parts")

    def is_split(self) -> bool:
        """Whether there is a folder of parts."""
        from sfumato.judgments.formats.scan import parts_of

        split = self.file.is_dir() and bool(parts_of(self.file))
        if self.engine == "dask" and not split:
            raise DataError(f"A cluster reads a folder of .parquet files; {self.file} is none.")
        return split

    def count_shares(self) -> int:
        """Into how many shares of the items the answers go, so that each fits into memory."""
        from sfumato.errors import free_memory
        from sfumato.judgments.formats.scan import COUNTED_BYTES, scan

        source, free = scan(self.file, self.options) if self.is_split() else None, free_memory()
        if source is None or free is None:
            return 1
        return math.ceil(COUNTED_BYTES * source.rows / (0.6 * free))

    def read(self, share: tuple[int, int] = (0, 1)) -> "Judgments":
        """The judgments about one of several shares of the items; ``tell_read`` is for the rest."""
        from sfumato.learn.parts import read_parts_through

        options = self.options
        if self.is_split():
            through = read_parts_through(
                self.folder, engine=self.engine, scheduler=self.scheduler, bucket=share
            )
            options = replace(options, parts=through, some_rows=share[1] > 1)
        return read_judgments(
            self.file, self.format, options, self.strict, tell=share[1] == 1
        )  # of several shares there is more to tell when all are read

    def clear(self) -> None:
        """Parts that were read are no longer needed."""
        if self.is_split():
            shutil.rmtree(self.folder, ignore_errors=True)


def _count_shares(
    parts: _Parts, shares: int, settings: "LabelSettings", judgments: "Judgments | None"
) -> "VoteCounts | None":
    """Votes counted, one share of the items after the other; None if they are no votes.

    ``judgments`` are those of the only share, if there is one.
    """
    from sfumato.labels.make import count_votes, join_counts

    counts, told = [], []
    for number in range(shares):
        share = parts.read((number, shares)) if judgments is None else judgments
        with progress("Counting"):
            counted = count_votes(share, settings, masses=shares > 1)
        if counted is None:
            return None
        counts.append(counted)
        if shares > 1:
            told.append(ReadShare.of(share))
        del share
    if told:
        tell_shares(told, parts.format)
    return join_counts(counts)


def _label_counts(counts: "VoteCounts", settings: "LabelSettings", output: Path) -> dict[str, Any]:
    from sfumato.labels.files import write_labels
    from sfumato.labels.make import label_counts

    with progress("Labelling"):
        made = label_counts(counts, settings)
    with progress("Writing"):
        write_labels(made.labels, output)
    return _summarise_counts(counts, made)


def simulate(
    kind: SimulatorName,
    labels: SeenLabels,
    output: AnswersOutput = None,
    per_item: PerItem = 6,
    people: People = None,
    settings: Parameters = None,
    fit: FitTo = None,
    format_: given.Format = None,
    extend: Extend = False,
    habits: HabitsOption = None,
    route: Route = "human",
    vectors: Vectors = None,
    words: Words = None,
    distances: Distances = None,
    check: Check = None,
    draws: PeopleDraws = 300,
    model: SavedModel = None,
    save_model: SaveModel = None,
    classes: given.Classes = None,
    key: given.Key = None,
    seed: given.Seed = 0,
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """Simulated annotators, fitted to real ones or by parameters."""
    from sfumato.judgments.formats import write
    from sfumato.labels.build.distances import choose_distances
    from sfumato.labels.files import read_labels
    from sfumato.labels.simulate import SimulationSettings

    _check_simulate_usage(output=output, fit=fit, extend=extend, check=check, model=model)
    refuse_existing(output, save_model, overwrite=overwrite)
    options = read_options(given.TableOptions(), classes, key=key)
    seen = read_labels(labels, classes=options.classes)
    real = None if fit is None else read_judgments(fit, format_, options, strict=False)
    simulation = SimulationSettings(
        kind,
        per_item=per_item,
        annotators=people,
        parameters=parse_numbers(settings or [], what=f"the simulator {kind!r}"),
        model=model,
        save_model=save_model,
        habits=_habits(habits),
        distances=choose_distances(seen.classes, vectors=vectors, words=words, distances=distances),
        routing=_routing(route, seen),
        items="without answers" if extend else "all",
    )
    if check is not None:
        assert real is not None
        _tell(_checked(check, simulation, seen, real, draws=draws, seed=seed), as_json=as_json)
        return
    assert output is not None
    made = _simulated(simulation, seen, real, seed=seed)
    write(made.answers, output, made.format)
    _tell({"written": str(output), **made.summary()}, as_json=as_json)


@dataclass(frozen=True)
class _Files:
    """Where to write; only the labels must be."""

    labels: Path
    intervals: Path | None
    left_out: Path | None
    confusions: Path | None


def _check_label_usage(
    files: _Files, recipe: str | None, aggregate: str | None, average: str, *, per_annotator: bool
) -> None:
    """Refuse what cannot be done before a long file is read."""
    from sfumato.labels.aggregate import AGGREGATORS
    from sfumato.labels.build import RECIPES
    from sfumato.labels.files import check_output
    from sfumato.names import find

    if per_annotator and aggregate:
        raise typer.BadParameter("--per-annotator and --aggregate exclude each other.")
    if per_annotator and average == "scores":
        raise typer.BadParameter("--average scores is of several people, --per-annotator of none.")
    if per_annotator and files.intervals:
        raise typer.BadParameter("--per-annotator has nothing to give --intervals of.")
    for path in (files.labels, files.intervals, files.left_out, files.confusions):
        if path is not None:
            check_output(path)
    if recipe is not None:
        find(RECIPES, recipe, what="recipe")
    find({**AGGREGATORS, "auto": None}, aggregate or "mean", what="aggregator")


def _read_aggregator_options(aggregator: str, told: given.AggregatorOptions) -> dict[str, Any]:
    """What the aggregator is told: tables from files, and settings such as ``iterations=20``."""
    from sfumato.labels.aggregate import check_options
    from sfumato.labels.files import read_given

    options: dict[str, Any] = {}
    for text in told.settings or []:
        name, sign, value = text.partition("=")
        if not sign:
            raise DataError(f"An option of the aggregator is written name=value; found {text!r}.")
        try:
            options[name.strip()] = json.loads(value)
        except json.JSONDecodeError:
            options[name.strip()] = value.strip()  # a word
    for name in ("weights", "gold", "initial_confusions"):
        if getattr(told, name) is not None:
            options[name] = getattr(told, name)
    if aggregator != "auto":
        check_options(aggregator, options)
    return read_given(options)


def _reading(name: str | None) -> Literal["consistent", "released"] | None:
    from sfumato.names import find

    rules: dict[str, Literal["consistent", "released"]] = {
        "consistent": "consistent",
        "released": "released",
    }
    return None if name is None else find(rules, name, what="rule")


def _write(
    made: "LabellingResult", judgments: "Judgments", files: _Files, *, per_annotator: bool
) -> None:
    from sfumato.labels.build.distances import confusion_distances, write_distances
    from sfumato.labels.files import write_labels, write_table
    from sfumato.labels.make import everything_left_out, interval_table

    write_labels(made.crowd if per_annotator else made.labels, files.labels)
    if files.intervals:
        write_table(interval_table(made.aggregation), files.intervals)
    if files.left_out:
        write_table(everything_left_out(judgments, made), files.left_out)
    if files.confusions:
        write_distances(confusion_distances(made.labels), files.confusions)


def _label_classes(
    judgments: "Judgments", settings: "LabelSettings", files: _Files, *, per_annotator: bool
) -> dict[str, Any]:
    """Label each class on its own, and write one table of them."""
    from sfumato.labels.aggregate import AGGREGATORS
    from sfumato.labels.files import write_labels
    from sfumato.labels.make import make_multi_labels
    from sfumato.provenance import is_simulated

    if per_annotator or files.intervals or files.left_out or files.confusions:
        raise DataError(
            "Each class of these answers is a label of its own: --per-annotator, --intervals, "
            "--left-out and --confusions are for one distribution over the classes."
        )
    with progress("Labelling"):
        made = make_multi_labels(judgments, settings)
    write_labels(made, files.labels)
    name = made.provenance[-1].name.removeprefix("aggregate ")
    return {
        "simulated": is_simulated(made.provenance),
        "rows": len(made),
        "items": len(made),
        "classes": len(made.classes),
        "judgments": len(judgments) + len(judgments.rejected),
        "used": int(made.weight.max(axis=1).sum()),
        "left_out": [],
        "excluded": [],
        "recipe": "per-class",
        "settings": {},
        "aggregate": name,
        "estimand": AGGREGATORS[name].estimand,
        "hint": "",
        "remarks": ["Each class has a probability of its own; rows need not sum to one."],
    }


LEFT_OUT = (
    "set aside when reading",
    "not selected: repeats, checks, practice or duplicates",
    "state too little for the recipe",
)
"""Why an answer is in no label, in the order in which that is found out."""


def _summarise(
    judgments: "Judgments", made: "LabellingResult", *, per_annotator: bool
) -> dict[str, Any]:
    """What ``label`` prints, as plain numbers."""
    from sfumato.labels.make import default_aggregator

    left_out = (len(judgments.rejected), len(made.not_selected), len(made.left_out))
    told = _told(made.aggregation, made.crowd.provenance, left_out)
    told |= {
        "judgments": len(judgments) + len(judgments.rejected),
        "used": len(made.crowd),
        "excluded": made.ledger.rules.select("rule", "people", "answers").rows(),
    }
    if per_annotator:
        nothing: dict[str, Any] = {"aggregate": None, "estimand": None, "hint": "", "remarks": []}
        return {**told, **nothing, "rows": len(made.crowd)}
    return told if default_aggregator(made.crowd) != "mean" else {**told, "hint": ""}


def _summarise_counts(counts: "VoteCounts", made: "Aggregation") -> dict[str, Any]:
    return _told(made, counts.provenance, counts.left_out) | {
        "judgments": counts.judgments,
        "used": counts.used,
        "excluded": list(counts.excluded),
    }


def _told(
    made: "Aggregation", before: "Provenance", left_out: tuple[int, int, int]
) -> dict[str, Any]:
    """What both ways to labels tell."""
    from sfumato.labels.make import FEW_VOTES
    from sfumato.provenance import is_simulated

    built = next(step for step in reversed(before) if step.name.startswith("label "))
    aggregate = made.labels.provenance[-1].name.removeprefix("aggregate ")
    few = aggregate in ("mean", "vote-shares") and np.median(made.labels.weight) < FEW_VOTES
    return {
        "simulated": is_simulated(before),
        "rows": len(made.labels),
        "items": len(made.labels),
        "classes": len(made.labels.classes),
        "left_out": [pair for pair in zip(left_out, LEFT_OUT, strict=True) if pair[0]],
        "recipe": built.name.removeprefix("label "),
        "settings": {name: value for name, value in built.settings.items() if name != "left_out"},
        "aggregate": aggregate,
        "estimand": made.estimand,
        "hint": "Few votes per item: --aggregate auto predicts further votes better."
        if few
        else "",
        "remarks": list(made.remarks),
    }


def _print_labelling(found: Mapping[str, Any]) -> None:
    """What ``label`` did."""
    print_line(
        f"Wrote {format_count(found['rows'], 'row')} to {found['written']}: "
        f"{format_count(found['items'], 'item')}, {found['classes']} classes"
        f"{simulation_mark(found)}."
    )
    print_line(f"From {found['judgments']:,} answers: {found['used']:,} used")
    for count, reason in found["left_out"]:
        print_line(f"  {count:,} {reason}")
    for rule, people, answers in found["excluded"]:
        print_line(f"  rule {rule}: {people:,} people, {answers:,} answers excluded")
    how = "one row per judgment, not aggregated"
    if found["aggregate"]:
        how = f"aggregated by {found['aggregate']}, which estimates {found['estimand']!r}"
    print_line(f"Recipe {found['recipe']}{_settings(found['settings'])}; {how}.")
    if found["hint"]:
        print_line(found["hint"])
    for remark in found["remarks"]:
        print_line(remark)


def _check_simulate_usage(
    *, output: Path | None, fit: Path | None, extend: bool, check: str | None, model: Path | None
) -> None:
    if fit and model:
        raise typer.BadParameter("--fit and --model exclude each other.")
    if output is None and check is None:
        raise typer.BadParameter("Missing option '--output' / '-o'.")
    if output is not None and check is not None:
        raise typer.BadParameter("--check writes nothing; leave out --output.")
    if fit is None and (extend or check is not None):
        raise typer.BadParameter("--extend and --check need the judgments of real people: --fit.")


def _habits(name: str | None) -> "HabitsName | None":
    from sfumato.labels.simulate.top_two import HABITS
    from sfumato.names import find

    return None if name is None else find(HABITS, name, what="kind of habits")


def _routing(route: str, seen: "LabelSet") -> "LabelSet | Literal['none'] | None":
    from sfumato.evaluation.predictions import read_predictions

    if route == "human":
        return None
    if route == "none":
        return "none"
    if not Path(route).exists():
        raise DataError(
            f"Items are routed by human, by none or by a file of labels or predictions; there is "
            f"no file {route}."
        )
    return read_predictions(Path(route), classes=seen.classes)


def _simulated(
    simulation: "SimulationSettings", seen: "LabelSet", real: "Judgments | None", *, seed: int
) -> "Simulation":
    import numpy as np

    from sfumato.labels.simulate import run_simulation

    with progress("Simulating"):
        return run_simulation(simulation, seen, real=real, rng=np.random.default_rng(seed))


def _checked(
    check: str,
    simulation: "SimulationSettings",
    seen: "LabelSet",
    real: "Judgments",
    *,
    draws: int,
    seed: int,
) -> dict[str, Any]:
    from sfumato.labels.simulate import check_habits
    from sfumato.labels.simulate.held_out import HOLD_OUT, held_out_table
    from sfumato.names import find

    hold_out = find(HOLD_OUT, check, what="half to hold out")
    with progress("Checking"):
        checks = check_habits(simulation, real, seen, hold_out=hold_out, draws=draws, seed=seed)
    return {
        "held_out": hold_out,
        "checks": [
            {
                "habits": one.habits,
                "fitted_answers": one.fitted_answers,
                "tested_answers": one.tested_answers,
                "tested_people": one.tested_people,
                "marginals": held_out_table(one).drop("held_out", "habits").to_dicts(),
            }
            for one in checks
        ],
    }


def _tell(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(null_for_nan(found))
    elif "checks" in found:
        _print_held_out(found)
    else:
        _print_simulation(found)


def _print_simulation(found: Mapping[str, Any]) -> None:
    """What ``simulate`` made."""
    print_line(
        f"Wrote {found['judgments']:,} SIMULATED answers of {found['people']:,} simulated people "
        f"about {found['items']:,} items to {found['written']}."
    )
    elicited = found["elicited"]
    if elicited["judgments"]:
        print_line(
            f"Before them stand {elicited['judgments']:,} answers of people about "
            f"{elicited['items']:,} items, untouched."
        )
    if found["order"]:
        print_line(f"Alternatives are ordered by {found['order']}.")
    if found["marginals"]:
        rows = [
            (row["marginal"], format_number(row["real"]), format_number(row["simulated"]))
            for row in found["marginals"]
        ]
        print_table("Real and simulated people", ("", "real", "simulated"), rows)


def _print_held_out(found: Mapping[str, Any]) -> None:
    """How true to life each kind of habits is."""
    first = found["checks"][0]
    print_line(
        f"Fitted to {first['fitted_answers']:,} answers, compared with {first['tested_answers']:,} "
        f"of {first['tested_people']:,} people: half of the {found['held_out']} is held out."
    )
    for check in found["checks"]:
        rows = [
            (
                row["marginal"],
                f"{row['real']:.3f} [{row['low']:.3f}, {row['high']:.3f}]",
                f"{row['simulated']:.3f}",
                "yes" if row["reproduced"] else "NO",
                f"[{row['difference_low']:.3f}, {row['difference_high']:.3f}]",
                f"{row['p_holm']:.3f}",
            )
            if math.isfinite(row["real"] + row["simulated"])
            else (row["marginal"], "–", "–", "–", "–", "–")  # nobody says anything of the kind
            for row in check["marginals"]
        ]
        header = ("", "real [95 %]", "simulated", "within", "difference", "p")
        print_table(f"Habits {check['habits']}", header, rows)
    print_line(
        "\nwithin: the simulated value lies in the interval of the real one, over people. "
        "difference: 95 %\nof simulated − real, both halves' people resampled. p: "
        "Kolmogorov–Smirnov distance (spread: its\ndifference), people swapped with their "
        "simulated doubles, adjusted for the table's tests (Holm)."
    )


def _settings(settings: Mapping[str, Any]) -> str:
    return "".join(f", {name} {value}" for name, value in settings.items())
