"""Turn a file of word vectors into the similarity of classes (S2-20).

Text files (GloVe, word2vec, fastText) have a word and its numbers on each line; a first line
with the number of words and of numbers is passed over. A file that ends in ``.bin`` is
word2vec's binary form.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import open_text
from sfumato.names import find
from sfumato.stats import cosines

Vector = NDArray[np.float64]

LONGEST_WORD = 4096
"""Bytes of a word in a binary file, beyond which it is not one."""


def class_similarity(
    path: Path, classes: tuple[str, ...], *, words: Mapping[str, str] | None = None
) -> NDArray[np.float64]:
    """Cosine similarity of every two classes, shape (classes, classes).

    The vector of a class is the mean of its words' vectors: "fire engine" has two words, and so
    have "fire_engine" and "fire-engine". ``words`` says what else stands for a class: words
    apart by spaces, each as it is in the file. A word is looked up as it is written, then in
    lower case; one that the file lacks is an error.
    """
    named = dict(words or {})
    parts = {
        name: (
            named[name].split()
            if name in named
            else name.replace("_", " ").replace("-", " ").split()
        )
        for name in classes
    }
    forms = {form for found in parts.values() for word in found for form in (word, word.lower())}
    vectors = read_vectors(path, forms)
    mean = np.stack([_mean(path, vectors, name, parts[name]) for name in classes])
    empty = ~mean.any(axis=1)
    if empty.any():
        name = classes[int(empty.argmax())]
        raise DataError(
            f"In {path.name} the vector of class {name!r} is zero: it has no direction."
        )
    return cosines(mean)


def read_words(path: Path, classes: Sequence[str]) -> dict[str, str]:
    """Which words stand for which class: a CSV with the columns ``class`` and ``word``."""
    with open_text(path) as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows or rows[0] != ["class", "word"]:
        raise DataError(f"{path.name}: the first line of a file of words is class,word.")
    known = {name: name for name in classes}
    found: dict[str, str] = {}
    for row in rows[1:]:
        if len(row) != 2 or not row[1].strip():
            raise DataError(
                f"{path.name}: a line is a class and the word that stands for it, as in "
                f"automobile,car; found {','.join(row)!r}."
            )
        name = find(known, row[0], what="class")
        if name in found:
            raise DataError(f"{path.name} gives words for the class {name!r} twice.")
        found[name] = row[1]
    return found


def read_vectors(path: Path, wanted: set[str]) -> dict[str, Vector]:
    """The vectors of the wanted words; of a word that occurs twice the first counts."""
    found: dict[str, Vector] = {}
    for place, word, vector in _binary(path) if path.suffix == ".bin" else _text(path, wanted):
        if word not in wanted or word in found:
            continue
        if not np.isfinite(vector).all():
            raise DataError(f"{path.name}, {place}: the vector of {word!r} is not finite.")
        found[word] = vector
    return found


def _mean(path: Path, vectors: Mapping[str, Vector], name: str, words: Sequence[str]) -> Vector:
    found = [vectors.get(word, vectors.get(word.lower())) for word in words]
    unknown = [word for word, vector in zip(words, found, strict=True) if vector is None]
    if unknown or not words:
        raise DataError(
            f"{path.name} has no vector for {unknown or [name]}, needed for class {name!r}. Say "
            f"which word stands for it in a file with the lines class,word and {name},WORD "
            "(the words), or use a larger vector file."
        )
    return np.mean([vector for vector in found if vector is not None], axis=0)


def _text(path: Path, wanted: set[str]) -> Iterator[tuple[str, str, Vector]]:
    """Place, word and vector of the lines that begin with a wanted word."""
    width = 0
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            word, _, rest = line.rstrip().partition(" ")
            if not width:
                if number == 1 and word.isdigit() and rest.strip().isdigit():
                    continue  # the size of the file
                width = len(rest.split())
            if word not in wanted:
                continue
            fields = rest.split()
            if len(fields) > width and not _is_number(fields[0]):
                continue  # a word with a space in it, as GloVe's largest file has
            if len(fields) != width:
                raise DataError(
                    f"{path.name}, line {number}: {word!r} has {len(fields)} numbers, other words "
                    f"have {width}."
                )
            try:
                yield f"line {number}", word, np.array(fields, dtype=np.float64)
            except ValueError:
                raise DataError(
                    f"{path.name}, line {number}: the vector of {word!r} holds text that is not "
                    "a number."
                ) from None


def _binary(path: Path) -> Iterator[tuple[str, str, Vector]]:
    """word2vec's binary form: a line with both sizes, then each word, a space, and float32s."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror}.") from None
    with file:
        sizes = file.readline(LONGEST_WORD).split()
        if len(sizes) != 2 or not all(size.isdigit() for size in sizes):
            raise DataError(
                f"{path.name} is not a binary file of word2vec: it does not begin with the "
                "numbers of words and of dimensions. Text files must not end in .bin."
            )
        count, width = map(int, sizes)
        for number in range(1, count + 1):
            word = _word(file)
            stored = file.read(4 * width)
            if len(stored) < 4 * width:
                raise DataError(f"{path.name} ends in word {number} of {count}; it is damaged.")
            vector = np.frombuffer(stored, dtype="<f4").astype(np.float64)
            yield f"word {number}", word.decode("utf-8", errors="replace"), vector


def _word(file: BinaryIO) -> bytes:
    """The bytes up to the next space; some writers put a line break before a word."""
    word = bytearray()
    while (byte := file.read(1)) not in (b" ", b"") and len(word) <= LONGEST_WORD:
        word += byte
    return bytes(word).lstrip(b"\n")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
