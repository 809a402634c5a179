"""What studies work on: every source, what it leaves unread, and what it says of missing files."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.data import load
from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats import write
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.build import BuiltLabels, build
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.provenance import fingerprint_file, is_simulated
from sfumato.studies import cifar_sources, trainings
from sfumato.studies import data as study_data
from sfumato.studies.cifar_sources import CORRUPTED, FAR_SETS, IMAGENET_FAR, NEAR, V6
from sfumato.studies.data import StudyData
from sfumato.studies.sources import SOURCES, load_data
from sfumato.studies.study import Arm, read_study, shipped_names
from sfumato.studies.trainings import splits_of, target_of

EACH = 60
"""Made-up digits of each source."""


@pytest.fixture
def own(own_study: Path, tmp_path: Path) -> Callable[..., StudyData]:
    """Load a copy of the small study with other settings; ``folder`` is where its files are."""
    folder = tmp_path / "own"
    shutil.copytree(own_study.parent, folder)

    def load_with(**changes: Any) -> StudyData:
        dotted = {key.replace("__", "."): value for key, value in changes.items()}
        return load_data(read_study(folder / own_study.name, changes=dotted), None)

    return load_with


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "own"


def inputs(labels: LabelSet) -> dict[str, str]:
    """All files behind labels with their SHA-256."""
    return {name: code for step in labels.provenance for name, code in step.inputs.items()}


def learnt(data: StudyData, arm: str) -> LabelSet:
    return target_of(Arm(labels=arm), data, splits_of(data, 0)[0], 0).mean


def test_own_pictures_and_votes_are_joined_by_name(own: Callable[..., StudyData]) -> None:
    data = own()

    assert data.pictures is not None
    assert data.examples is not None
    assert len(data.people) == 60
    assert data.original.items == data.people.items == data.pictures.items == data.examples.items
    row = data.people.items.index("p5")
    assert data.people.probs[row].max() == pytest.approx(2 / 3)
    assert not data.simulated


def test_labels_lead_back_to_their_files(own: Callable[..., StudyData], folder: Path) -> None:
    data = own()

    assert inputs(data.people) == {"votes.csv": fingerprint_file(folder / "votes.csv")}
    assert inputs(data.original) == {"labels.csv": fingerprint_file(folder / "labels.csv")}
    assert [step.name for step in data.people.provenance] == [
        "read crowd", "exclude", "select", "label votes", "aggregate mean"
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["images", "table", "judgments"])
def test_missing_parts_of_own_data_are_named(own: Callable[..., StudyData], name: str) -> None:
    with pytest.raises(DataError, match=f"needs `{name}` in its table"):
        own(**{f"own__{name}": ""})


def test_size_is_height_and_width(own: Callable[..., StudyData]) -> None:
    data = own(own__size=[16, 12])

    assert data.examples is not None
    assert data.examples.image_shape[:2] == (16, 12)
    with pytest.raises(DataError, match="height and width"):
        own(own__size=[16])


def test_classes_that_nobody_chose_are_classes_all_the_same(own: Callable[..., StudyData]) -> None:
    data = own(own__classes=["light", "dark", "in between"])

    assert data.people.classes == data.original.classes == ("light", "dark", "in between")
    with pytest.raises(DataError, match=r"votes.csv, line .* No class is called 'dark'"):
        own(own__classes=["light", "pale", "in between"])


def test_a_class_of_the_pictures_that_people_could_not_choose_is_refused(
    own: Callable[..., StudyData], folder: Path
) -> None:
    table = folder / "labels.csv"
    table.write_text(table.read_text().replace("p3,dark", "p3,grey"), encoding="utf-8")

    with pytest.raises(DataError, match="class 'grey' that people were not asked about"):
        own()


def test_judgments_about_other_pictures_are_no_use(
    own: Callable[..., StudyData], folder: Path
) -> None:
    votes = folder / "votes.csv"
    votes.write_text(votes.read_text().replace("\np", "\nq"), encoding="utf-8")

    with pytest.raises(DataError, match="No judged item is among the pictures"):
        own()


def test_quality_rules_leave_people_out(own: Callable[..., StudyData], folder: Path) -> None:
    votes = folder / "votes.csv"
    always = "\n".join(f"p{place},w9,light" for place in range(60))
    votes.write_text(f"{votes.read_text()}{always}\n", encoding="utf-8")

    everybody, others = own(), own(own__exclude=["straight-lining"])

    assert everybody.people.weight.tolist() == [4] * 60
    assert others.people.weight.tolist() == [3] * 60
    assert others.judgments is not None
    assert others.judgments.annotators == ["w0", "w1", "w2"]


def test_rules_that_leave_nobody_are_an_error(own: Callable[..., StudyData], folder: Path) -> None:
    rows = ["task,worker,label", *(f"p{place},w0,light" for place in range(60))]
    rows += ["p0,w1,dark"]
    (folder / "votes.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")

    one_left = own(own__exclude=["straight-lining"])
    (folder / "votes.csv").write_text("\n".join(rows[:-1]) + "\n", encoding="utf-8")

    assert one_left.people.items == ("p0",)
    with pytest.raises(DataError, match="the rules straight-lining leave out everybody"):
        own(own__exclude=["straight-lining"], own__classes=["light", "dark"])


def test_fewer_people_are_drawn_once_for_all_recipes(own: Callable[..., StudyData]) -> None:
    data, again, other = own(own__people=2), own(own__people=2), own(own__people=2, seed=1)

    assert data.people.weight.tolist() == [2] * 60
    assert data.judgments is not None
    assert len(data.judgments) == 120
    assert data.people.probs.tolist() == again.people.probs.tolist()
    assert data.people.probs.tolist() != other.people.probs.tolist()
    assert own(own__people=9).people.weight.tolist() == [3] * 60
    assert any(step.name == "sub-sample annotators" for step in data.people.provenance)


def test_original_distributions_are_learnt_and_their_classes_tested(
    own: Callable[..., StudyData], folder: Path
) -> None:
    items = tuple(f"p{place}" for place in range(60))
    probs = np.array([[0.75, 0.25] if place % 2 == 0 else [0.25, 0.75] for place in range(60)])
    write_labels(LabelSet(items, ("light", "dark"), probs), folder / "made.parquet")

    data = own(own__original="made.parquet")

    assert set(learnt(data, "original").probs.max(axis=1)) == {0.75}
    assert set(data.original.probs.max(axis=1)) == {1}
    assert set(learnt(data, "hard").probs.max(axis=1)) == {1}
    write_labels(LabelSet(items[1:], ("light", "dark"), probs[1:]), folder / "made.parquet")
    with pytest.raises(DataError, match=r"made.parquet: Item 'p0' has no label"):
        own(own__original="made.parquet")
    write_labels(LabelSet(items, ("light", "grey"), probs), folder / "made.parquet")
    with pytest.raises(DataError, match=r"made.parquet: .* class 'grey'"):
        own(own__original="made.parquet")


def test_label_sets_of_files_stand_beside_those_of_the_data(
    own: Callable[..., StudyData], folder: Path
) -> None:
    items = tuple(f"p{place}" for place in range(60))
    probs = np.array([[0.3, 0.7] if place % 2 else [0.9, 0.1] for place in range(60)])
    write_labels(LabelSet(items, ("light", "dark"), probs), folder / "mine.parquet")

    data = own(own__sets={"mine": "mine.parquet"}, arms=["original", "mine"])

    assert data.labels["mine"].classes == data.original.classes  # whatever order the file has
    column = data.original.classes.index("light")
    assert set(learnt(data, "mine").probs[:, column].round(6)) == {0.3, 0.9}
    assert list(inputs(data.labels["mine"])) == ["mine.parquet"]
    with pytest.raises(UnknownName, match="Did you mean 'mine'"):
        own(own__sets={"mine": "mine.parquet"}, arms=["original", "mien"])
    write_labels(LabelSet(("q1",), ("light", "dark"), np.eye(1, 2)), folder / "mine.parquet")
    with pytest.raises(DataError, match="no label of any item of the data: its first item is 'q1'"):
        own(own__sets={"mine": "mine.parquet"}, arms=["original", "mine"])


def test_sliders_of_a_file_are_averaged_before_they_are_normalised(
    own: Callable[..., StudyData], folder: Path
) -> None:
    scores = [{"light": 1.0, "dark": 0.0}, {"light": 0.2, "dark": 0.2}]
    table = pl.DataFrame(
        {
            "item": [f"p{place}" for place in range(60) for _ in scores],
            "annotator": ["a", "b"] * 60,
            "answer": [json.dumps(one) for _ in range(60) for one in scores],
        }
    )
    write(Judgments(ask("sliders", ["light", "dark"]), table), folder / "dense.csv", "sfumato")

    data = own(own__sets={"dense": "sfumato=dense.csv"}, arms=["original", "dense"])

    assert learnt(data, "dense").probs.max(axis=1) == pytest.approx(1.2 / 1.4)  # S1-14


def test_ratings_are_rated_pairs(own: Callable[..., StudyData], folder: Path) -> None:
    (folder / "ratings.csv").write_text("first,second,rating\np0,p1,5\n", encoding="utf-8")
    (folder / "chosen.csv").write_text("first,second,preferred\np0,p1,first\n", encoding="utf-8")

    ratings = own(own__ratings="ratings.csv").ratings

    assert ratings is not None
    assert ratings.table["rating"].to_list() == [5]
    with pytest.raises(DataError, match="holds no rated pairs, which need the columns"):
        own(own__ratings="chosen.csv")


def test_given_parts_are_those_of_the_column(own: Callable[..., StudyData], folder: Path) -> None:
    parts = ["train"] * 40 + ["val"] * 10 + ["test"] * 10
    lines = (folder / "labels.csv").read_text().splitlines()
    text = "\n".join(f"{line},{part}" for line, part in zip(lines, ["split", *parts], strict=True))
    (folder / "labels.csv").write_text(text + "\n", encoding="utf-8")

    given, drawn = own(split={"kind": "given"}), own()

    (split,) = splits_of(given, 3)
    assert set(split.train) == {f"p{place}" for place in range(40)}
    assert (len(split.validation), len(split.test), split.selection) == (10, 10, "nested")
    assert splits_of(drawn, 0)[0].train != split.train  # shares, unless the parts are asked for
    without = text.replace(",val", ",train")
    (folder / "labels.csv").write_text(without + "\n", encoding="utf-8")
    assert splits_of(own(split={"kind": "given"}), 0)[0].selection == "none"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (None, "column `split` of labels.csv says 'all'"),
        (["dev"] * 60, "says 'dev' of some item; it says train, validation or test"),
        (["train"] * 60, "No judged item has 'test' in the column `split` of labels.csv"),
        (["test"] * 60, "No judged item has 'train'"),
    ],
)
def test_parts_that_are_not_given_are_asked_for(
    own: Callable[..., StudyData], folder: Path, parts: list[str] | None, says: str
) -> None:
    if parts is not None:
        lines = (folder / "labels.csv").read_text().splitlines()
        rows = zip(lines, ["split", *parts], strict=True)
        (folder / "labels.csv").write_text(
            "\n".join(f"{line},{part}" for line, part in rows) + "\n", encoding="utf-8"
        )

    with pytest.raises(DataError, match=says):
        own(split={"kind": "given"})


def test_difficulty_is_divided_evenly(own: Callable[..., StudyData]) -> None:
    data = own(split={"kind": "difficulty", "shares": [0.5, 0.25, 0.25]})

    (split,) = splits_of(data, 0)
    disputed = entropy(data.people) > 0  # 12 of 60, of which one in four is tested
    doubtful = {item for item, one in zip(data.people.items, disputed, strict=True) if one}
    assert [len(doubtful & set(part)) for part in (split.train, split.validation, split.test)] == [
        6, 3, 3
    ]  # fmt: skip


def top_two_answers(folder: Path, name: str) -> None:
    """Two people about 60 pictures of three classes: 7 of 10 on one, 2 of 10 on another."""
    classes = ("light", "dark", "grey")
    lines = ["item,annotator,answer"]
    for place in range(60):
        first = classes[place % 2]
        answer = {"first": first, "first_percent": 7, "second": classes[1 - place % 2]}
        text = json.dumps({**answer, "second_percent": 2, "ruled_out": []}).replace('"', '""')
        lines += [f'p{place},w{person},"{text}"' for person in range(2)]
    (folder / "answers.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    question = {"kind": "top-two", "classes": classes, "options": {"scale": 10}}
    (folder / name).write_text(json.dumps(question), encoding="utf-8")


TOP_TWO = {"own__judgments": "answers.csv", "own__format": "sfumato", "recipe": "top2-uniform"}


def test_question_may_lie_elsewhere_with_its_options(
    own: Callable[..., StudyData], folder: Path
) -> None:
    top_two_answers(folder, "asked.json")

    data = own(**TOP_TWO, own__question="asked.json")

    assert data.people.classes == ("light", "dark", "grey")
    assert data.people.probs[0].tolist() == pytest.approx([0.7, 0.2, 0.1])
    assert set(inputs(data.people)) == {"answers.csv", "asked.json"}


def test_question_that_is_missing_or_told_twice_is_an_error(
    own: Callable[..., StudyData], folder: Path
) -> None:
    top_two_answers(folder, "answers.question.json")

    assert own(**TOP_TWO).people.probs[0].tolist() == pytest.approx([0.7, 0.2, 0.1])
    with pytest.raises(DataError, match=r"answers.question.json lies beside answers.csv"):
        own(**TOP_TWO, own__question="answers.question.json")
    (folder / "answers.question.json").unlink()
    with pytest.raises(DataError, match=r"named as the question of answers.csv"):
        own(**TOP_TWO, own__question="none.json")
    with pytest.raises(DataError, match="files in the format 'crowd' say themselves"):
        own(own__question="none.json")


def test_word_vectors_are_for_recipes_that_need_them(
    own: Callable[..., StudyData], folder: Path
) -> None:
    top_two_answers(folder, "answers.question.json")
    (folder / "words.txt").write_text("light 1 0\ndark 0 1\ngrey 1 1\n", encoding="utf-8")
    arms = ["soft", "top2-semantic"]

    data = own(**TOP_TWO, own__vectors="words.txt", arms=arms, controls=[])

    assert learnt(data, "top2-semantic").probs[0].tolist() == pytest.approx([0.7, 0.2, 0.1])
    assert "words.txt" in inputs(learnt(data, "top2-semantic"))
    assert "words.txt" not in inputs(data.people)
    with pytest.raises(DataError, match=r"'top2-semantic' shares mass out .* `vectors` in"):
        own(**TOP_TWO, arms=arms, controls=[])


def test_recipes_that_arms_or_tests_name_are_read_and_no_others(
    own: Callable[..., StudyData], folder: Path
) -> None:
    top_two_answers(folder, "answers.question.json")
    tests = [{"against": ["people", "original", "votes"]}]

    data = own(**TOP_TWO, arms=["soft", "top1-uniform"], controls=[], tests=tests)

    assert set(data.crowds) == {"people", "top1-uniform", "votes"}
    assert set(data.labels) == {"people", "original", "votes"}
    assert data.labels["votes"].probs[0].tolist() == [1, 0, 0]


def test_answers_about_mixes_are_no_judgments_of_single_items(
    own: Callable[..., StudyData], folder: Path
) -> None:
    row = "m,p0,p1,light,dark,0.5,w0,0.4,0.9,,,,infer"
    header = "mix,first_item,second_item,first_class,second_class,shown,annotator,perceived,"
    header += "confidence,seconds,order,view,task"
    (folder / "mixes.csv").write_text(f"{header}\n{row}\n", encoding="utf-8")

    with pytest.raises(DataError, match="holds no judgments of single items"):
        own(own__judgments="mixes.csv", own__format="mixes")


def test_digits_have_simulated_people_and_say_so() -> None:
    data = load_data(read_study("digits", changes={"recipe": "votes", "arms": ["soft"]}), None)

    assert data.simulated
    assert data.judgments is not None
    assert data.judgments.table["annotator"].str.starts_with("simulated").all()
    assert data.people.weight.max() == 6
    assert not is_simulated(data.original.provenance)
    with pytest.raises(DataError, match="do not judge single items"):
        load_data(read_study("digits", changes={"simulated.kind": "triplets"}), None)


def soft_digit(place: int, source: str) -> dict[str, object]:
    """A digit that is a bright column; every third one is disputed, the last few by all."""
    rng = np.random.default_rng(place)
    digit = place % 10
    pixels = rng.integers(0, 60, size=(28, 28))
    pixels[:, 2 * digit : 2 * digit + 3] += 150
    weighted, equal = np.eye(11)[digit], np.eye(11)[digit]
    if place % 3 == 0:
        other = (digit + 1) % 10
        weighted = 0.8 * weighted + 0.2 * np.eye(11)[other]
        equal = 0.7 * equal + 0.3 * np.eye(11)[other]
    told = np.eye(10)[digit]
    if source == "mukhoti":
        told = 0.6 * told + 0.4 * np.eye(10)[(digit + 5) % 10]
    return {
        "images": pixels.tolist(),
        "original_labels": told.tolist(),
        "indices": place,
        "human_uncert_mean": 0.1 * (place % 3 == 0),
        "pct_ann_unsure": 0.4 * (place % 3 == 0),
        "soft_label": weighted.tolist(),
        "soft_label_yes_unc_equal": equal.tolist(),
        "split": ("train", "train", "train", "val", "test")[place // 10 % 5],
        "source": source,
    }


@pytest.fixture(scope="module")
def soft_digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of datasets with a made-up file in the layout of soft-digits."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "soft_digits").mkdir()
    rows = [soft_digit(place, "mnist" if place < EACH else "mukhoti") for place in range(2 * EACH)]
    pl.DataFrame(rows).write_parquet(folder / "soft_digits" / "soft-digits.parquet")
    return folder


def test_soft_digits_have_the_labels_of_the_file_in_both_weightings(soft_digits: Path) -> None:
    data = load_data(read_study("digits-audit"), soft_digits)

    assert data.people.items == tuple(map(str, range(EACH)))
    assert data.people.classes == (*"0123456789", "none of these")
    assert data.people.probs[3, 3:5] == pytest.approx([0.8, 0.2])
    assert data.labels["yes-unsure-equal"].probs[3, 3:5] == pytest.approx([0.7, 0.3])
    assert learnt(data, "original").take(["3"]).probs[0].tolist() == np.eye(11)[3].tolist()
    told = {"mean uncertainty", "unsure proportion", "entropy of yes-unsure-equal"}
    assert set(data.signals) == told
    assert data.signals["unsure proportion"][:4].tolist() == [0.4, 0, 0, 0.4]
    assert not data.simulated


def test_original_labels_of_synthetic_digits_are_the_models_distributions(
    soft_digits: Path,
) -> None:
    data = load_data(read_study("digits-audit-synthetic"), soft_digits)

    assert data.people.items[0] == str(EACH)
    (row,) = learnt(data, "original").take([str(EACH + 1)]).probs
    assert row[[1, 6]] == pytest.approx([0.6, 0.4])
    assert data.original.probs[1, [1, 6]].tolist() == [1, 0]  # what models are tested on


def test_published_parts_are_kept_and_others_drawn_where_there_are_none(
    soft_digits: Path, tmp_path: Path
) -> None:
    study = read_study("digits-audit")
    bare = tmp_path / "soft_digits" / "soft-digits.parquet"
    bare.parent.mkdir()
    table = pl.read_parquet(soft_digits / "soft_digits" / "soft-digits.parquet")
    table.drop("split").write_parquet(bare)

    (given,) = splits_of(load_data(study, soft_digits), 0)
    (drawn,) = splits_of(load_data(study, tmp_path), 0)

    assert given.validation == tuple(map(str, range(30, 40)))
    assert given.test == tuple(map(str, range(40, 50)))
    assert len(drawn.train) == 42


def test_file_of_soft_digits_is_read_once_until_it_changes(
    soft_digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(soft_digits, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "soft_digits" / "soft-digits.parquet"
    read: list[Path] = []
    plain = pl.read_parquet

    def noted(path: Path) -> pl.DataFrame:
        read.append(path)
        return plain(path)

    monkeypatch.setattr(pl, "read_parquet", noted)

    data = load_data(read_study("digits-audit"), tmp_path)
    assert read == [path]

    plain(path).head(30).write_parquet(path)
    again = load_data(read_study("digits-audit"), tmp_path)
    assert read == [path, path]
    assert len(again.people) < len(data.people)
    assert again.people.provenance != data.people.provenance  # another fingerprint


def test_what_averaged_labels_cannot_give_is_refused(soft_digits: Path) -> None:
    study = read_study("digits-audit")

    with pytest.raises(DataError, match="from one annotator at a time"):
        learnt(load_data(study, soft_digits), "one-annotator")
    with pytest.raises(UnknownName, match="for the data 'soft-digits' is called 'votes'"):
        load_data(read_study("digits-audit", changes={"arms": ["votes"], "controls": []}), None)
    with pytest.raises(DataError, match="not by 'votes'"):
        load_data(read_study("digits-audit", changes={"recipe": "votes"}), soft_digits)


def test_source_of_digits_that_nobody_knows_is_refused(soft_digits: Path, tmp_path: Path) -> None:
    path = tmp_path / "soft_digits" / "soft-digits.parquet"
    path.parent.mkdir()
    table = pl.read_parquet(soft_digits / "soft_digits" / "soft-digits.parquet")
    table.with_columns(source=pl.lit("ardis")).write_parquet(path)

    with pytest.raises(DataError, match="source of item '0' is 'ardis'"):
        load_data(read_study("digits-audit"), tmp_path)


@pytest.mark.parametrize("name", ["digits-audit", "cifar10s-few", "cifar10h-shift", "fashion-h"])
def test_missing_file_is_named_with_where_to_get_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is missing: the dataset"):
        load_data(read_study(name), tmp_path)


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("fashion-h", "FashionMNIST-H"),
        ("digits-audit", "soft-digits"),
        ("mnist-curve", "MNIST"),
        ("cifar10s-few", "CIFAR-10S"),
        ("cifar10h-shift", "CIFAR-10H"),
        ("informativeness-labels", "CIFAR-10H"),
        ("cifar10h-rescore", "CIFAR-10H"),
    ],
)
def test_without_a_folder_the_data_set_is_asked_for(name: str, needs: str) -> None:
    with pytest.raises(DataError, match=f"The study needs {needs}: set SFUMATO_DATA"):
        load_data(read_study(name), None)


def test_worlds_need_no_data() -> None:
    data = load_data(read_study("informativeness-grid"), None)

    assert (data.examples, dict(data.labels), data.simulated) == (None, {}, False)


def test_every_shipped_study_names_data_and_labels_that_there_are() -> None:
    used = {read_study(name).data for name in shipped_names()}

    assert used | {"own", "chaosnli"} == set(SOURCES)  # these two are for studies of one's own


def test_mnist_of_the_data_folder_has_both_parts(data_folder: Path) -> None:
    data = load_data(read_study("mnist-curve"), data_folder)

    assert data.examples is not None
    assert [len(items) for items in data.parts.values()] == [60_000, 10_000]
    assert data.examples.items == data.original.items
    first = data.original.take(("train/0", "test/0"))
    assert first.probs.argmax(axis=1).tolist() == [5, 7]
    assert len(inputs(data.original)) == 4


FEW = {"collection.near": 40, "collection.pretraining": 30, "collection.sets": list(FAR_SETS)}


@pytest.fixture(scope="module")
def paper_1(data_folder: Path) -> StudyData:
    return load_data(read_study("cifar10h-shift", changes=FEW), data_folder)


def test_near_images_and_pretraining_images_are_training_images_and_disjoint(
    paper_1: StudyData, data_folder: Path
) -> None:
    assert paper_1.pretraining is not None
    assert paper_1.examples is not None
    near, before = paper_1.parts[NEAR], paper_1.pretraining[0].items

    assert (len(near), len(before)) == (40, 30)
    assert not set(near) & set(before)
    assert all(item.startswith("train/") for item in (*near, *before))
    index = int(near[0].removeprefix("train/"))
    official = np.load(data_folder / "cifar10" / "train_labels.npy")[index]
    assert paper_1.labels[NEAR].probs[0].argmax() == official
    picture = load("cifar10", "train", data_folder, items=[str(index)]).images[0]
    assert (paper_1.examples.take(near[:1]).images[0] == picture).all()


def test_corrupted_images_are_the_near_ones_further_and_further_away(paper_1: StudyData) -> None:
    assert paper_1.examples is not None
    examples, parts, labels = paper_1.examples, paper_1.parts, paper_1.labels
    near = examples.take(parts[NEAR]).images.astype(float)
    moved = [np.abs(examples.take(parts[name]).images - near).mean() for name in CORRUPTED]

    assert 0 < moved[0] < moved[1] < moved[2]
    assert all((labels[name].probs == labels[NEAR].probs).all() for name in CORRUPTED)


def test_collections_that_are_not_there_are_told_and_not_tested(paper_1: StudyData) -> None:
    tests = trainings.tests_of(paper_1, splits_of(paper_1, 0)[0])
    tested = [name for test in tests for name in test.labels]

    for name in (V6, IMAGENET_FAR):
        told = [sentence for sentence in paper_1.missing if name in sentence]
        assert (name in tested) != bool(told)
    assert {"CIFAR-10H", "original", NEAR, *CORRUPTED} <= set(tested)
    assert len(set(tested)) == len(tested)  # no two tests are held against labels of one name


def test_sets_that_a_study_does_not_collect_are_neither_loaded_nor_told(data_folder: Path) -> None:
    study = read_study("cifar10h-shift", changes={"collection.sets": [], "collection.near": 40})

    data = load_data(study, data_folder)

    assert (dict(data.parts), data.pretraining, data.missing) == ({}, None, ())
    assert set(data.labels) == {"CIFAR-10H", "original"}


def test_arm_without_stored_beliefs_says_what_is_missing(data_folder: Path, tmp_path: Path) -> None:
    for name in ("cifar10", "cifar10h"):
        (tmp_path / name).symlink_to(data_folder / name)
    changes = {"arms": ["hard", "ensemble"], "collection.near": 1, "collection.pretraining": 1}
    study = read_study("cifar10h-alternatives", changes={**changes, "controls": ["hard"]})

    with pytest.raises(DataError, match="'ensemble' learns what published networks believe; put"):
        load_data(study, tmp_path)


def test_only_the_readings_that_a_study_names_are_made(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def noted(judgments: Judgments, recipe: str, **how: Any) -> BuiltLabels:
        made.append(recipe)
        return build(judgments, recipe, **how)

    for module in (cifar_sources, study_data):
        monkeypatch.setattr(module, "build", noted)

    data = load_data(read_study("cifar10s-few"), data_folder)

    assert sorted(made) == ["top2-clamp", "top2-stated", "votes"]
    assert set(data.crowds) == {"CIFAR-10S", "T2 clamp", "CIFAR-10S as released"}
    assert set(inputs(data.labels["CIFAR-10S"])) == {"raw_human_data.csv"}
    assert set(inputs(data.labels["CIFAR-10H"])) == {"cifar10h-counts.npy"}


def test_a_recipe_can_be_an_arm_of_cifar10s(data_folder: Path) -> None:
    changes = {"arms": ["hard", "top1-uniform"], "controls": ["hard"]}

    data = load_data(read_study("cifar10s-aggregate", changes=changes), data_folder)

    assert "top1-uniform" in data.crowds


def test_people_are_simulated_for_mixing_only_where_an_arm_learns_from_them(
    data_folder: Path,
) -> None:
    augment = load_data(read_study("mixing-augment"), data_folder)
    full = load_data(read_study("mixing-full"), data_folder)

    assert not augment.simulated
    assert augment.percepts is not None
    assert full.simulated
    assert full.percepts is None


def test_stored_predictions_stand_beside_people(data_folder: Path) -> None:
    data = load_data(read_study("cifar10h-rescore"), data_folder)

    assert len(data.predictions) == 8
    assert set(data.labels) == {"people", "original"}
    stored = np.load(data_folder / "cifar10h-predictions" / "wrn_28_10.npz")["probs"]
    found = data.predictions["Wide ResNet"]
    assert found.probs == pytest.approx(stored.astype(float), abs=1e-6)
    assert set(inputs(found)) == {"wrn_28_10.npz"}


def test_answers_about_mixes_are_tables_with_one_row_per_answer(data_folder: Path) -> None:
    data = load_data(read_study("hmix"), data_folder)

    inferred = data.tables["inferred"]
    assert set(data.tables) == {"inferred", "midpoints", "released", "consistent"}
    parts = {name: mine for (name,), mine in inferred.group_by("part")}
    mixes = {name: mine["mix"].n_unique() for name, mine in parts.items()}
    people = {name: mine["annotator"].n_unique() for name, mine in parts.items()}
    assert mixes == {"thesis": 810, "later": 1260}
    assert people == {"thesis": 33, "later": 48}
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    shares = counts[int(inferred["first_item"][0])] / counts[int(inferred["first_item"][0])].sum()
    expected = -sum(share * np.log(share) for share in shares if share)
    assert inferred["first_entropy"][0] == pytest.approx(expected)
    assert (len(data.parts["train"]), len(data.labels)) == (7000, 0)
    files = {name for step in data.provenance for name in step.inputs}
    assert "hmix_infer_mixing_factor.csv" in files
