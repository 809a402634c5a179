"""Turn the bytes of a table into text: compression, encoding and delimiter are found out."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sfumato.errors import DataError
from sfumato.names import find

COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
"""Endings of compressed files; what they hold ends in whatever stands before."""

DELIMITERS = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "pipe": "|",
}
"""What may separate the fields of a table, by the name a person types."""

HEAD = 2**16
"""How many characters the delimiter is judged by."""

_BLOCK = 2**20
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_SEPARATOR = re.compile(r'\s*"?sep=(.)"?\s*\r?\n', re.IGNORECASE)


def content_suffix(path: Path) -> str:
    """The ending of what a file holds, in small letters, without that of its compression.

    >>> content_suffix(Path("votes.CSV.gz")), content_suffix(Path("votes.tsv"))
    ('.csv', '.tsv')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, or the one file inside a compressed one; the first bytes tell which."""
    try:
        with _open_archive(path) as opened:
            yield opened
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
    except (EOFError, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise DataError(f"{path.name} is a damaged archive: {error}.") from None


def _open_archive(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        start = file.read(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.open(path)  # type: ignore[return-value]
    if start.startswith(b"BZh"):
        return bz2.open(path)
    if start.startswith(b"\xfd7zXZ\x00"):
        return lzma.open(path)
    return _only_member(path) if start.startswith(b"PK\x03\x04") else path.open("rb")


def _only_member(path: Path) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    names = [
        name
        for name in archive.namelist()
        if not name.endswith("/") and not name.startswith("__MACOSX")
    ]
    if len(names) != 1:
        raise DataError(f"{path.name} holds {len(names)} files; a zipped table is one file.")
    return archive.open(names[0])


@contextmanager
def open_table_text(path: Path) -> Iterator[io.TextIOWrapper]:
    """Open a text file of any usual encoding; ``encoding`` of what is given says which.

    Text that is no UTF-8 is taken for Windows-1252, the Latin-1 of spreadsheets. Bytes that
    are no text at all are an error.
    """
    with open_bytes(path) as opened:
        encoding = _find_encoding(opened, path.name)
        opened.seek(0)
        with io.TextIOWrapper(opened, encoding=encoding, newline="") as file:
            try:
                yield file
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path.name} is not {encoding} text (byte {error.start}: {error.reason}). "
                    "Save it as UTF-8, or check that it is the right file."
                ) from None


def decode_text(content: bytes, name: str) -> str:
    """The text of a file of any usual encoding, as ``open_table_text`` finds it."""
    return content.decode(_find_encoding(io.BytesIO(content), name))


def bytes_done(file: io.TextIOWrapper) -> int:
    """How far a text file has been read, in bytes of what it holds."""
    buffer: Any = file.buffer
    return int(buffer.tell())


def _find_encoding(file: IO[bytes], name: str) -> str:
    block = file.read(_BLOCK)
    if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = block[:1000]
    if len(head) > 8 and head.count(0) < 0.6 * len(head):
        # Without a mark, Western letters in UTF-16 are every other byte: the zeros say which.
        for encoding, zeros in (("utf-16-le", head[1::2]), ("utf-16-be", head[0::2])):
            if zeros.count(0) > 0.8 * len(zeros):
                return encoding
    if head.count(0) > 0.1 * len(head):
        raise DataError(f"{name} is not UTF-8 text but bytes of something else.")
    decoder = codecs.getincrementaldecoder("utf-8")()
    first = block
    try:
        while block:
            decoder.decode(block)
            block = file.read(_BLOCK)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        if _CONTROL.search(first):
            raise DataError(
                f"{name} is not UTF-8 text (byte {error.start}: {error.reason}). "
                "Save it as UTF-8, or check that it is the right file."
            ) from None
        return "latin-1" if re.search(rb"[\x81\x8d\x8f\x90\x9d]", first) else "cp1252"
    return "utf-8-sig"


def stated_delimiter(head: str) -> str | None:
    """The delimiter that Excel writes into a first line ``sep=;``; None where there is none."""
    stated = _SEPARATOR.match(head)
    return stated[1] if stated else None


def delimiter_named(text: str) -> str:
    r"""A delimiter given as itself or by its name.

    >>> delimiter_named("semicolon"), delimiter_named(";"), delimiter_named("\\t")
    (';', ';', '\t')
    """
    if text == "\\t":
        return "\t"
    if len(text) == 1:
        return text
    return find(DELIMITERS, text.lower(), what="delimiter")


def find_delimiter(head: str, *, default: str = ",") -> str:
    r"""The character that splits the first lines of a table into rows of one width.

    >>> find_delimiter("item;rater;seconds\n1;ann;2,5\n2;bob;3,5\n")
    ';'
    """
    text = head if len(head) < HEAD else head[: head.rfind("\n") + 1]
    best, found = (0.0, 1, 0), default
    for delimiter in DELIMITERS.values():
        try:
            rows = [row for row in csv.reader(text.splitlines(True), delimiter=delimiter) if row]
        except csv.Error:
            continue
        if not rows or len(rows[0]) < 2:
            continue
        width = len(rows[0])
        alike = sum(len(row) == width for row in rows[1:]) / max(len(rows) - 1, 1)
        rank = (alike if len(rows) > 1 else 1.0, width, int(delimiter == default))
        if rank > best:
            best, found = rank, delimiter
    return found
