"""Turn a file of word vectors into the similarity of classes (S2-20)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import open_text

__all__ = ["class_similarity", "read_vectors"]


def class_similarity(path: Path, classes: tuple[str, ...]) -> NDArray[np.float64]:
    """Cosine similarity of every two classes, shape (classes, classes).

    The vector of a class is the mean of its words' vectors: "fire engine" has two words.
    """
    words = {name: name.lower().replace("_", " ").replace("-", " ").split() for name in classes}
    found = read_vectors(path, {word for parts in words.values() for word in parts})
    for name, parts in words.items():
        unknown = [word for word in parts if word not in found]
        if unknown or not parts:
            raise DataError(
                f"{path.name} has no vector for {unknown or [name]}, needed for class {name!r}. "
                "Use a larger vector file, or add a line for the word."
            )
    vectors = np.stack([np.mean([found[word] for word in words[name]], axis=0) for name in classes])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


def read_vectors(path: Path, wanted: set[str]) -> dict[str, NDArray[np.float64]]:
    """The vectors of the wanted words from a text file: a word and its numbers on each line.

    GloVe, word2vec text and fastText files have this form; a first line with only the size of
    the file is passed over.
    """
    found: dict[str, NDArray[np.float64]] = {}
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            word, _, numbers = line.rstrip().partition(" ")
            if word not in wanted or word in found:
                continue
            try:
                found[word] = np.array(numbers.split(), dtype=np.float64)
            except ValueError:
                raise DataError(
                    f"{path.name}, line {number}: the vector of {word!r} holds text that is not "
                    "a number."
                ) from None
            if found[word].size != next(iter(found.values())).size:
                raise DataError(
                    f"{path.name}, line {number}: {word!r} has {found[word].size} numbers, "
                    f"other words have {next(iter(found.values())).size}."
                )
    return found
