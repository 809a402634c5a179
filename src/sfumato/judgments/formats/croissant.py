"""Describe the Parquet tables of a folder in Croissant, the metadata that dataset search reads.

Croissant (https://docs.mlcommons.org/croissant/docs/croissant-spec.html) is JSON-LD: the files of
a dataset, and for each table a record set that says what its columns are. With the vocabulary for
responsible AI it also says what annotators were asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from sfumato.provenance import fingerprint_file

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
