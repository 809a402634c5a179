"""Tables as other projects leave them, read without saying what they are."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments import formats
from sfumato.judgments.formats.reading import UnclearSource
from sfumato.judgments.judgments import Judgments


def read(source: Any, *said: Any, **options: Any) -> Judgments:
    """What is read, which is judgments here."""
    found = formats.read(source, *said, **options)
    assert isinstance(found, Judgments)
    return found


Vote = tuple[str, str | None, str]


def votes(found: Any) -> list[Vote]:
    """Item, annotator and class of each answer, sorted."""
    assert isinstance(found, Judgments)
    table = found.table.select("item", "annotator", "answer")
    rows = [(item, person, json.loads(answer)) for item, person, answer in table.iter_rows()]
    return sorted(rows, key=str)


def shares(found: Any) -> dict[str, dict[str, int]]:
    """Votes for each class of each item."""
    counted: dict[str, dict[str, int]] = {}
    for item, _, label in votes(found):
        of_item = counted.setdefault(item, {})
        of_item[label] = of_item.get(label, 0) + 1
    return counted


def counted(frame: pd.DataFrame, item: str, answer: str) -> dict[str, dict[str, int]]:
    """The same by pandas."""
    table = frame.groupby([item, answer]).size()
    found: dict[str, dict[str, int]] = {}
    for (name, label), count in table.items():
        found.setdefault(str(name), {})[str(label)] = int(count)
    return found


def put(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


LONG = pd.DataFrame(
    {
        "image_name": ["a.png", "a.png", "a.png", "b.png", "b.png", "c.png"],
        "rater": ["ann", "bob", "eve", "ann", "bob", "eve"],
        "category": ["cat", "cat", "dog", "dog", "dog", "fox"],
        "timestamp": ["2021-03-09 22:16:08"] * 6,
    }
)


def test_semicolons_and_own_column_names(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    LONG.to_csv(path, sep=";", index=False)

    found = read(path)

    assert shares(found) == counted(pd.read_csv(path, sep=";"), "image_name", "category")
    assert found.table["at"][0] == "2021-03-09T22:16:08"
    assert {remark.what for remark in found.remarks} >= {
        "fields are separated by semicolon",
        "column 'image_name' is read as the item",
        "column 'rater' is read as the annotator",
        "column 'category' is read as the answer",
        "column 'timestamp' is read as the time of the answer",
    }


def test_wide_counts(tmp_path: Path) -> None:
    path = put(
        tmp_path, "nli.csv", "uid,entailment,neutral,contradiction\n7,3,2,0\n8,0,5,0\n9,1,1,2\n"
    )

    table = pd.read_csv(path, dtype={"uid": str}).set_index("uid")

    expected = {uid: {k: int(n) for k, n in row.items() if n} for uid, row in table.iterrows()}
    assert shares(read(path)) == expected
    assert read(path).question.classes == ("entailment", "neutral", "contradiction")


def test_wide_yes_no_unsure(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "marks.csv",
        "picture,worker,cat,dog,fox\np1,ann,yes,no,unsure\np1,bob,No,Yes,no\np2,ann,no,no,maybe\n",
    )

    found = read(path)

    table = pd.read_csv(path)
    meant = {"yes": "yes", "no": "no", "unsure": "unsure", "maybe": "unsure"}
    expected = [
        {name: meant[row[name].lower()] for name in ("cat", "dog", "fox")}
        for row in table.to_dict("records")
    ]
    assert found.question.kind == "yes-no-unsure"
    assert [json.loads(answer) for answer in found.table["answer"]] == expected
    assert found.table["annotator"].to_list() == table["worker"].tolist()


def lewidi() -> dict[str, Any]:
    return {
        "1": {
            "text": "so cheap",
            "annotation task": "hate speech",
            "annotations": "0,0,1",
            "annotators": "Ann1,Ann2,Ann3",
            "hard_label": "0",
            "soft_label": {"0": 0.67, "1": 0.33},
            "other_info": {"group": "a"},
        },
        "2": {
            "text": "never, again",
            "annotation task": "hate speech",
            "annotations": "1,1",
            "annotators": "Ann1,Ann3",
            "hard_label": "1",
            "soft_label": {"0": 0.0, "1": 1.0},
            "other_info": {"group": "b"},
        },
    }


def test_lewidi(tmp_path: Path) -> None:
    path = put(tmp_path, "brexit.json", json.dumps(lewidi()))

    frame = pd.DataFrame.from_dict(lewidi(), orient="index")
    expected = [
        (item, person, label)
        for item, row in frame.iterrows()
        for person, label in zip(
            row["annotators"].split(","), row["annotations"].split(","), strict=True
        )
    ]
    assert votes(read(path)) == sorted(expected)
    assert read(path).question.classes == ("0", "1")


@pytest.mark.parametrize("name", ["HS-Brexit", "ArMIS", "ConvAbuse"])
def test_lewidi_as_released_equals_its_soft_labels(name: str, data_folder: Path) -> None:
    path = data_folder / "lewidi" / "2023" / name / f"{name}_dev.json"

    found = shares(read(path))

    for item, record in json.loads(path.read_text()).items():
        given = record["annotations"].split(",")
        assert found[item] == {label: given.count(label) for label in set(given)}


def test_several_labels_of_a_person_are_sets(data_folder: Path) -> None:
    found = read(data_folder / "lewidi" / "2025" / "VariErrNLI" / "VariErrNLI_dev.json")

    assert found.question.kind == "likely-set"
    assert found.question.classes == ("contradiction", "entailment", "neutral")


def test_json_lines(tmp_path: Path) -> None:
    records = LONG.rename(columns={"image_name": "text_id", "rater": "coder", "category": "vote"})
    path = tmp_path / "votes.jsonl"
    records.to_json(path, orient="records", lines=True)

    assert shares(read(path)) == counted(pd.read_json(path, lines=True), "text_id", "vote")


def test_gz(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv.gz"
    LONG.to_csv(path, index=False)

    assert shares(read(path)) == counted(pd.read_csv(path), "image_name", "category")


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    pl.DataFrame(LONG.to_dict("list")).with_columns(
        image_name=pl.Series([1, 1, 1, 2, 2, 3])
    ).rename({"image_name": "question_id"}).write_parquet(path)

    frame = pd.DataFrame(pl.read_parquet(path).to_dict(as_series=False))
    assert shares(read(path)) == counted(frame, "question_id", "category")


def test_label_studio(tmp_path: Path) -> None:
    def task(number: int, *given: tuple[int, str]) -> dict[str, Any]:
        return {
            "id": number,
            "data": {"text": "x"},
            "annotations": [
                {
                    "completed_by": who,
                    "result": [{"type": "choices", "from_name": "c", "value": {"choices": [said]}}],
                }
                for who, said in given
            ],
        }

    tasks = [task(1, (4, "cat"), (5, "dog")), task(2, (4, "dog"))]
    path = put(tmp_path, "export.json", json.dumps(tasks))

    flat = pd.json_normalize(tasks, ["annotations", "result"], ["id"])
    flat["label"] = flat["value.choices"].str[0]
    assert shares(read(path)) == counted(flat, "id", "label")


def test_potato(tmp_path: Path) -> None:
    records = [
        {"id": "t1", "user_id": "ann", "label_annotations": {"tone": {"kind": "true"}}},
        {"id": "t1", "user_id": "bob", "label_annotations": {"tone": {"rude": "true"}}},
        {"id": "t2", "user_id": "bob", "label_annotations": {"tone": {"rude": "true"}}},
    ]
    path = put(tmp_path, "annotated_instances.jsonl", "\n".join(map(json.dumps, records)))

    frame = pd.read_json(path, lines=True)
    frame["label"] = frame["label_annotations"].map(lambda one: next(iter(one["tone"])))
    assert shares(read(path)) == counted(frame, "id", "label")


def test_peerannot(tmp_path: Path) -> None:
    answers = {"0": {"7": 1, "9": 0}, "1": {"7": 2}, "2": {"8": 2, "9": 2}}
    path = put(tmp_path, "answers.json", json.dumps(answers))

    stacked = pd.DataFrame.from_dict(answers, orient="index").stack().dropna()
    expected = [(str(task), str(who), str(int(label))) for (task, who), label in stacked.items()]
    assert votes(read(path)) == sorted(expected)


def test_spreadsheet_with_decimal_commas(tmp_path: Path) -> None:
    text = "sep=;\r\nBild;Arzt;gutartig;bösartig\r\n1;A;0,75;0,25\r\n1;B;0,5;0,5\r\n2;A;1;0\r\n"
    path = put(tmp_path, "Befunde.csv", text, "cp1252")

    found = read(path, item="Bild", annotator="Arzt")

    table = pd.read_csv(path, sep=";", decimal=",", encoding="cp1252", skiprows=1)
    assert found.question.kind == "distribution"
    assert [json.loads(answer) for answer in found.table["answer"]] == table[
        ["gutartig", "bösartig"]
    ].to_dict("records")
    assert any("cp1252" in remark.what for remark in found.remarks)


def test_durations_with_decimal_commas(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", "item;rater;label;duration\n1;a;x;2,5\n1;b;y;10\n")

    assert read(path).table["seconds"].to_list() == [2.5, 10]


def test_one_column_per_person(tmp_path: Path) -> None:
    path = put(tmp_path, "wide.tsv", "doc_id\tann\tbob\teve\n1\tcat\tdog\t\n2\tdog\tdog\tcat\n")

    wide = pd.read_csv(path, sep="\t").melt("doc_id", var_name="who", value_name="label").dropna()
    assert shares(read(path)) == counted(wide, "doc_id", "label")
    assert read(path).annotators == ["ann", "bob", "eve"]


def test_people_and_votes_in_numbers_are_told_apart() -> None:
    people = {"item": list("abcdef"), "x": [1, 2, 5, 4, 1, 3], "y": [1, 2, 5, 5, 2, 3]}
    classes = {"item": list("abcdef"), "x": [5, 0, 4, 0, 1, 5], "y": [0, 5, 1, 5, 4, 0]}

    assert read(people).annotators == ["x", "y"]
    assert read(classes).question.classes == ("x", "y")
    with pytest.raises(UnclearSource, match="cannot be told"):
        read({"item": ["a", "b"], "x": [1, 2], "y": [2, 2]})


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: frame,
        pl.from_pandas,
        lambda frame: pl.from_pandas(frame).lazy(),
        lambda frame: pl.from_pandas(frame).to_arrow(),
        lambda frame: frame.to_dict("records"),
        lambda frame: frame.to_dict("list"),
    ],
)
def test_any_table_is_read_as_its_file_is(
    make: Callable[[pd.DataFrame], Any], tmp_path: Path
) -> None:
    path = tmp_path / "votes.csv"
    LONG.to_csv(path, index=False)

    assert votes(read(make(LONG))) == votes(read(path))


def test_ids_may_be_integers_and_lists_may_be_nested() -> None:
    nested = [
        {"id": 1, "annotators": ["a", "b"], "labels": ["x", "y"]},
        {"id": 2, "annotators": ["b"], "labels": ["y"]},
    ]

    assert votes(read(nested)) == [("1", "a", "x"), ("1", "b", "y"), ("2", "b", "y")]
    assert votes(read(pd.DataFrame(nested))) == votes(read(nested))


@pytest.mark.parametrize("name", ["framing", "mtbench", "10k_prompts"])
def test_answers_by_person_are_turned_around(name: str, data_folder: Path) -> None:
    path = data_folder / "judges" / name / "human_annotations.json"

    expected = [
        (item, person, str(answer))
        for person, given in json.loads(path.read_text()).items()
        for item, answer in given.items()
        if answer is not None
    ]
    assert votes(read(path)) == sorted(expected, key=str)


def test_chaosnli_has_a_hundred_votes_per_item(data_folder: Path) -> None:
    path = data_folder / "chaosnli" / "chaosNLI_snli.jsonl"

    table = pd.read_json(path, lines=True)

    assert shares(read(path)) == dict(zip(table["uid"], table["label_counter"], strict=True))


# What is something else is refused.

PROSE = [f"I think that number {n} is rather a nice picture of a cat, isn't it?" for n in range(30)]
OTHER: dict[str, tuple[str, str]] = {
    "free.csv": (
        "item,rater,comment\n" + "\n".join(f'{n},ann,"{text}"' for n, text in enumerate(PROSE)),
        "no answers of people|free text",
    ),
    "answers.csv": (
        "item,rater,answer\n" + "\n".join(f'{n},ann,"{text}"' for n, text in enumerate(PROSE)),
        "free text or ids, not classes",
    ),
    "features.csv": ("id,age,height,visits\n1,30,170,0\n2,41,181,3\n3,25,160,1\n", "properties"),
    "people.csv": (
        "annotator,gender,country,education\nann,f,DE,phd\nbob,m,FR,msc\neve,f,IT,bsc\n",
        "item",
    ),
    "people.json": (
        json.dumps(
            {
                f"Ann{n}": {"Gender": g, "Age": str(20 + n), "Nationality": c}
                for n, (g, c) in enumerate([("m", "DE"), ("f", "FR"), ("m", "IT"), ("f", "ES")])
            }
        ),
        "different properties",
    ),
    "predictions.csv": ("id,cat,dog\n1,0.71,0.29\n2,0.25,0.75\n", "each row sums to 1"),
    "scores.csv": (
        "item,annotator,score\n" + "\n".join(f"{n},m,{n / 31:.4f}" for n in range(40)),
        "not classes that people chose",
    ),
    "one.csv": ("item,worker,label\n1,a,cat\n1,b,cat\n", "only the label 'cat'"),
    "truth.csv": ("item,truth\n1,cat\n2,dog\n", "no answers of people"),
    "tool.json": (
        json.dumps({"info": {"year": 2017}, "images": [{"id": 1}], "annotations": [{"bbox": [1]}]}),
        "nested JSON of another kind",
    ),
    "coco.json": (
        json.dumps(
            {"images": [{"id": 1}], "annotations": [{"id": 1, "category_id": 3, "iscrowd": 0}]}
        ),
        "nested JSON of another kind",
    ),
    "vectors.json": (json.dumps({"a": [[0.1, 0.9]], "b": [[0.4, 0.6]]}), "nested JSON"),
    "lists.json": (json.dumps([[1, 2], [3]]), "a list of lists"),
    "several.csv": (
        "item,user,aspect,rating\n1,a,food,3\n1,a,noise,1\n2,a,food,5\n2,a,noise,2\n",
        "answers to 2 questions",
    ),
    "noise.csv": ("\x01\x02\x03\x00\x00\x00\x00\x00", "not UTF-8 text"),
    "headless.csv": ("img1,ann,cat\nimg1,bob,dog\nimg2,ann,cow\n", "first row|item"),
}


@pytest.mark.parametrize("name", OTHER)
def test_a_file_of_another_shape_is_refused_with_a_sentence(name: str, tmp_path: Path) -> None:
    text, reason = OTHER[name]

    with pytest.raises(DataError, match=reason) as refused:
        read(put(tmp_path, name, text))

    message = str(refused.value)
    assert name.split(".")[0] in message and message.endswith(".")
    assert "--" not in message


def test_a_wrong_format_is_no_switch_to_another(tmp_path: Path) -> None:
    many = {str(n): {**lewidi()["1"], "text": PROSE[n]} for n in range(30)}
    path = put(tmp_path, "brexit.json", json.dumps(many))
    flat = {
        item: {name: value for name, value in record.items() if isinstance(value, str)}
        for item, record in many.items()
    }
    table = tmp_path / "votes.csv"
    LONG.to_csv(table, index=False)

    with pytest.raises(DataError, match=r"'text', 'annotation task'.*another format"):
        read(path, "peerannot")
    with pytest.raises(DataError, match=r"flat\.json.*(properties|free text)"):
        read(put(tmp_path, "flat.json", json.dumps(flat)), "peerannot")
    with pytest.raises(DataError, match="no column 'label'"):
        read(table, "crowd")
    with pytest.raises(DataError, match="not in the form of LeWiDi"):
        read(put(tmp_path, "p.json", '{"1": {"a": 1}}'), "lewidi")


def test_two_columns_that_fit_equally_well_are_named() -> None:
    rows = [
        {"item": 1, "rater": "a", "label": "x", "category": "y"},
        {"item": 1, "rater": "b", "label": "y", "category": "y"},
        {"item": 2, "rater": "b", "label": "y", "category": "x"},
    ]

    with pytest.raises(UnclearSource, match=r"'label' and 'category' could be the answer") as error:
        read(rows)

    assert error.value.options == ("answer",)
    assert votes(read(rows, answer="category"))[0] == ("1", "a", "y")
    with pytest.raises(UnclearSource, match=r"no column 'lable'.*Did you mean 'label'"):
        read(rows, answer="lable")


def test_the_only_column_left_is_the_item() -> None:
    rows = [{"movie": 1, "user": who, "rating": n} for n, who in enumerate("abc")]

    assert {item for item, _, _ in votes(read(rows))} == {"1"}


def test_unused_columns_empty_rows_and_spaces_are_told(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", "task,worker,label,mood\n1, ann ,cat,3\n,,,\n1,bob,dog ,3\n")

    found = read(path)

    told = {remark.what: (remark.count, remark.example) for remark in found.remarks}
    assert told["columns not used"] == (1, "mood")
    assert told["empty rows left out"] == (1, "")
    assert told["white space around values trimmed"] == (2, "")
    assert found.annotators == ["ann", "bob"]


# Any votes, in any shape and dialect.

PEOPLE = ("rater_1", "rater_2", "rater_3")
CLASSES = ("cat", "dög, big", 'fox "red"', "9", "o;x")
tables = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b c", "7", "ä.png", "x,y"]), st.sampled_from(PEOPLE)),
    st.sampled_from(CLASSES),
    min_size=2,
)


def long_text(rows: pd.DataFrame, folder: Path, dialect: tuple[str, str, str]) -> Path:
    delimiter, encoding, ending = dialect
    path = folder / f"votes{ending}"
    text = rows.to_csv(sep=delimiter, index=False).encode(encoding)
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    return path


def write_wide(rows: pd.DataFrame, folder: Path, dialect: tuple[str, str, str]) -> Path:
    wide = rows.pivot(index="image", columns="worker", values="response").reset_index()
    return long_text(wide, folder, dialect)


def write_records(rows: pd.DataFrame, folder: Path, dialect: tuple[str, str, str]) -> Path:
    path = folder / "votes.json"
    rows.to_json(path, orient="records")
    return path


def write_lines(rows: pd.DataFrame, folder: Path, dialect: tuple[str, str, str]) -> Path:
    path = folder / "votes.jsonl"
    rows.to_json(path, orient="records", lines=True)
    return path


def write_nested(rows: pd.DataFrame, folder: Path, dialect: tuple[str, str, str]) -> Path:
    answers: dict[str, dict[str, str]] = {}
    for item, who, label in rows.itertuples(index=False):
        answers.setdefault(item, {})[who] = label
    path = folder / "votes.json"
    path.write_text(json.dumps(answers), encoding="utf-8")
    return path


def write_parquet(rows: pd.DataFrame, folder: Path, dialect: tuple[str, str, str]) -> Path:
    path = folder / "votes.parquet"
    pl.DataFrame(rows.to_dict("list")).write_parquet(path)
    return path


@pytest.mark.parametrize(
    "write", [long_text, write_wide, write_records, write_lines, write_nested, write_parquet]
)
@settings(max_examples=25)
@given(
    table=tables,
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    ending=st.sampled_from([".csv", ".txt", ".csv.gz"]),
)
def test_votes_written_in_any_shape_are_read_back(
    write: Callable[..., Path],
    table: dict[tuple[str, str], str],
    delimiter: str,
    encoding: str,
    ending: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    given_votes: list[Vote] = [(item, who, label) for (item, who), label in table.items()]
    assume(len(set(table.values())) > 1 and len({who for _, who in table}) > 1)
    rows = pd.DataFrame(given_votes, columns=["image", "worker", "response"])
    path = write(rows, tmp_path_factory.mktemp("any"), (delimiter, encoding, ending))

    assert votes(read(path)) == sorted(given_votes)


@settings(max_examples=25)
@given(
    counts=st.lists(st.tuples(*[st.integers(0, 9)] * 3).filter(any), min_size=2, max_size=8),
    delimiter=st.sampled_from(",;\t|"),
)
def test_counts_written_under_their_names_are_read_back(
    counts: list[tuple[int, ...]], delimiter: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    frame = pd.DataFrame(counts, columns=["n_cat", "n_dog", "n_fox"])
    frame.insert(0, "id", [f"i{n}" for n in range(len(frame))])
    path = long_text(frame, tmp_path_factory.mktemp("n"), (delimiter, "utf-8", ".csv"))

    found = read(path)

    expected = {
        f"i{n}": {
            name: count for name, count in zip(("cat", "dog", "fox"), row, strict=True) if count
        }
        for n, row in enumerate(counts)
    }
    assert shares(found) == expected
    assert found.question.classes == ("cat", "dog", "fox")
