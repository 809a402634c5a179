"""Audit the files somebody was handed: what they tell about themselves without any training.

Each part of the audit needs some of the files and is left out where they are not there. The parts
are the measures that a study takes, told by the same sections. Each draws from its own generator of
the same seed, so that its numbers do not depend on what else was given.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.alignment import correlate, entropy_table
from sfumato.evaluation.cartography import (
    OUR_RULES,
    PEOPLE_ONLY,
    REGIONS,
    DataMap,
    bars,
    data_map_table,
    same_top_other_rest,
)
from sfumato.evaluation.duplicates import Pictures
from sfumato.evaluation.mode_shift import mode_shift, mode_shift_table
from sfumato.evaluation.models import over_shared_classes
from sfumato.evaluation.score import leaderboard, leaderboard_table
from sfumato.labels.agreement import Agreement, krippendorff_nominal, percent_agreement
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import Spread, entropy, spread_of, strata_of, top_probability
from sfumato.labels.votes import counts, votes_of
from sfumato.provenance import Provenance, is_simulated
from sfumato.reporting.datasheet import Datasheet, datasheet_of, to_markdown
from sfumato.reporting.draw import save
from sfumato.reporting.figures import curves
from sfumato.reporting.figures import scores as score_figures
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
    write,
)
from sfumato.reporting.text import Finding, count, interval
from sfumato.scores import (
    IN_MEMORY,
    Estimate,
    Estimates,
    as_rows,
    source_text,
    with_interval,
)
from sfumato.studies.audit_sources import (
    AuditSettings,
    AuditSources,
    GivenFiles,
    check_sources,
    read_files,
    source_name,
)
from sfumato.studies.data import Findings
from sfumato.studies.measures.doubt import (
    ENTROPY,
    UNCERTAINTY,
    at_items,
    correlated_signals,
    judgment_signals,
    label_doubt,
    label_signals,
    people_row,
    shifted_modes,
)
from sfumato.studies.measures.dynamics import (
    DOUBTS,
    SIGNALS,
    doubts_at,
    map_beliefs,
    map_rows,
    movement_findings,
)
from sfumato.studies.measures.interest import interesting, most_doubtful, same_pictures
from sfumato.studies.measures.modes import gain_rows
from sfumato.studies.sections import audit as sections

NAMED = sections.NAMED
MODELS_SHOWN = 3
"""Models whose beliefs stand beside people's under a picture."""
DYNAMICS = "dynamics"
"""What the networks of which dynamics are given are called."""
INTEREST = "Samples of interest"
"""A list that a rule chose is no finding: it has no place at the top of a page."""

PerItem = NDArray[np.float64]
Advance = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class AuditPart:
    """One thing that was asked of the files."""

    title: str
    found: Findings = field(default_factory=Findings)
    sentences: Sequence[Finding] = ()
    """Besides those that the numbers are told in."""
    remarks: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Audit:
    """What the files tell: sentences by part, numbers with intervals, and tables behind them."""

    findings: Mapping[str, Sequence[Finding]]
    estimates: Estimates
    tables: Mapping[str, pl.DataFrame]
    pictures: Mapping[str, NDArray[np.uint8]]
    """The images of the most doubtful items, where there are pictures."""
    remarks: Sequence[str]
    sheet: Datasheet | None
    simulated: bool
    provenance: Provenance


@dataclass(frozen=True, eq=False)
class LearntMap:
    """The data map of the given dynamics, and people's labels of its items where all have one."""

    found: DataMap
    by: str
    """Whose labels are the targets: original, or people."""
    people: LabelSet | None
    left_out: int
    """Watched items that have no label and so no place."""


@dataclass(frozen=True, eq=False)
class AuditFiles:
    """What every part of an audit is asked of."""

    given: GivenFiles
    settings: AuditSettings
    learnt: LearntMap | None

    @property
    def rng(self) -> np.random.Generator:
        """A generator of the same seed for everything that is asked."""
        return np.random.default_rng(self.settings.seed)

    @property
    def judged(self) -> dict[str, PerItem]:
        """Signals that labels do not keep, where there are judgments."""
        if self.given.judgments is None or self.given.people is None:
            return {}
        return judgment_signals(self.given.judgments, self.given.people)

    @property
    def signals(self) -> dict[str, PerItem]:
        """All that people's labels and judgments tell of their doubt, at people's items."""
        people = self.given.people
        return {} if people is None else {**label_signals(people), **self.judged}

    @property
    def mapped(self) -> dict[str, PerItem]:
        """Signals of the data map at people's items, NaN where there is none."""
        if self.learnt is None or self.given.people is None:
            return {}
        items, found = self.given.people.items, self.learnt.found
        return {name: at_items(items, found.items, getattr(found, name)) for name in SIGNALS}


def audit(
    sources: AuditSources,
    settings: AuditSettings | None = None,
    *,
    advance: Advance = lambda done, total: None,
) -> Audit:
    """Everything the given files tell; what needs a file that is not there is left out."""
    check_sources(sources)
    settings = settings or AuditSettings()
    given = read_files(sources, settings)
    files = AuditFiles(given, settings, _learnt(given))
    parts = []
    for done, make in enumerate(PARTS):
        advance(done, len(PARTS))
        parts.append(make(files) or AuditPart(""))
    estimates = Estimates.of(row for part in parts for row in part.found.estimates)
    tables = {name: table for part in parts for name, table in part.found.tables.items()}
    aligned = sections.alignment_rows(estimates)
    if len(aligned):
        tables["alignment"] = aligned
    shown, pictures = _doubtful_pictures(given)
    labelled = [given.people, *given.models.values()]
    return Audit(
        _findings(estimates, tables, parts),
        estimates,
        tables | shown,
        pictures,
        (*given.remarks, *(remark for part in parts for remark in part.remarks)),
        _draft_sheet(sources, files),
        any(is_simulated(one.provenance) for one in labelled if one is not None),
        () if given.people is None else given.people.provenance,
    )


def _findings(
    estimates: Estimates, tables: sections.Tables, parts: Sequence[AuditPart]
) -> dict[str, list[Finding]]:
    """What the numbers say, and what single parts add, by their titles in order."""
    told = {
        "Pictures": sections.picture_sentences(estimates, tables),
        "People": sections.doubt_sentences(estimates),
        "Original labels": sections.shift_sentences(estimates, tables),
        "Models": _aligned_sentences(tables, dynamics=False),
    }
    for part in parts:
        told.setdefault(part.title, []).extend(part.sentences)
    told.setdefault("Learning", []).extend(_aligned_sentences(tables, dynamics=True))
    order = dict.fromkeys(part.title for part in parts)
    return {title: told[title] for title in order if told[title]}


def _learnt(given: GivenFiles) -> LearntMap | None:
    """The data map by the original labels, or by people's; None without labels or dynamics."""
    target = given.people if given.original is None else given.original
    if given.watched is None or target is None:
        return None
    known = set(target.items)
    rows = np.flatnonzero([item in known for item in given.watched_items])
    if not len(rows):
        raise DataError(
            f"No watched item has a label: the first watched is {given.watched_items[0]!r}, the "
            f"first labelled {target.items[0]!r}."
        )
    kept = [given.watched_items[row] for row in rows]
    people = given.people
    if people is not None:
        people = people.take(kept) if set(kept) <= set(people.items) else None
    found = map_beliefs(given.watched[:, :, rows], target.take(kept))
    by = "people" if given.original is None else "original"
    return LearntMap(found, by, people, len(given.watched_items) - len(rows))


def _watched_row(given: GivenFiles) -> Estimate:
    """A row about what was watched, to be filled."""
    labels = [labels for labels in (given.people, given.original) if labels is not None]
    steps = tuple(step for each in labels for step in each.provenance)
    assert given.watched is not None
    return Estimate(
        "",
        0.0,
        arm=DYNAMICS,
        part="training",
        seeds=tuple(range(len(given.watched))),
        simulated=is_simulated(steps),
        source=source_text(labels=steps, dynamics=given.watched_file),
    )


def _about_pictures(files: AuditFiles) -> AuditPart | None:
    """Exact and near duplicates, those with other labels, and what is in two splits."""
    given = files.given
    if given.pictures is None:
        return None
    parts = []
    for split in dict.fromkeys(given.pictures.split):
        part = given.pictures.in_split(split)
        labels = tuple(part.classes[place] for place in part.labels)
        parts.append(Pictures(given.source, split, part.items, part.images, labels))
    return AuditPart("Pictures", same_pictures(parts, near=files.settings.near))


def _about_people(files: AuditFiles) -> AuditPart | None:
    """Strata of label variation, in how few items the doubt lies, and how far people agree."""
    given = files.given
    if given.people is None:
        return None
    found = label_doubt(given.people, files.judged, rng=files.rng, draws=files.settings.draws)
    blank, rows, sentences = people_row(given.people), [*found.estimates], []
    for metric, one in _agreement(files).items():
        row = replace(blank, metric=metric, value=one.value, items=one.n)
        rows.append(with_interval(row, one.low, one.high, "items"))
        text = f"{one.name.capitalize()} between people: {one.value:.3f} "
        text += f"{interval(one.low, one.high)} on {one.n:,} items."
        sentences.append(Finding(text, "found"))
    if given.made is not None:
        sentences += _doubt_or_disagreement(spread_of(given.made.crowd))
    single = int((given.people.weight == 1).sum())
    if single:
        text = f"{count(single, 'item')} with a single judgment cannot be disputed by it."
        sentences.append(Finding(text, "caution"))
    tables = {**found.tables, "strata": sections.strata_rows(Estimates.of(rows))}
    return AuditPart("People", Findings(rows, tables), sentences)


def _doubt_or_disagreement(spread: Spread) -> list[Finding]:
    """Whether spread labels come from people who hedge, or from people who differ."""
    several = spread.answers > 1
    if not several.any():
        return []
    disputed, items = int(spread.disputed.sum()), int(several.sum())
    return [
        Finding(
            f"People's answers differ on {disputed:,} of {items:,} items that two or more answered "
            f"({disputed / items:.1%}). Of the entropy, {spread.doubt[several].mean():.3f} nats "
            "are doubt within single answers and "
            f"{spread.disagreement[several].mean():.3f} disagreement between people.",
            "found",
        )
    ]


def _agreement(files: AuditFiles) -> dict[str, Agreement]:
    """How far people agree, by each metric that their votes allow; nothing without judgments."""
    if files.given.made is None:
        return {}
    votes, rng, found = counts(votes_of(files.given.made.crowd)), files.rng, {}
    for measure in (percent_agreement, krippendorff_nominal):
        try:
            found[measure.__name__] = measure(votes, rng=rng)
        except DataError:  # fewer than two votes on every item: nothing to agree about
            continue
    return found


def _about_original(files: AuditFiles) -> AuditPart | None:
    """How often the most frequent human class is the original label, and where it is not."""
    given = files.given
    if given.people is None or given.original is None:
        return None
    known = set(given.original.items)
    items = [item for item in given.people.items if item in known]
    found = shifted_modes(given.people.take(items), given.original.take(items))
    return AuditPart("Original labels", found)


def _about_models(files: AuditFiles) -> AuditPart | None:
    """Whether models doubt what people doubt, and which of several is closest to people."""
    given = files.given
    if given.held is None or given.people is None or not given.models:
        return None
    rng, rows, alternatives = files.rng, [], []
    for name, model in given.models.items():
        human = given.held.take(model.items)
        blank = _model_row(human, [model])
        everything = np.ones(len(human), dtype=np.bool_)
        strata = {"all": everything, "disputed": strata_of(human)["disputed"]}
        doubts = doubts_at(human.items, given.people.items, files.signals)
        for (stratum, inside), doubt in product(strata.items(), DOUBTS):
            if DOUBTS[doubt] in doubts:
                pair = doubts[DOUBTS[doubt]][inside], top_probability(model)[inside]
                one = correlate(*pair, rng=rng, draws=files.settings.draws)
                row = replace(blank, metric=f"spearman_{doubt}_confidence", value=one.rho)
                row = replace(row, arm=name, stratum=stratum, items=one.items)
                rows.append(with_interval(row, one.low, one.high, "items"))
        rest = same_top_other_rest(human, model, count=NAMED)
        alternatives.append(rest.select(pl.lit(name).alias("model"), pl.all()))
    ranked = _ranked(files, rng) if len(given.models) > 1 else Findings()
    tables = {
        "alternatives": pl.concat(alternatives),
        "entropy": entropy_table({"people": given.held, **given.models}),
    }
    return AuditPart("Models", Findings([*rows, *ranked.estimates], {**tables, **ranked.tables}))


def _model_row(human: LabelSet, models: Iterable[LabelSet]) -> Estimate:
    """A row about what models believe, to be filled."""
    steps = tuple(step for model in models for step in model.provenance)
    source = source_text(labels=human.provenance or IN_MEMORY, model=steps or IN_MEMORY)
    return replace(
        people_row(human), source=source, simulated=is_simulated((*human.provenance, *steps))
    )


def _ranked(files: AuditFiles, rng: np.random.Generator) -> Findings:
    """The models by their cross-entropy to people, on the items that all have."""
    given, draws = files.given, files.settings.draws
    assert given.held is not None
    shared = set.intersection(*(set(model.items) for model in given.models.values()))
    if not shared:
        raise DataError("No item has predictions of every model, so they cannot be ranked.")
    human = given.held.take([item for item in given.held.items if item in shared])
    truth = None
    if given.original is not None and set(human.items) <= set(given.original.items):
        _, originals, _ = over_shared_classes(human, {"original": given.original.take(human.items)})
        truth = originals["original"]
    places = leaderboard(human, given.models, original=truth, rng=rng, draws=draws)
    rows = [
        row
        for place in places
        for row in (place.cross_entropy, place.accuracy, place.behind)
        if row is not None
    ]
    return Findings(rows, {"leaderboard": leaderboard_table(places)})


def _aligned_sentences(tables: sections.Tables, *, dynamics: bool) -> list[Finding]:
    """Rank correlations of doubt in words: their intervals, and whether they are as expected.

    People's doubt is what they said of it, where they could, else the entropy of their labels.
    """
    table = tables.get("alignment", pl.DataFrame({"people": []}))
    told = UNCERTAINTY if UNCERTAINTY in table["people"] else ENTROPY
    return [
        _aligned_sentence(row)
        for row in table.iter_rows(named=True)
        if row["people"] == told
        and row["stratum"] == "all"
        and (row["arm"] == DYNAMICS) == dynamics
    ]


def _aligned_sentence(row: Mapping[str, Any]) -> Finding:
    less, more = ("lower", "higher") if row["model"] == "confidence" else ("higher", "lower")
    verdicts = {
        "as expected": f"{less} where people doubt",
        "opposite": f"{more} where people doubt",
        "not told apart from zero": "not told apart from zero",
        "undefined": "too few items for an interval",
    }
    numbers = f"rank correlation {row['rho']:.3f} {interval(row['low'], row['high'])}".rstrip()
    if np.isnan(row["rho"]):
        numbers, verdicts["undefined"] = "no rank correlation", "one of them never changes"
    text = (
        f"{row['arm']}, {row['model']} against the {row['people']} on {row['items']:,} items: "
        f"{numbers}, {verdicts[row['found']]}."
    )
    return sections.finding(text, row["found"] in ("as expected", "opposite"))


def _about_modes(files: AuditFiles) -> AuditPart | None:
    """What softness adds to the majority vote of the same people (S4-45, C15)."""
    given = files.given
    title = "Softness or a shifted mode"
    lacking = [name for name in ("original", "majority") if name not in given.targets]
    if not given.targets or (lacking and given.targets.keys() == {"original"}):
        return None
    if lacking or given.original is None or given.held is None:
        what = f"predictions named {lacking[0]!r}" if lacking else "the original labels"
        remark = f"Shifted modes and softness cannot be told apart without {what}; give them too."
        return AuditPart(title, remarks=[remark])
    runs = [model for models in given.targets.values() for model in models]
    shared = set.intersection(*(set(each.items) for each in (*runs, given.original)))
    human = given.held.take([item for item in given.held.items if item in shared])
    _, original, _ = over_shared_classes(human, {"original": given.original.take(human.items)})
    shift = mode_shift(
        {name: [run.take(human.items) for run in models] for name, models in given.targets.items()},
        original=original["original"],
        human=human,
        rng=files.rng,
        draws=files.settings.draws,
    )
    told = [
        sections.finding(gain.sentence, gain.total.clear)
        for gain in shift.gains
        if gain.metric in sections.HEADLINE
    ]
    blank = replace(_model_row(human, runs), part="predicted")
    found = Findings(gain_rows(shift, blank), {"modes": mode_shift_table(shift)})
    return AuditPart(title, found, [Finding(shift.sentence, "found"), *told])


def _about_movement(files: AuditFiles) -> AuditPart | None:
    """Whether training had ended."""
    given = files.given
    if given.watched is None or given.watched.shape[1] < 2:
        return None
    found = movement_findings(given.watched, _watched_row(given), _watched_strata(given))
    last = found.tables["convergence"].filter(stratum="all").row(-1, named=True)
    bounds = "" if last["low"] is None else f" [{last['low']:.4f}, {last['high']:.4f}]"
    text = (
        f"Into the last of {given.watched.shape[1]} epochs beliefs moved by {last['jsd']:.4f}"
        f"{bounds} bits an item (Jensen-Shannon, at most 1)."
    )
    return AuditPart("Learning", found, [Finding(text, "found")])


def _watched_strata(given: GivenFiles) -> dict[str, NDArray[np.bool_]]:
    """Which of the watched items people agree on, and which not; neither without a label."""
    if given.people is None:
        return {}
    items = given.people.items
    return {
        stratum: at_items(given.watched_items, items, inside.astype(np.float64)) == 1
        for stratum, inside in strata_of(given.people).items()
    }


def _about_data_map(files: AuditFiles) -> AuditPart | None:
    """The regions of the data map, and whether it follows people's doubt."""
    given, learnt = files.given, files.learnt
    if given.watched is None:
        return None
    if learnt is None:
        remark = "A data map needs labels: give labels or original labels too."
        return AuditPart("Learning", remarks=[remark])
    found = learnt.found
    blank, draws = _watched_row(given), files.settings.draws
    known = () if given.people is None else given.people.items
    doubts = doubts_at(found.items, known, files.signals)
    rows = map_rows(found, learnt.people, blank, doubts, rng=files.rng, draws=draws)
    regions = {f"{region}_share": region for region in REGIONS}
    listed = ", ".join(
        f"{found.region.count(region):,} {region} ({sections.percent(row)})"
        for row in rows
        if row.stratum == "all" and (region := regions.get(row.metric)) is not None
    )
    first, last = found.epochs
    text = (
        f"Data map of {count(len(found.items), 'item')} (target: {learnt.by} labels; epochs "
        f"{first} to {last} of {count(found.seeds, 'seed')}): {listed}."
    )
    table = data_map_table(
        found, arm=DYNAMICS, human=learnt.people, uncertainty=doubts.get(UNCERTAINTY)
    )
    tables = {"data_map": table}
    remark = f"{learnt.left_out:,} watched items have no label and no place."
    return AuditPart(
        "Learning",
        Findings(rows, tables),
        [Finding(text, "found")],
        [remark] if learnt.left_out else [],
    )


def _about_signals(files: AuditFiles) -> AuditPart | None:
    """Every signal of ambiguity against every other (S4-49)."""
    given = files.given
    if given.people is None:
        return None
    people, known = given.people, files.signals
    for name, model in given.models.items():
        known[f"entropy of {name}"] = at_items(people.items, model.items, entropy(model))
    for name, values in files.mapped.items():
        known[f"{name} while learning"] = values
    blank, draws = people_row(people), files.settings.draws
    found = correlated_signals(known, blank, rng=files.rng, draws=draws)
    if not found.estimates:
        return None
    table = sections.correlation_rows(Estimates.of(found.estimates))
    return AuditPart("People", Findings(found.estimates, {"correlations": table}))


def _about_interest(files: AuditFiles) -> AuditPart | None:
    """The kinds of disputed items (S4-52), with the models' part if known."""
    given = files.given
    if given.people is None:
        return None
    known = {**files.mapped, **files.judged}
    rules = PEOPLE_ONLY if files.learnt is None else OUR_RULES
    blank = people_row(given.people)
    found = interesting(given.people, known, blank, rules=rules, count=NAMED)
    by = "people's labels alone" if files.learnt is None else "people's labels and the data map"
    sentences = []
    for row in found.estimates:
        amount, samples = int(row.value), found.tables["interest"].filter(kind=row.stratum)
        named = sections.first_named(samples["item"].to_list(), amount)
        text = f"{count(amount, 'item')} of the kind {row.stratum!r}, by {by}{named}."
        sentences.append(sections.finding(text, bool(amount)))
    return AuditPart(INTEREST, found, sentences)


PARTS: tuple[Callable[[AuditFiles], AuditPart | None], ...] = (
    _about_pictures,
    _about_people,
    _about_original,
    _about_models,
    _about_modes,
    _about_movement,
    _about_data_map,
    _about_signals,
    _about_interest,
)
"""What is asked of the files, in the order of the report."""


def _doubtful_pictures(
    given: GivenFiles,
) -> tuple[dict[str, pl.DataFrame], dict[str, NDArray[np.uint8]]]:
    """What people and models believe of the most doubtful items, where there are pictures."""
    if given.people is None or given.pictures is None:
        return {}, {}
    known = set(given.pictures.items).intersection(*(one.items for one in given.models.values()))
    assert given.held is not None
    people = given.held.take([item for item in given.held.items if item in known])
    items = most_doubtful(people)
    sources = {"people": people, **dict(list(given.models.items())[:MODELS_SHOWN])}
    images = dict(zip(items, given.pictures.take(items).images, strict=True)) if items else {}
    return {"doubtful": bars(sources, items)} if items else {}, images


def _draft_sheet(sources: AuditSources, files: AuditFiles) -> Datasheet | None:
    """A draft: what can be counted is, the rest are questions to the owner."""
    given = files.given
    if given.people is None:
        return None
    source = sources.judgments if sources.labels is None else sources.labels
    return datasheet_of(
        Path(source_name(source, "labels")).stem,
        given.people,
        judgments=given.judgments,
        ledger=None if given.made is None else given.made.ledger,
        agreement=[*_agreement(files).values()],
        splits=None if given.pictures is None else Counter(given.pictures.split),
    )


def audit_values(audited: Audit) -> dict[str, Any]:
    """The findings as plain values, ready for JSON; what is no number is None."""
    rows = as_rows(audited.estimates)
    return {
        "simulated": audited.simulated,
        "findings": [
            {"part": part, "text": one.text, "kind": one.kind}
            for part, findings in audited.findings.items()
            for one in findings
        ],
        "remarks": list(audited.remarks),
        "estimates": [
            {name: None if _is_nan(value) else value for name, value in row.items()} for row in rows
        ],
        "tables": {name: len(table) for name, table in audited.tables.items()},
    }


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and not np.isfinite(value)


def write_audit(audited: Audit, folder: Path) -> list[str]:
    """Write every table as Parquet and CSV, the estimates, ``audit.json`` and ``datasheet.md``;
    returns what was written, in words."""
    tables = folder / "tables"
    try:
        tables.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made: {error.strerror or error}.") from None
    for name in TABLES:  # what an earlier audit found must not stand beside this one
        for ending in ("parquet", "csv"):
            (tables / f"{name}.{ending}").unlink(missing_ok=True)
    for name, table in audited.tables.items():
        marked = table.with_columns(simulated=pl.lit(audited.simulated))
        marked.write_parquet(tables / f"{name}.parquet")
        marked.write_csv(tables / f"{name}.csv")
    for ending in ("parquet", "csv"):
        audited.estimates.write(folder / f"estimates.{ending}")
    text = json.dumps(audit_values(audited), indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "audit.json").write_text(text + "\n", encoding="utf-8")
    (folder / "datasheet.md").unlink(missing_ok=True)
    if audited.sheet is not None:
        (folder / "datasheet.md").write_text(to_markdown(audited.sheet), encoding="utf-8")
    amount = f"{count(len(audited.tables), 'table')} and estimates (Parquet and CSV)"
    return [amount, "audit.json", *(["datasheet.md"] if audited.sheet else [])]


TABLES: dict[str, str] = {
    "duplicates": "Pictures that have a duplicate",
    "pairs": "Pairs of duplicates, closest first",
    "leakage": "Pictures that are in two splits",
    "strata": "Strata of label variation",
    "differs": "Items whose most frequent human class is not the original label",
    "concentration": "Share of all doubt in the most doubtful items",
    "correlations": "Signals of ambiguity, correlated",
    "alignment": "People's doubt against the models' confidence",
    "entropy": "Entropy of people's labels and of models",
    "modes": "Models that learnt from original, majority and soft labels",
    "data_map": "Data map",
    "convergence": "How far predictions still move",
    "interest": "Samples of interest",
    "kinds": "All items with their kind of interest",
    "alternatives": "The same first guess, other alternatives",
    "leaderboard": "Closest to people first",
    "doubtful": "What people and models believe of the most doubtful items",
}
"""Every table an audit can write, with its title."""


def draw_audit(audited: Audit, folder: Path, *, title: str = "Audit") -> Path:
    """Write ``report.html``, one page that needs nothing else, and ``figures/``; its path."""
    page = audit_page(audited, title=title)
    for drawing in page.drawings:
        save(drawing, folder / "figures")
    path = folder / "report.html"
    write(page, path)
    return path


def audit_page(audited: Audit, *, title: str = "Audit") -> Page:
    """The audit as a page: what to ask first, the first findings of each part, then all of it."""
    parts = [
        Section(part, "\n\n".join(one.text for one in findings), tuple(BLOCKS[part](audited)))
        for part, findings in audited.findings.items()
    ]
    remarks = tuple(Text(remark) for remark in audited.remarks)
    told = [
        (at, one)
        for part, findings in audited.findings.items()
        for at, one in enumerate(each for each in findings if each.kind != "caution")
        if part != INTEREST
    ]
    told.sort(key=lambda pair: pair[0])  # the first of every part, then the second
    return Page(
        title,
        _lead(audited),
        findings=tuple(one for _, one in told[:MOST_FINDINGS]),
        sections=tuple(parts),
        appendix=(Section("Remarks", "", remarks),) if remarks else (),
        how=Origin(provenance=audited.provenance),
    )


MOST_FINDINGS = 6


def _lead(audited: Audit) -> Lead:
    """What the files must be asked first: labels that differ, spread labels, or copied pictures."""
    told = [one for findings in audited.findings.values() for one in findings]
    against = [one.text for one in told if one.kind == "caution"]
    tied = _about_all(audited, "modes_tied")
    if tied is not None and tied.value:
        against.append(
            f"On {tied.value:,.0f} items people's most frequent answers tie; the first counts."
        )
    if audited.simulated:
        against.insert(0, "Simulated people or models are behind these numbers.")
    question, answer, chart, behind = next(
        (found for make in (_shift_lead, _strata_lead, _copies_lead) if (found := make(audited))),
        (
            "What do these files tell before anything is trained?",
            told[0].text if told else "Nothing that the files hold can be asked yet.",
            None,
            None,
        ),
    )
    basis = []
    if behind is not None and behind.low is not None:
        what = "The two are the same on" if behind.metric == "mode_agreement" else "This is"
        share = f"{what} {sections.percent(behind)} of {count(behind.items, 'item')}"
        basis.append(f"{share}, in brackets the 95 % interval over items.")
    basis += [one.text for one in audited.findings.get("People", ())[2:3]]
    path = ("the labels", "the files given") if behind is not None else ()
    return Lead(
        question,
        answer,
        chart,
        tuple(basis),
        (*dict.fromkeys(against), "Nothing was trained: what the labels are worth is open."),
        Origin(meaning_of([behind] if behind else []), audited.provenance, path=path),
    )


LeadParts = tuple[str, str, Chart | None, Estimate | None]
"""The question, the answer, its picture, and the estimate it tells."""


def _about_all(audited: Audit, metric: str, stratum: str = "all") -> Estimate | None:
    found = audited.estimates.filter(metric=metric, stratum=stratum, network="", part="")
    return next(iter(found), None)


def _shift_lead(audited: Audit) -> LeadParts | None:
    """Original labels that are not people's most frequent class, where any is."""
    same, differ = _about_all(audited, "mode_agreement"), _about_all(audited, "modes_differ")
    if same is None or differ is None or not differ.value:
        return None
    answer = (
        f"The original label is not people's most frequent answer on {differ.value:,.0f} of "
        f"{same.items:,} items."
    )
    return "Do people agree with the original labels?", answer, _strata_chart(audited), same


def _strata_lead(audited: Audit) -> LeadParts | None:
    """The share of labels that are spread over classes."""
    share = _about_all(audited, "share_of_items", "disputed")
    if share is None:
        return None
    answer = f"{share.value:.0%} of the {share.items:,} labels are spread over several classes."
    return "How often are labels spread?", answer, _strata_chart(audited), share


def _strata_chart(audited: Audit) -> Chart | None:
    shares = audited.estimates.filter(metric="share_of_items", stratum=("unanimous", "disputed"))
    same = _about_all(audited, "mode_agreement")
    bars = [
        Bar(SPREAD[one.stratum], one.value, one.low, one.high, text=f"{one.value:.1%}",
            strong=same is None and one.stratum == "disputed")
        for one in shares
    ]  # fmt: skip
    if same is not None:
        low, high = (None if end is None else 1 - end for end in (same.high, same.low))
        text = f"{1 - same.value:.1%}"
        bars.append(Bar("original label differs", 1 - same.value, low, high, "", True, text))
    caption = "Lines are 95 % intervals over items."
    return Chart("Share of items", tuple(bars), caption, True, 1.0) if bars else None


SPREAD = {"unanimous": "label on one class", "disputed": "label on several classes"}
"""What the two strata are called in a picture."""


def _copies_lead(audited: Audit) -> LeadParts | None:
    """Pictures that are there twice."""
    every, exact = _about_all(audited, "pictures"), None
    found = audited.estimates.filter(metric="duplicated_pictures")
    if every is None or not len(found):
        return None
    bars = tuple(
        Bar(f"{one.stratum} duplicate", one.value / max(every.value, 1), strong=True,
            text=f"{one.value:,.0f}")
        for one in found
    )  # fmt: skip
    exact = max(found, key=lambda one: one.value)
    answer = f"{exact.value:,.0f} of {every.value:,.0f} pictures are there twice."
    chart = Chart("Pictures that are there twice", bars, "", True, 1.0)
    return "Are pictures there twice?", answer, chart, exact


def _table_blocks(*names: str) -> Callable[[Audit], Iterable[Block]]:
    """The first rows of tables."""

    def make(audited: Audit) -> Iterable[Block]:
        for name in names:
            table = audited.tables.get(name, pl.DataFrame())
            caption = f"The first {sections.ROWS_SHOWN} of {len(table):,} rows; all are in "
            caption += f"tables/{name}.csv."
            if len(table):
                shown = table.head(sections.ROWS_SHOWN).drop("test", strict=False)
                told = caption if len(shown) < len(table) else ""
                yield Table(TABLES[name], shown, caption=told, simulated=audited.simulated)

    return make


def _model_blocks(audited: Audit) -> Iterable[Block]:
    yield from _table_blocks("leaderboard")(audited)
    yield from sections.alignment_blocks(audited)
    yield from _table_blocks("alternatives")(audited)
    basis = score_figures.basis_of(audited.estimates.filter(metric="mean_entropy").table)
    yield curves.entropy_histograms(audited.tables["entropy"], replace(basis, interval=""))


BLOCKS: dict[str, Callable[[Audit], Iterable[Block]]] = {
    "Pictures": sections.picture_blocks,
    "People": sections.doubt_blocks,
    "Original labels": _table_blocks("differs"),
    "Models": _model_blocks,
    "Softness or a shifted mode": sections.mode_blocks,
    "Learning": sections.learning_blocks,
    INTEREST: sections.item_blocks,
}
"""Tables and figures of each part."""
