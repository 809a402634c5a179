from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, UnknownName
from sfumato.labels.build.vectors import class_similarity, read_vectors, read_words

HAND = [[1, 0, 0.6], [0, 1, 0.8], [0.6, 0.8, 1]]  # cat (1, 0), fire engine (0, 3), dog (3, 4)


def write_binary(path: Path, vectors: dict[str, list[float]], *, breaks: bool) -> None:
    """word2vec's binary form, with or without a line break after each vector."""
    width = len(next(iter(vectors.values())))
    with path.open("wb") as file:
        file.write(f"{len(vectors)} {width}\n".encode())
        for word, numbers in vectors.items():
            file.write(word.encode() + b" " + np.array(numbers, dtype="<f4").tobytes())
            file.write(b"\n" if breaks else b"")


def test_similarity_is_the_cosine_of_mean_word_vectors(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("4 2\ncat 1 0\nfire 0 2\nengine 0 4\ndog 3 4\n")

    found = class_similarity(path, ("cat", "fire engine", "Dog"))

    assert np.allclose(found, HAND)
    assert np.allclose(class_similarity(path, ("cat", "fire_engine", "fire-engine"))[1, 2], 1)


@pytest.mark.parametrize("breaks", [True, False])
def test_binary_file_says_the_same_as_the_text(tmp_path: Path, breaks: bool) -> None:
    path = tmp_path / "vectors.bin"
    vectors = {"the": [9.0, 9], "cat": [1.0, 0], "fire": [0.0, 2], "engine": [0.0, 4]}
    vectors["dog"] = [3, 4]
    write_binary(path, vectors, breaks=breaks)

    found = class_similarity(path, ("cat", "fire engine", "Dog"))

    assert np.allclose(found, HAND)


@given(
    st.lists(st.lists(st.floats(-9, 9, width=32), min_size=3, max_size=3), min_size=1, max_size=5),
    st.booleans(),
)
def test_binary_vectors_come_back_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[float]], breaks: bool
) -> None:
    path = tmp_path_factory.mktemp("binary") / "vectors.bin"
    vectors = {f"wörd{place}": row for place, row in enumerate(rows)}
    write_binary(path, vectors, breaks=breaks)

    found = read_vectors(path, set(vectors))

    assert {word: vector.tolist() for word, vector in found.items()} == vectors


def test_words_stand_for_classes_that_the_file_lacks(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("car 1 0\nfire_engine 0 1\nlynx 3 4\ncat 4 3\n")
    (tmp_path / "words.csv").write_text("class,word\nautomobile,car\nred one,fire_engine\n")
    words = read_words(tmp_path / "words.csv", ("automobile", "red one", "lynx"))

    found = class_similarity(path, ("automobile", "red one", "lynx"), words=words)

    assert words == {"automobile": "car", "red one": "fire_engine"}
    assert np.allclose(found, [[1, 0, 0.6], [0, 1, 0.8], [0.6, 0.8, 1]])
    both = class_similarity(path, ("lynx", "cats"), words={"cats": "lynx cat"})
    assert both[0, 1] == pytest.approx((3 * 7 + 4 * 7) / (5 * np.sqrt(98)))  # mean (3.5, 3.5)


def test_word_is_taken_as_written_before_in_lower_case(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("polish 1 0\nPolish 0 1\nshoe 0 1\n")

    assert class_similarity(path, ("Polish", "shoe"))[0, 1] == pytest.approx(1)
    assert class_similarity(path, ("POLISH", "shoe"))[0, 1] == pytest.approx(0)


def test_missing_word_is_named_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 0\nfire 1 1\n")

    with pytest.raises(DataError, match=r"no vector for \['lynx'\], needed for class 'lynx'"):
        class_similarity(path, ("cat", "lynx"))
    with pytest.raises(DataError, match=r"\['engine'\].*class,word and fire engine,WORD"):
        class_similarity(path, ("cat", "fire engine"))


def test_vector_with_text_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("dog 1 0\ncat 1 x\n")

    with pytest.raises(DataError, match="line 2: the vector of 'cat'"):
        class_similarity(path, ("cat", "dog"))


def test_words_with_spaces_are_passed_over_and_short_vectors_are_not(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("dog 1 0\ncat food 5 5\ncat 0 1\n")

    assert class_similarity(path, ("dog", "cat"))[0, 1] == pytest.approx(0)
    path.write_text("dog 1 0\ncat 1 0 5\n")
    with pytest.raises(DataError, match="line 2: 'cat' has 3 numbers, other words have 2"):
        class_similarity(path, ("cat", "dog"))


def test_vectors_without_a_direction_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("dog 1 0\ncat 0 0\nfrog nan 1\n")

    with pytest.raises(DataError, match="the vector of class 'cat' is zero"):
        class_similarity(path, ("dog", "cat"))
    with pytest.raises(DataError, match="line 3: the vector of 'frog' is not finite"):
        class_similarity(path, ("dog", "frog"))


def test_damaged_binary_files_are_sentences(tmp_path: Path) -> None:
    path = tmp_path / "vectors.bin"
    write_binary(path, {"cat": [1, 0], "dog": [0, 1]}, breaks=True)
    path.write_bytes(path.read_bytes()[:-6])

    with pytest.raises(DataError, match=r"vectors.bin ends in word 2 of 2"):
        read_vectors(path, {"dog"})
    path.write_text("cat 1 0\n")
    with pytest.raises(DataError, match="not a binary file of word2vec"):
        read_vectors(path, {"cat"})
    with pytest.raises(DataError, match="cannot be opened"):
        read_vectors(tmp_path / "nowhere.bin", {"cat"})


def test_wrong_files_of_words_are_sentences(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"

    for text, message in (
        ("cat,kitten\n", "the first line of a file of words is class,word"),
        ("class,word\ncat\n", "found 'cat'"),
        ("class,word\ncat,\n", "found 'cat,'"),
        ("class,word\ncat,a\ncat,b\n", "the class 'cat' twice"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_words(path, ("cat", "dog"))
    path.write_text("class,word\ncatt,kitten\n")
    with pytest.raises(UnknownName, match="Did you mean 'cat'"):
        read_words(path, ("cat", "dog"))
