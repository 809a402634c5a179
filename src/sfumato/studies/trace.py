"""Walk one number of a run back to the answers behind it: predictions, labels, files, people.

A row of ``estimates.parquet`` names the files it was computed from. Predictions lead to the
training that made them and to the labels it learnt; labels lead to the steps that made them, and
these to a file of answers, which is read again and shown. Answers of simulated people are kept in
the run's folder.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats import FORMATS, Readable, read
from sfumato.judgments.formats.own import read_beside
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.provenance import fingerprint_file, to_json
from sfumato.reporting.text import count, interval, number
from sfumato.scores import Estimate, Estimates
from sfumato.studies.data import RunFolder
from sfumato.studies.study import OWN_FILES, own_options

ANSWERS_SHOWN = 5
"""Answers that are shown of a file."""
ANSWER_WIDTH = 200
"""Characters of an answer that are shown: whole, unless it is very long."""
NEST = "  "


def trace_lines(run: RunFolder, row: int, data: Path | None) -> list[str]:
    """What stands behind row ``row`` of the estimates, from the number to single answers.

    ``data`` is the folder of datasets, where files of answers are looked for.
    """
    if not 0 <= row < len(run.estimates):
        raise DataError(
            f"There is no row {row} in the estimates of {run.folder}; there are rows 0 to "
            f"{len(run.estimates) - 1}."
        )
    one = next(iter(Estimates(run.estimates.table.slice(row, 1))))
    source = json.loads(one.source)
    lines = [_estimate_line(row, one)]
    for name, title in (("labels", "held against"), ("model", "scored"), ("second", "subtracted")):
        if source.get(name):
            lines.append(f"{title}:")
        for step in source.get(name, []):
            lines += [NEST + line for line in _step_lines(step, run, data)]
    if "cells" in source:
        shown = ", ".join(cell[:12] for cell in source["cells"][:3])
        lines.append(
            f"simulated worlds: {len(source['cells'])} cells, {shown} … in {run.trainings}"
        )
    if source.get("note"):
        lines.append(f"note: {source['note']}")
    return lines


def _estimate_line(row: int, one: Estimate) -> str:
    what = f"{one.arm} - {one.second}" if one.second else one.arm
    where = ", ".join(
        part
        for part in (what, one.network, one.part, f"against {one.against}", one.stratum, one.attack)
        if part
    )
    shown = f"{number(one.value)} {interval(one.low, one.high)}".rstrip()
    basis = f"{count(one.items, 'item')}, {count(len(one.seeds), 'seed')}"
    return f"row {row}: {one.metric} = {shown} ({where}; {basis})"


def _step_lines(step: Mapping[str, Any], run: RunFolder, data: Path | None) -> Iterator[str]:
    file = step["settings"].get("file", "")
    if step["name"] == "predict" and file:
        yield from _prediction_lines(file, run, data)
    elif step["name"] == "labels" and file:
        yield from _label_lines(file, run, data)
    else:
        yield from _plain_lines(step, run, data)


def _prediction_lines(file: str, run: RunFolder, data: Path | None) -> Iterator[str]:
    """A file of predictions, the training that made it, and what that learnt."""
    table = pl.read_parquet(run.folder / "trainings.parquet")
    folder = file.rpartition("/")[0]
    for row in table.filter(pl.col("predictions") == folder).iter_rows(named=True):
        yield f"{file}, of the training {row['arm']}, {row['network']}, seed {row['seed']}"
        yield f"{NEST}cell {row['cell'][:12]} in {run.trainings}; learnt from:"
        for line in _learnt_lines(json.loads(row["learnt"]), run, data):
            yield NEST * 2 + line


def _learnt_lines(
    steps: list[Mapping[str, Any]], run: RunFolder, data: Path | None
) -> Iterator[str]:
    """Steps behind what was learnt: from a file of labels on, or from the answers themselves."""
    first, *others = steps
    file = first["settings"].get("file", "")
    if first["name"] != "labels" or not file:
        yield from _provenance_lines(steps, run, data)
        return
    yield from _label_lines(file, run, data)
    for step in others:
        yield from _plain_lines(step, run, data)


def _label_lines(file: str, run: RunFolder, data: Path | None) -> Iterator[str]:
    """A file of labels and the steps that made it."""
    path = run.folder / file
    beside = json.loads(path.with_name(path.name + ".json").read_text(encoding="utf-8"))
    rows = pl.read_parquet(path)
    yield f"{file}: labels of {len(rows):,} items"
    for line in _provenance_lines(beside["provenance"], run, data):
        yield NEST + line


def _provenance_lines(
    steps: list[Mapping[str, Any]], run: RunFolder, data: Path | None
) -> Iterator[str]:
    """All steps; after those that simulated answers, the answers as the run keeps them."""
    path = run.judgments_file
    kept = to_json(read_beside(path)[1]) if path.is_file() else None
    for place, step in enumerate(steps, start=1):
        yield from _plain_lines(step, run, data)
        if steps[:place] == kept:
            yield f"{path.name} in the run's folder:"
            for line in _first_answers(read(path, "sfumato", ReadOptions())):
                yield NEST + line


def _plain_lines(step: Mapping[str, Any], run: RunFolder, data: Path | None) -> Iterator[str]:
    """A step with its settings and files; files of answers are opened."""
    settings = ", ".join(f"{name} {_short(value)}" for name, value in step["settings"].items())
    simulated = " (simulated people)" if step["simulated"] else ""
    yield f"{step['name']}{f': {settings}' if settings else ''}{simulated}"
    for name, digest in step["inputs"].items():
        yield f"{NEST}{name}, SHA-256 {digest[:12]}"
        for line in _answer_lines(step["name"], name, digest, run, data):
            yield NEST * 2 + line


def _answer_lines(
    step: str, name: str, digest: str, run: RunFolder, data: Path | None
) -> Iterator[str]:
    """The first answers of a file, where it is there and still the same."""
    given = run.study.own
    own = [Path(value) for key in OWN_FILES if (value := getattr(given, key))]
    candidates = [path / name if path.is_dir() else path for path in own]
    candidates = [path for path in candidates if path.name == Path(name).name]
    if data is not None:
        candidates += sorted(data.rglob(Path(name).name))
    same = [path for path in candidates if path.is_file() and fingerprint_file(path) == digest]
    if not same:
        yield "the file is not where it was and not in the folder of datasets, or has changed"
        return
    form = step.removeprefix("read ")
    if form in FORMATS:
        path, options = same[0], ReadOptions()
        if given.judgments and Path(given.judgments) in (path, path.parent):  # one file or several
            path, options = Path(given.judgments), own_options(given)
        yield from _first_answers(read(path, form, options))


def _first_answers(answers: Readable) -> Iterator[str]:
    """How many answers there are, and a few of them."""
    table = answers.table
    about = f" about {table['item'].n_unique():,} items" if isinstance(answers, Judgments) else ""
    yield f"{len(table):,} answers{about}; the first:"
    for row in table.head(ANSWERS_SHOWN).iter_rows(named=True):
        shown = ", ".join(
            f"{key} {_short(value, ANSWER_WIDTH)}"
            for key, value in row.items()
            if value is not None
        )
        yield NEST + shown


def _short(value: object, most: int = 60) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[: most - 1]}…"
