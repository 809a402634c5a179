"""H-Mix: the published answers about mixes, and small exports with mistakes."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.judgments.comparisons import MixJudgments
from sfumato.judgments.formats.datasets import read_hmix, read_hmix_labels
from sfumato.judgments.formats.reading import ReadOptions

INFER = "subject,trial_index,rt,responses,filename,task,mixtureCoeff,class_pair\n"
CONSTRUCT = "subject,trial_index,rt,response,final_value,start_value,task,class_pair\n"
SELECT = "subject,trial_index,rt,response,task,class_pair\n"
PAIR = "Dog_2205_Frog_6908"


@pytest.fixture(scope="module")
def inferred(data_folder: Path) -> MixJudgments:
    return read_hmix(data_folder / "hmix" / "hmix_infer_mixing_factor.csv", ReadOptions())


def test_release_holds_4950_inferences_of_81_people(inferred: MixJudgments) -> None:
    assert len(inferred) == 4950
    assert len(inferred.annotators) == 81
    assert inferred.table["mix"].n_unique() == 2070
    assert Counter(inferred.table["view"]) == {"first": 4788, "repeat": 162}
    assert inferred.rejected == ()


def test_perceived_and_confidence_equal_the_processed_file(
    inferred: MixJudgments, data_folder: Path
) -> None:
    stored = json.loads((data_folder / "hmix" / "processed_hmix_inferences.json").read_text())
    published = {
        mix: (
            about["True Mixing Factor"],
            *(name.lower() for name in about["Endpoints"]),
            Counter(
                zip(about["Predicted Mixing Factor"], about["Predicted Confidence"], strict=True)
            ),
        )
        for mix, about in stored.items()
    }

    read = {
        mix: (
            rows["shown"][0],
            rows["first_class"][0],
            rows["second_class"][0],
            Counter(rows.select("perceived", "confidence").rows()),
        )
        for (mix,), rows in inferred.table.group_by("mix")
    }

    assert read == published


def test_perceived_shares_follow_the_coefficient(inferred: MixJudgments) -> None:
    by_coefficient = (
        inferred.table.group_by("shown")
        .agg(pl.col("perceived").median().round(2), pl.col("confidence").mean().round(2))
        .sort("shown")
    )

    assert by_coefficient["shown"].to_list() == [0.1, 0.25, 0.5, 0.75, 0.9]
    assert by_coefficient["perceived"].to_list() == [0.08, 0.14, 0.5, 0.83, 0.92]
    assert by_coefficient["confidence"].to_list() == [0.8, 0.72, 0.63, 0.72, 0.78]


def test_repeats_show_the_16th_and_21st_image_at_the_end(inferred: MixJudgments) -> None:
    """S2-10 counts from 0: trials 15 and 20."""
    repeats = inferred.table.filter(pl.col("view") == "repeat")
    firsts = inferred.table.filter(pl.col("view") == "first")

    both = repeats.join(firsts, on=["annotator", "mix"], suffix="_first")

    assert Counter(both["order_first"]) == {16: 81, 21: 81}
    assert (both["order"] > 50).all()


@pytest.mark.parametrize(
    ("file", "task", "answers", "people", "repeats"),
    [
        ("hmix_construct_midpoint.csv", "construct-midpoint", 1440, 45, 90),
        ("hmix_select_shuffled_midpoint.csv", "select-midpoint", 800, 25, 50),
    ],
)
def test_midpoints(
    data_folder: Path, file: str, task: str, answers: int, people: int, repeats: int
) -> None:
    mixes = read_hmix(data_folder / "hmix" / file, ReadOptions())

    assert (len(mixes), len(mixes.annotators)) == (answers, people)
    assert set(mixes.table["task"]) == {task}
    assert int((mixes.table["view"] == "repeat").sum()) == repeats
    assert mixes.table["shown"].null_count() == answers
    assert set(mixes.table["perceived"]) == {tenths / 10 for tenths in range(11)}
    assert mixes.table["perceived"].median() == 0.5


def test_soft_labels_of_mixes(data_folder: Path) -> None:
    path = data_folder / "hmix" / "hmix_categorical_soft_labels.csv"
    vectors = json.loads((data_folder / "hmix" / "hmix_individ_soft_labels.json").read_text())

    judgments = read_hmix_labels(path, ReadOptions())

    assert (len(judgments), len(judgments.annotators)) == (216, 8)
    assert Counter(judgments.table["view"]) == {"first": 200, "repeat": 16}
    assert Counter(judgments.table["item"]) == {mix: len(rows) for mix, rows in vectors.items()}
    assert judgments.question.kind == "top-two"


def test_soft_labels_are_no_mix_judgments(data_folder: Path) -> None:
    with pytest.raises(DataError, match="Read it as 'hmix-labels'"):
        read_hmix(data_folder / "hmix" / "hmix_categorical_soft_labels.csv", ReadOptions())


def test_slider_at_0_is_all_first_class(tmp_path: Path) -> None:
    mixes = read_rows(tmp_path, INFER, infer('{"mixingcoeff":0,"confidence":100}'))

    row = mixes.table.row(0, named=True)
    assert (row["perceived"], row["confidence"], row["shown"]) == (1.0, 1.0, 0.25)
    assert (row["first_class"], row["first_item"]) == ("dog", "2205")
    assert (row["second_class"], row["second_item"]) == ("frog", "6908")
    assert row["mix"] == f"mixed_0.25_{PAIR}.png"


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[1]",
        '{"mixingcoeff":50}',
        '{"mixingcoeff":101,"confidence":1}',
        '{"mixingcoeff":5,"confidence":-1}',
        '{"mixingcoeff":NaN,"confidence":1}',
        '{"mixingcoeff":null,"confidence":1}',
        f'{{"mixingcoeff":1{"0" * 400},"confidence":1}}',
        "[" * 100_000,
    ],
)
def test_malformed_sliders_are_set_aside(tmp_path: Path, said: str) -> None:
    good = infer('{"mixingcoeff":50,"confidence":50}')

    mixes = read_rows(tmp_path, INFER, good, infer(said))

    assert len(mixes) == 1
    assert [(row.line, row.field) for row in mixes.rejected] == [(3, "responses")]


def test_malformed_pairs_and_coefficients_are_set_aside(tmp_path: Path) -> None:
    good = infer('{"mixingcoeff":50,"confidence":50}')
    no_pair = good.replace(f",{PAIR}.png", ",Dog_2205.png")
    no_number, no_coefficient = good.replace(",0.25,", ",lots,"), good.replace(",0.25,", ",,")
    no_mix = good.replace(f"mixed_0.25_{PAIR}.png,rate", ",rate")

    mixes = read_rows(tmp_path, INFER, no_pair, no_number, no_coefficient, no_mix, "p,1\n", good)

    assert len(mixes) == 1
    assert [(row.line, row.field) for row in mixes.rejected] == [
        (2, "class_pair"),
        (3, "mixtureCoeff"),
        (4, "mixtureCoeff"),
        (5, "filename"),
        (6, ""),
    ]


def test_coefficients_lose_the_noise_of_adding_tenths(tmp_path: Path) -> None:
    rows = [
        f"p,{index},900,,{value},0.1,select_create,{PAIR}\n"
        for index, value in enumerate(["0.6000000000000001", "1.0", "1.1", "half"])
    ]

    mixes = read_rows(tmp_path, CONSTRUCT, *rows)

    assert mixes.table["perceived"].to_list() == [0.6, 1.0]
    assert mixes.table["confidence"].null_count() == 2
    assert mixes.table["mix"].to_list() == [PAIR, PAIR]
    assert [row.field for row in mixes.rejected] == ["final_value"] * 2


def test_selected_mixes(tmp_path: Path) -> None:
    rows = [
        f'p,{index},900,"{said}",{task},{PAIR}\n'
        for index, (said, task) in enumerate(
            [
                ('{""select"":""select0.3""}', "select_shuffled"),
                ('{""select"":""select0.4""}', "rerun_select_shuffled"),
                ('{""select"":3}', "select_shuffled"),
                ('{""select"":""select7""}', "select_shuffled"),
                ("", "instructions"),
            ]
        )
    ]

    mixes = read_rows(tmp_path, SELECT, *rows)

    assert mixes.table.select("perceived", "view", "order", "seconds").rows() == [
        (0.3, "first", 1, 0.9),
        (0.4, "repeat", 2, 0.9),
    ]
    assert [row.line for row in mixes.rejected] == [4, 5]
    assert mixes.remarks[0].what == "pages that are no answers"


def test_other_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file of H-Mix"):
        read_rows(tmp_path, "subject,trial_index,rt\n")


def infer(said: str) -> str:
    quoted = said.replace('"', '""')
    return f'p,1,900,"{quoted}",mixed_0.25_{PAIR}.png,rate_mixture,0.25,{PAIR}.png\n'


def read_rows(folder: Path, header: str, *rows: str) -> MixJudgments:
    path = folder / "hmix.csv"
    path.write_text(header + "".join(rows))
    return read_hmix(path, ReadOptions())
