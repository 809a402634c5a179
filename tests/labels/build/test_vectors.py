from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.build.vectors import class_similarity


def test_similarity_is_the_cosine_of_mean_word_vectors(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("4 2\ncat 1 0\nfire 0 2\nengine 0 4\ndog 3 4\n")

    found = class_similarity(path, ("cat", "fire engine", "Dog"))

    assert np.allclose(found, [[1, 0, 0.6], [0, 1, 0.8], [0.6, 0.8, 1]])


def test_missing_word_is_named(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 0\n")

    with pytest.raises(DataError, match=r"no vector for \['lynx'\], needed for class 'lynx'"):
        class_similarity(path, ("cat", "lynx"))


def test_vector_with_text_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("dog 1 0\ncat 1 x\n")

    with pytest.raises(DataError, match="line 2: the vector of 'cat'"):
        class_similarity(path, ("cat", "dog"))
