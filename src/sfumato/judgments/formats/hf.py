"""Publish judgments as a Hugging Face dataset folder, and read such a folder again.

A folder holds ``README.md`` (the dataset card), ``croissant.json`` and ``data`` with Parquet
tables: the judgments in our own format, their question beside them, the annotators, and labels
where somebody made them. Everything comes back but rows that were set aside and remarks, which
speak of the file that was read before.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.own import question_file, read_own, write_own
from sfumato.judgments.formats.reading import ReadOptions, refuse_platform_ids
from sfumato.judgments.judgments import ABOUT_COLUMNS, Judgments
from sfumato.provenance import fingerprint_file

# Describe the Parquet tables of a folder in Croissant, the metadata that dataset search reads.
#
# Croissant (https://docs.mlcommons.org/croissant/docs/croissant-spec.html) is JSON-LD: the files of
# a dataset, and for each table a record set that says what its columns are. With the vocabulary for
# responsible AI it also says what annotators were asked.


CONFORMS_TO = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The names of Croissant 1.0, as its specification lists them."""


@dataclass(frozen=True)
class RecordSet:
    """A table of the dataset and what is said of it."""

    name: str
    file: str
    """Its path in the folder, with slashes."""
    about: str
    columns: Mapping[str, str]
    """What each column holds; the others are described by ``other``."""
    other: str = ""
    """What a column holds that ``columns`` does not name; ``{}`` stands for its name."""
    key: str | None = None
    """The column whose values are all different."""
    references: Mapping[str, str] | None = None
    """Columns that name a row of another record set, such as ``annotators/annotator``."""

    def meaning(self, column: str) -> str:
        """What a column holds."""
        return self.columns.get(column) or self.other.format(column)


def croissant_of(
    folder: Path, sets: Sequence[RecordSet], said: Mapping[str, Any]
) -> dict[str, Any]:
    """The metadata of a folder; ``said`` holds name, description and what else is known."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        **{name: value for name, value in said.items() if value is not None},
        "distribution": [_file_object(folder, each) for each in sets],
        "recordSet": [_record_set(folder, each) for each in sets],
    }


def _file_object(folder: Path, table: RecordSet) -> dict[str, Any]:
    path = folder / table.file
    return {
        "@type": "cr:FileObject",
        "@id": f"{table.name}.parquet",
        "name": f"{table.name}.parquet",
        "description": table.about,
        "contentUrl": table.file,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": fingerprint_file(path),
    }


def _record_set(folder: Path, table: RecordSet) -> dict[str, Any]:
    columns = pl.read_parquet_schema(folder / table.file)
    key = {"key": {"@id": _field_id(table, table.key)}} if table.key else {}
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.about,
        **key,
        "field": [_field(table, name, dtype) for name, dtype in columns.items()],
    }


def _field(table: RecordSet, column: str, dtype: pl.DataType) -> dict[str, Any]:
    target = (table.references or {}).get(column)
    references = {"references": {"field": {"@id": target}}} if target else {}
    return {
        "@type": "cr:Field",
        "@id": _field_id(table, column),
        "name": f"{table.name}/{column}",
        "description": table.meaning(column),
        "dataType": _data_type(dtype),
        "source": {
            "fileObject": {"@id": f"{table.name}.parquet"},
            "extract": {"column": column},
        },
        **references,
    }


def _field_id(table: RecordSet, column: str) -> str:
    # An id is part of an address, where a class such as "none of these" has to be escaped.
    return f"{table.name}/{quote(column, safe='')}"


def _data_type(dtype: pl.DataType) -> str:
    if dtype.is_float():
        return "sc:Float"
    if dtype.is_integer():
        return "sc:Integer"
    return "sc:Boolean" if dtype == pl.Boolean else "sc:Text"


DATA = "data"
JUDGMENTS = "judgments.parquet"
ANNOTATORS = "annotators.parquet"
LABELS = "labels.parquet"
CARD = "README.md"
CROISSANT = "croissant.json"

ABOUT_ANNOTATORS: dict[str, str] = {
    "annotator": "pseudonym of a person",
    "judgments": "answers by this person, repeats and checks among them",
    "items": "different items that they judged",
    "seconds": "median seconds of an answer",
    "simulated": "true for a simulated person; empty for people",
}
"""What the columns of the table of annotators hold."""

SHOWN_CLASSES = 30
"""More classes than this are counted on the card; the question beside the judgments has all."""

_NOT_IN_YAML = re.compile(
    '["\\\\]|[^\\x20-\\x7e\\xa0-\\ud7ff\\ue000-\\ufefe\\uff00-\\ufffd\\U00010000-\\U0010ffff]'
)


@dataclass(frozen=True)
class Publication:
    """What a publisher says of the data that the data do not say; None where nobody said it."""

    title: str | None = None
    """The name of the dataset; that of the folder where none is given."""
    license: str | None = None
    """An identifier such as cc-by-4.0, or the address of the text."""
    creator: str | None = None
    """Who made it."""
    url: str | None = None
    """Where it is published."""
    date: str | None = None
    """When it is published, such as 2026-05-04."""

    def unsaid(self) -> list[str]:
        """What Croissant asks of every dataset and nobody said."""
        return [name for name in ("license", "creator", "url", "date") if not getattr(self, name)]


def read_hf(path: Path, options: ReadOptions) -> Judgments:
    """Read the judgments of a folder that ``write_hf`` wrote."""
    table = path / DATA / JUDGMENTS
    if not table.is_file():
        what = "a folder" if path.is_dir() else "no folder"
        raise DataError(
            f"{path.name} is {what} without {DATA}/{JUDGMENTS}, where a published dataset has its "
            "judgments. Name the folder that was published."
        )
    return read_own(table, options)


def write_hf(judgments: Judgments, path: Path) -> None:
    """Write a folder of judgments and annotators; ``labels.publish`` adds labels to it."""
    with new_folder(path) as folder:
        write_tables(judgments, folder)
        write_metadata(judgments, folder, Publication(title=path.name))


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write into that takes the name ``path`` once everything is written."""
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise DataError(f"{path} is there already. Name a folder that is new or empty.")
    part = path.with_name(f".{path.name}.part")
    try:
        part.mkdir()
        yield part
        if path.is_dir():
            path.rmdir()
        part.rename(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_tables(judgments: Judgments, folder: Path) -> None:
    """Write the judgments with their question, and the annotators where any are recorded."""
    refuse_platform_ids(judgments.table["annotator"])
    (folder / DATA).mkdir()
    write_own(judgments, folder / DATA / JUDGMENTS)
    people = annotators_of(judgments)
    if len(people):
        people.write_parquet(folder / DATA / ANNOTATORS)


def annotators_of(judgments: Judgments) -> pl.DataFrame:
    """One row per person: how much they judged, and how fast."""
    table = judgments.table.drop_nulls("annotator")
    people = (
        table.group_by("annotator")
        .agg(
            pl.len().cast(pl.Int64).alias("judgments"),
            pl.col("item").n_unique().cast(pl.Int64).alias("items"),
            pl.col("seconds").fill_nan(None).median(),
            pl.col("simulated").any(ignore_nulls=False),
        )
        .sort("annotator")
    )
    return people.select(name for name in people.columns if people[name].null_count() < len(people))


def write_metadata(
    judgments: Judgments, folder: Path, about: Publication, *, labels_are: str = ""
) -> list[str]:
    """Write the card and the Croissant file for the tables that are in the folder: their names.

    ``labels_are`` says how the labels were made, where there are some.
    """
    sets = _record_sets(folder, labels_are)
    name = about.title or folder.name
    said = {
        "name": name,
        "description": _summary(judgments),
        "license": about.license,
        "creator": about.creator and {"@type": "sc:Organization", "name": about.creator},
        "url": about.url,
        "datePublished": about.date,
        "keywords": _tags(judgments),
        "rai:dataAnnotationProtocol": _asked(judgments),
        "rai:annotationsPerItem": _per_item(judgments),
    }
    stored = json.dumps(croissant_of(folder, sets, said), indent=1, ensure_ascii=False)
    (folder / CROISSANT).write_text(stored + "\n", encoding="utf-8")
    header = {
        "pretty_name": name,
        **_license(about.license),
        "annotations_creators": _creators(judgments),
        "size_categories": [_size(len(judgments))],
        "tags": _tags(judgments),
        "configs": [_config(each, default=each is sets[0]) for each in sets],
        "dataset_info": [_features(folder, each) for each in sets],
    }
    text = f"---\n{_yaml(header)}---\n\n{_card(judgments, folder, name, about, sets)}"
    (folder / CARD).write_text(text, encoding="utf-8")
    return [each.name for each in sets]


def _record_sets(folder: Path, labels_are: str) -> list[RecordSet]:
    """The tables of the folder, judgments first."""
    has = {name: (folder / DATA / name).is_file() for name in (ANNOTATORS, LABELS)}
    known = {"annotator": "annotators/annotator"} if has[ANNOTATORS] else {}
    sets = [
        RecordSet(
            "judgments",
            f"{DATA}/{JUDGMENTS}",
            "One row per answer: who said what about which item.",
            ABOUT_COLUMNS,
            references=known,
        )
    ]
    if has[LABELS]:
        sets.append(
            RecordSet(
                "labels",
                f"{DATA}/{LABELS}",
                f"One row per item: the distribution over the classes. {labels_are}".strip(),
                {"item": ABOUT_COLUMNS["item"]},
                other="probability of the class “{}”",
                key="item",
            )
        )
    if has[ANNOTATORS]:
        sets.append(
            RecordSet(
                "annotators",
                f"{DATA}/{ANNOTATORS}",
                "One row per annotator, under a pseudonym.",
                ABOUT_ANNOTATORS,
                key="annotator",
            )
        )
    return sets


def _summary(judgments: Judgments) -> str:
    table = judgments.table
    people = table["annotator"].drop_nulls().n_unique()
    who = f" of {people:,} people" if people else " of people who are not recorded"
    simulated = int(table["simulated"].fill_null(False).sum())
    mark = f" {simulated:,} of the answers are SIMULATED." if simulated else ""
    return (
        f"{len(table):,} judgments{who} about {table['item'].n_unique():,} items, one row per "
        f"answer.{mark}"
    )


def _asked(judgments: Judgments) -> str:
    question = judgments.question
    wording = f"“{question.wording}”" if question.wording else "The wording is not recorded."
    return f"{wording} ({question.kind}, {len(question.classes)} classes)"


def _per_item(judgments: Judgments) -> str:
    counts = judgments.table.group_by("item").len()["len"].to_list()
    low, high = min(counts, default=0), max(counts, default=0)
    if low == high:
        return str(low)
    return f"{low} to {high}, {len(judgments) / len(counts):.3g} on average"


def _creators(judgments: Judgments) -> list[str]:
    """Who annotated, in Hugging Face's words; whether crowd or experts the data do not say."""
    simulated = judgments.table["simulated"].fill_null(False)
    machine = ["machine-generated"] if simulated.any() else []
    return machine if simulated.all() else [*machine, "other"]


def _tags(judgments: Judgments) -> list[str]:
    simulated = bool(judgments.table["simulated"].fill_null(False).any())
    return [
        "human-label-variation",
        "annotator-level",
        "sfumato",
        *(["simulated"] if simulated else []),
    ]


def _license(name: str | None) -> dict[str, str]:
    if name is None:
        return {}
    if "://" in name:
        return {"license": "other", "license_link": name}
    return {"license": name.lower()}


def _size(rows: int) -> str:
    """The size of a dataset in the steps that Hugging Face has."""
    steps = [(1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M")]
    return next((name for most, name in steps if rows < most), "1M<n<10M")


def _config(table: RecordSet, *, default: bool) -> dict[str, Any]:
    files = [{"split": "train", "path": table.file}]
    return {
        "config_name": table.name,
        "data_files": files,
        **({"default": True} if default else {}),
    }


def _features(folder: Path, table: RecordSet) -> dict[str, Any]:
    names = {pl.String(): "string", pl.Float64(): "float64", pl.Int64(): "int64"}
    columns = pl.read_parquet_schema(folder / table.file)
    features = [
        {"name": name, "dtype": names.get(dtype, "bool")} for name, dtype in columns.items()
    ]
    return {"config_name": table.name, "features": features}


def _card(
    judgments: Judgments, folder: Path, name: str, about: Publication, sets: Sequence[RecordSet]
) -> str:
    """The text of the card: what was asked, what the tables hold, how to read them."""
    question = judgments.question
    more = len(question.classes) - SHOWN_CLASSES
    classes = ", ".join(f"`{name}`" for name in question.classes[:SHOWN_CLASSES])
    classes += f" and {more} more" if more > 0 else ""
    tables = "\n".join(
        f"| `{each.name}` | `{each.file}` | {_rows(folder, each):,} | {each.about} |"
        for each in sets
    )
    columns = "\n".join(
        f"| `{column}` | {ABOUT_COLUMNS[column]} |"
        for column in pl.read_parquet_schema(folder / DATA / JUDGMENTS)
    )
    said = [f"{label}: {value}" for label, value in _told(about).items() if value]
    return f"""# {name}

{_summary(judgments)}
{" · ".join(said)}

## What was asked

{question.wording or "The wording is not recorded."}

Form of the answer: `{question.kind}`, version {question.version}. Classes: {classes}.
`{DATA}/{question_file(Path(JUDGMENTS)).name}` has the question with all its options.

## Tables

| config | file | rows | what |
|---|---|---|---|
{tables}

| column of `judgments` | what |
|---|---|
{columns}

```python
from datasets import load_dataset

judgments = load_dataset("path/to/this/folder", "judgments", split="train")
```

The tables are in the format of Sfumato, which reads this folder as it is (format `hf`).
Annotators are pseudonyms. `{CROISSANT}` describes the tables for search engines and loaders.
"""


def _told(about: Publication) -> Mapping[str, str | None]:
    return {
        "Licence": about.license,
        "By": about.creator,
        "At": about.url,
        "Published": about.date,
    }


def _rows(folder: Path, table: RecordSet) -> int:
    return int(pl.scan_parquet(folder / table.file).select(pl.len()).collect().item())


def _yaml(value: Any, indent: str = "") -> str:
    """Nested dicts, lists and texts as the lines of a YAML block."""
    lines = ""
    if isinstance(value, dict):
        for name, held in value.items():
            if isinstance(held, dict | list):
                lines += f"{indent}{name}:\n{_yaml(held, indent + '  ')}"
            else:
                lines += f"{indent}{name}: {_scalar(held)}\n"
        return lines
    for held in value:
        if isinstance(held, dict):
            block = _yaml(held, indent + "  ")
            lines += f"{indent}- {block.removeprefix(indent + '  ')}"
        else:
            lines += f"{indent}- {_scalar(held)}\n"
    return lines


def _scalar(value: str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{_NOT_IN_YAML.sub(_escaped, value)}"'


def _escaped(found: re.Match[str]) -> str:
    """A character that YAML does not take between quotes, or not as it is."""
    if found[0] in '"\\':
        return f"\\{found[0]}"
    return f"\\u{ord(found[0]):04x}"
