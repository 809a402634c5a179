"""Turn JSON of several shapes into rows of answers, or say what it holds instead.

Read are: a list of records or one record per line; records by item; columns by name; item →
person → answer, and person → item → answer; item → list of answers. A record may hold its
answers as a list, as ``{person: answer}`` or as ``{class: votes}`` (LeWiDi, ChaosNLI and many
others).
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.columns import compact, find_columns, is_summary
from sfumato.judgments.formats.reading import (
    ReadOptions,
    Rows,
    UnclearSource,
    classes_among,
    elements,
    is_utf8,
    members,
    plain_text,
    read_json_text,
)
from sfumato.judgments.judgments import Judgments, RejectedRow, Remark, judgments_from
from sfumato.judgments.question import Question, ask
from sfumato.names import sorted_names
from sfumato.provenance import Step, fingerprint_file

MOST_REPEATED = 200_000_000
"""More votes than this in a file of records are something else."""

_ANSWERS = re.compile(
    r"(human|crowd|worker|annotator|user|individual)?"
    r"(answers?|labels?|categor(y|ies)|class(es)?|annotations?|ratings?|responses?|choices?|votes?"
    r"|judge?ments?|classifications?)(counter|counts?|list|dict|byannotator|byuser|byworker)?"
    r"|counts?|counter"
)
_PEOPLE = re.compile(
    r"(annotator|worker|rater|coder|user|judge|labell?er|participant|annotation)s?(ids?|names?)?"
)
_COUNTED = re.compile(r".*(count|counts|counter|votes)")
_PERSON_LIKE = re.compile(
    r"(?i)(annotator|worker|rater|coder|user|judge|labell?er|participant|person|expert|author|ann|w"
    r"|r|p|u)[ _-]?\d+|[\w.+-]+@[\w-]+\.[\w.-]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}"
)
_ITEM_LIKE = re.compile(
    r"(?i)(item|img|image|task|doc|text|question|example|sample|unit)s?[ _-]?\d+|.*\.\w{2,4}"
)


@dataclass(frozen=True)
class Extract:
    """Rows of texts out of a file, and what was asked where their form tells it."""

    rows: Rows
    question: Question | None = None
    long: bool = False
    """Whether the columns are already item, annotator and answer."""


@dataclass
class _Answers:
    """Answers as they are collected, column by column."""

    items: list[str] = field(default_factory=list)
    people: list[str | None] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)

    def add(self, item: str, person: str | None, given: Any, line: int) -> None:
        self.items.append(item)
        self.people.append(person)
        self.given.append(given)
        self.lines.append(line)


Records = Sequence[tuple[int, dict[str, Any]]]
"""Line and content of each record."""


def read_json_rows(source: Path | str, options: ReadOptions, *, file: str) -> Extract:
    """The rows of a JSON or JSONL file, or of a JSON text."""
    text = source if isinstance(source, str) else read_json_text(source)
    if _is_lines(text):
        records, rejected = _lines(text, file)
        return _from_records(records, options, file, rejected)
    first = text.lstrip()[:1]
    if first == "[":
        listed = list(elements(text, file=file))
        records = [(line, value) for line, value in listed if isinstance(value, dict)]
        if not listed or len(records) < len(listed):
            other = next((value for _, value in listed if not isinstance(value, dict)), None)
            raise DataError(
                f"{file} is a list of {_kind(other)}, which says neither who answered nor about "
                "what. Expected records such as "
                '[{"item": "a", "annotator": "ann", "answer": "cat"}].'
            )
        return _from_records(records, options, file, [])
    held = [(member.line, member.name, member.value) for member in members(text, file=file)]
    return _from_object(held, options, file)


def read_lewidi(path: Path, options: ReadOptions) -> Judgments:
    """Read a file of the shared tasks on learning with disagreements (LeWiDi).

    Records by item, with ``annotators`` and ``annotations``, a list, texts with commas, or
    ``{person: answer}``. The classes are those of ``soft_label`` where the answers are among
    them; a person who marked several makes the question a set of likely labels. Said to be a
    ``rating`` the classes are the points of a scale, said to be ``multi-label`` each stands alone.
    """
    text = read_json_text(path)
    held = [(member.line, member.name, member.value) for member in members(text, file=path.name)]
    records = _keyed_records(held)
    if not records or not all({"annotations", "annotators"} <= one.keys() for _, one in records):
        raise DataError(
            f"{path.name} is not in the form of LeWiDi: expected items with 'annotators' and "
            f"'annotations', found {_sketch(held)}."
        )
    found = _expanded(records, "annotations", options, path.name, [])
    question = found.question or _choose_one(found.rows, options, path.name)
    table = _json_answers(found).with_columns(note=_explanations(records, found.rows.table))
    match options.question:
        case None:
            pass
        case "rating":
            points = sorted_names(list(question.classes))
            question = options.asked or ask("rating", options.classes or points)
        case "multi-label":
            if question.kind == "choose-one":
                table = table.with_columns(answer=pl.format("[{}]", "answer"))
            question = options.asked or ask("multi-label", question.classes)
        case other if other != question.kind:
            raise DataError(
                f"{path.name} holds answers to {question.kind!r}; they may be read as 'rating' or "
                f"'multi-label', not as {other!r}."
            )
    return judgments_from(
        replace(question, wording=""),
        table,
        file=path.name,
        lines=found.rows.lines,
        rejected=found.rows.rejected,
        remarks=found.rows.remarks,
        provenance=(Step("read lewidi", {}, {path.name: fingerprint_file(path)}),),
    )


def _explanations(records: Records, answers: pl.DataFrame) -> pl.Series:
    """What people wrote beside their answers, where as many texts as annotators are given."""
    wrote: dict[tuple[str, str], list[str]] = {}
    for _, record in records:
        other = record.get("other_info")
        texts = other.get("explanations", []) if isinstance(other, dict) else []
        people = _split(record.get("annotators")) or []
        if len(texts) == len(people):
            for person, text in zip(people, texts, strict=True):
                wrote.setdefault((str(record["item"]), str(person)), []).append(str(text).strip())
    if not wrote or "annotator" not in answers.columns:
        return pl.Series([None] * len(answers), dtype=pl.String)
    rows = answers.select("item", "annotator").iter_rows()
    return pl.Series(["\n".join(wrote.get(row, [])) or None for row in rows], dtype=pl.String)


def looks_person_first(outer: Sequence[str], inner: Iterable[str]) -> bool:
    """Whether the outer names of nested answers are people and the inner ones items.

    Names tell it; otherwise far more inner than outer ones do, as a person answers about many
    items and an item is answered about by few people.
    """
    inside = set(inner)
    people = sum(_PERSON_LIKE.fullmatch(name) is not None for name in outer) / max(len(outer), 1)
    items = sum(_ITEM_LIKE.fullmatch(name) is not None for name in inside) / max(len(inside), 1)
    inner_people = sum(_PERSON_LIKE.fullmatch(name) is not None for name in inside)
    if inner_people > 0.5 * len(inside):
        return False
    return people > 0.5 or items > 0.5 or len(inside) >= 10 * len(outer)


def check_crossing(votes: Sequence[tuple[str, str, Any]], file: str) -> None:
    """Refuse nested objects whose inner values are no answers of people to one question."""
    numbers = [value for _, _, value in votes if isinstance(value, float) and value % 1]
    if numbers:
        raise DataError(
            f"{file} holds numbers with decimals, such as {numbers[0]!r}, under each name: "
            "probabilities or scores, not answers. Read it as labels or predictions."
        )
    by_inner: dict[str, set[str]] = {}
    for _, inner, value in votes:
        by_inner.setdefault(inner, set()).add(str(value).strip())
    times: dict[str, int] = {}
    for words in by_inner.values():
        for word in words:
            times[word] = times.get(word, 0) + 1
    repeated = sum(times[str(value).strip()] > 1 for _, _, value in votes)
    if all(_PERSON_LIKE.fullmatch(name) for name in by_inner):
        return  # their names say that these are people, however little they agree
    outer = {name for name, _, _ in votes}
    dense = len(votes) > 0.8 * len(outer) * len(by_inner)  # every record has every property
    if len(by_inner) > 1 and len(outer) > 3 and dense and repeated < 0.5 * len(votes):
        named = ", ".join(repr(name) for name in list(by_inner)[:6])
        raise DataError(
            f"{file} holds records with different properties ({named}), not answers of people to "
            'one question, such as {"item": {"ann": "cat", "bob": "dog"}}.'
        )


# From JSON values to rows.


def _is_lines(text: str) -> bool:
    first, _, rest = text.strip().partition("\n")
    if not rest.strip() or not first.startswith("{"):
        return False
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _lines(text: str, file: str) -> tuple[Records, list[RejectedRow]]:
    records: list[tuple[int, dict[str, Any]]] = []
    rejected: list[RejectedRow] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            held = json.loads(line)
        except (ValueError, RecursionError):
            held = None
        if isinstance(held, dict):
            records.append((number, held))
        else:
            rejected.append(RejectedRow(file, number, "", "not a JSON object", line[:200]))
    return records, rejected


def _from_object(held: Sequence[tuple[int, str, Any]], options: ReadOptions, file: str) -> Extract:
    values = [value for _, _, value in held]
    if held and all(isinstance(value, dict) for value in values):
        if _are_columns(held, options, file):
            return _from_columns({name: list(value.values()) for _, name, value in held}, options)
        records = _keyed_records(held)
        if _are_records(records, options):
            return _from_records(records, options, file, [])
        if all(_is_plain(inner) for value in values for inner in value.values()):
            return _from_crossing(held, file)
    if held and all(isinstance(value, list) for value in values):
        if _are_columns(held, options, file):
            return _from_columns({name: value for _, name, value in held}, options)
        if all(_is_plain(inner) for value in values for inner in value):
            return _from_lists(held, file)
        records = [inner for value in values for inner in value]
        fields = {frozenset(inner) for inner in records if isinstance(inner, dict)}
        if _all(dict, records) and (len(held) == 1 or len(fields) == 1):
            return _from_records(_inner_records(held), options, file, [])
    raise DataError(
        f"{file} is nested JSON of another kind: {_sketch(held)}. Expected records, or answers as "
        'in {"item": {"ann": "cat", "bob": "dog"}}; take the list of answers out of it first.'
    )


def _keyed_records(held: Sequence[tuple[int, str, Any]]) -> Records:
    """Records by item; the name is the item unless the record names its own."""
    return [
        (line, {"item": name, **value}) for line, name, value in held if isinstance(value, dict)
    ]


def _inner_records(held: Sequence[tuple[int, str, Any]]) -> Records:
    """Lists of records: one list under a name of its own, or one for each item."""
    if len(held) == 1:
        line, _, listed = held[0]
        return [(line, record) for record in listed]
    return [(line, {"item": name, **record}) for line, name, listed in held for record in listed]


def _are_columns(held: Sequence[tuple[int, str, Any]], options: ReadOptions, file: str) -> bool:
    """Whether the names are those of columns, as pandas writes a frame."""
    names = [name for _, name, _ in held]
    if len({len(value) for _, _, value in held}) != 1 or len(names) < 2:
        return False
    empty = pl.DataFrame({name: [] for name in names}, schema=dict.fromkeys(names, pl.String))
    try:
        found = find_columns(
            empty, replace(options, item=None, annotator=None, answer=None), file=file
        )
    except DataError:
        return True  # two columns are named like one role
    return found.get("item") is not None and found.get("answer") is not None


def _are_records(records: Records, options: ReadOptions) -> bool:
    """Whether the inner names are those of fields rather than of people."""
    names = {name for _, record in records for name in record if name != "item"}
    if any(isinstance(value, dict | list) for _, record in records for value in record.values()):
        return True
    flat = pl.DataFrame(schema=dict.fromkeys(sorted(names), pl.String))
    try:
        found = find_columns(flat, ReadOptions(), file="")
    except DataError:
        return True
    return found.get("answer") is not None and found.get("annotator") is not None


def _from_columns(columns: Mapping[str, list[Any]], options: ReadOptions) -> Extract:
    texts = {
        name: pl.Series([_text(value) for value in values], dtype=pl.String)
        for name, values in columns.items()
    }
    table = pl.DataFrame(texts)
    return Extract(Rows(table, list(range(1, len(table) + 1)), []))


def _from_crossing(held: Sequence[tuple[int, str, Any]], file: str) -> Extract:
    votes = [
        (outer, inner, value) for _, outer, held_by in held for inner, value in held_by.items()
    ]
    check_crossing(votes, file)
    if _are_counts([value for _, _, value in held]):
        return _long(
            _counted((line, outer, value) for line, outer, value in held),
            [Remark("read as item → class → votes", len(held))],
        )
    swap = looks_person_first([name for _, name, _ in held], (inner for _, inner, _ in votes))
    answers = _Answers()
    for line, outer, held_by in held:
        for inner, value in held_by.items():
            item, person = (inner, outer) if swap else (outer, inner)
            _add(answers, item, person, value, line, file)
    order = "person → item → answer" if swap else "item → person → answer"
    return _long(answers, [Remark(f"read as {order}", len(votes))])


def _from_lists(held: Sequence[tuple[int, str, Any]], file: str) -> Extract:
    numbers = [value for _, _, listed in held for value in listed if isinstance(value, float)]
    if any(value % 1 for value in numbers):
        raise DataError(
            f"{file} holds lists of numbers with decimals: label distributions or features, not "
            "answers. Read it as labels."
        )
    answers = _Answers()
    for line, item, listed in held:
        for value in listed:
            _add(answers, item, None, value, line, file)
    return _long(answers, [Remark("read as item → answers of unknown people", len(answers.items))])


def _from_records(
    records: Records, options: ReadOptions, file: str, rejected: list[RejectedRow]
) -> Extract:
    if not records:
        first = f" The first: {rejected[0]}" if rejected else ""
        raise DataError(f"{file} holds no JSON object.{first}")
    nested = _nested_answers(records, options, file)
    if nested is not None:
        return _expanded(records, nested, options, file, rejected)
    names = dict.fromkeys(name for _, record in records for name in record)
    table = pl.DataFrame(
        {
            name: pl.Series([_text(record.get(name)) for _, record in records], dtype=pl.String)
            for name in names
        }
    )
    return Extract(Rows(table, [line for line, _ in records], rejected))


def _nested_answers(records: Records, options: ReadOptions, file: str) -> str | None:
    """The field that holds several people's answers, None if answers stand in plain fields."""
    nested: dict[str, list[Any]] = {}
    plain: set[str] = set()
    for _, record in records:
        for name, value in record.items():
            if isinstance(value, dict | list):
                nested.setdefault(name, []).append(value)
            elif value is not None:
                plain.add(name)
    if options.answer is not None:
        joined = options.answer in plain and _joined(records, options.answer)
        return options.answer if options.answer in nested or joined else None
    named = [name for name in nested if _ANSWERS.fullmatch(compact(name)) and not is_summary(name)]
    flat = pl.DataFrame(schema=dict.fromkeys(sorted(plain), pl.String))
    found = find_columns(flat, ReadOptions(), file=file).get("answer") if not named else None
    if found is not None:
        return found if _joined(records, found) else None
    usable = [name for name in named if not _are_vectors(nested[name])]
    listed = [one for values in nested.values() for one in values if isinstance(one, list)]
    if not named and not any(one and _all(dict, one) for one in listed):
        usable = [name for name, values in nested.items() if _may_be_counts(values)]
    if len(usable) > 1:
        raise UnclearSource(
            f"{file}: both fields {usable[0]!r} and {usable[1]!r} could be the answers. "
            "Say which of them is.",
            "answer",
        )
    return usable[0] if usable else None


def _joined(records: Records, name: str) -> bool:
    """Whether people and their answers are two fields of texts with equally many commas."""
    people = [one for one in records[0][1] if _PEOPLE.fullmatch(compact(one)) and one != name]
    if len(people) != 1:
        return False
    answers = [record.get(name) for _, record in records[:100]]
    who = [record.get(people[0]) for _, record in records[:100]]
    if not all(isinstance(text, str) for text in (*answers, *who)):
        return False
    commas = [(str(a).count(","), str(b).count(",")) for a, b in zip(answers, who, strict=True)]
    return all(a == b for a, b in commas) and any(a for a, _ in commas)


def _are_vectors(values: Sequence[Any]) -> bool:
    """Lists of numbers, all of one length: places that nobody names, such as counts or shares."""
    lists = [value for value in values if isinstance(value, list)]
    numbers = [one for value in lists for one in value]
    return (
        len(lists) == len(values)
        and len({len(value) for value in lists}) == 1
        and all(isinstance(one, int | float) for one in numbers)
        and (any(one % 1 for one in numbers) or max(numbers, default=0) > 20)
    )


def _expanded(
    records: Records, name: str, options: ReadOptions, file: str, rejected: list[RejectedRow]
) -> Extract:
    """One row per answer from records that hold those of several people."""
    item = _item_field(records, options, file)
    values = [record.get(name) for _, record in records]
    present = [value for value in values if value not in (None, [], {})]
    if present and all(isinstance(value, list) and _all(dict, value) for value in present):
        return _inner_answers(records, name, item, options, file, rejected)
    named = _ANSWERS.fullmatch(compact(name)) and not _COUNTED.fullmatch(compact(name))
    counted = not named and _are_whole(present)
    if counted or _are_counts(present):
        held = ((line, record[item], record.get(name) or {}) for line, record in records)
        remark = Remark(f"field {name!r} is read as votes for each class", len(records))
        return _long(_counted(held), [remark])
    people = [one for one in records[0][1] if _PEOPLE.fullmatch(compact(one)) and one != name]
    answers = _Answers(rejected=list(rejected))
    for line, record in records:
        who = _split(record.get(people[0])) if people else None
        _add_all(answers, record, name, item, who, line, file)
    remarks = [Remark(f"field {name!r} is read as the answers", len(answers.items))]
    return _with_sets(answers, records, remarks)


def _add_all(
    answers: _Answers,
    record: Mapping[str, Any],
    name: str,
    item: str,
    who: list[Any] | None,
    line: int,
    file: str,
) -> None:
    given, label = record.get(name), plain_text(record.get(item))
    if label is None:
        answers.rejected.append(RejectedRow(file, line, item, "no item", str(record)[:200]))
        return
    if isinstance(given, dict):
        for person, value in given.items():
            _add(answers, label, person, value, line, file)
        return
    listed = _split(given)
    if listed is None or (who is not None and len(who) != len(listed)):
        reason = "as many answers as annotators are expected" if listed else "no list of answers"
        answers.rejected.append(RejectedRow(file, line, name, reason, str(given)[:200]))
        return
    for place, value in enumerate(listed):
        person = None if who is None else plain_text(who[place])
        _add(answers, label, person, value, line, file)


def _inner_answers(
    records: Records,
    name: str,
    item: str,
    options: ReadOptions,
    file: str,
    rejected: list[RejectedRow],
) -> Extract:
    """Records inside records, each one person's answer."""
    inner = [
        (line, {**answer, "item": record.get(item)})
        for line, record in records
        for answer in record.get(name) or ()
    ]
    if any(isinstance(one, dict | list) for _, record in inner for one in record.values()):
        keys = ", ".join(repr(key) for key in list(inner[0][1])[:6])
        raise DataError(
            f"{file}: {name!r} holds records with further lists inside ({keys}), a form of another "
            "tool. Expected one answer each, such as "
            '{"annotator": "ann", "answer": "cat"}.'
        )
    found = _from_records(inner, replace(options, item=None), file, rejected)
    remark = Remark(f"field {name!r} is read as the answers", len(inner))
    return replace(found, rows=replace(found.rows, remarks=(*found.rows.remarks, remark)))


def _with_sets(answers: _Answers, records: Records, remarks: list[Remark]) -> Extract:
    """Choose-one answers, or sets of labels if somebody gave several."""
    soft = [
        record["soft_label"] for _, record in records if isinstance(record.get("soft_label"), dict)
    ]
    classes = tuple(dict.fromkeys(name for one in soft for name in one))
    parts = [
        [part.strip() for part in given.split(",")] if isinstance(given, str) else [given]
        for given in answers.given
    ]
    among = bool(classes) and all(part in classes for each in parts for part in each)
    sets = any(isinstance(given, list) for given in answers.given)
    if among and any(len(each) > 1 for each in parts):
        answers.given = parts
        sets = True
    if sets:
        answers.given = [one if isinstance(one, list) else [one] for one in answers.given]
        names = classes if among else tuple(sorted({n for one in answers.given for n in one}))
        return _long(answers, remarks, ask("likely-set", names))
    question = ask("choose-one", classes) if among and len(classes) > 1 else None
    return _long(answers, remarks, question)


def _long(
    answers: _Answers, remarks: Sequence[Remark], question: Question | None = None
) -> Extract:
    sets = question is not None and question.kind == "likely-set"
    given = [json.dumps(one, ensure_ascii=False) if sets else one for one in answers.given]
    table = pl.DataFrame(
        {"item": answers.items, "annotator": answers.people, "answer": given},
        schema=dict.fromkeys(("item", "annotator", "answer"), pl.String()),
    )
    if not any(answers.people):
        table = table.drop("annotator")
    rows = Rows(table, answers.lines, answers.rejected, tuple(remarks))
    return Extract(rows, question, long=True)


def _counted(held: Iterable[tuple[int, Any, Mapping[str, Any]]]) -> _Answers:
    answers = _Answers()
    for line, item, votes in held:
        label = plain_text(item)
        for name, times in votes.items():
            count = int(times)
            if len(answers.items) + count > MOST_REPEATED:
                raise DataError(f"More than {MOST_REPEATED:,} votes: these are no counts of votes.")
            for _ in range(count if label is not None else 0):
                answers.add(label or "", None, name, line)
    return answers


def _add(
    answers: _Answers, item: str, person: str | None, value: Any, line: int, file: str
) -> None:
    if isinstance(value, list) and value and all(plain_text(one) for one in value):
        answers.add(item, person, [plain_text(one) for one in value], line)
        return
    label = {True: "true", False: "false"}[value] if isinstance(value, bool) else plain_text(value)
    if label is None and isinstance(value, float):
        label = repr(value)
    if label is None:
        reason = "empty" if value in (None, "") else "neither a text nor a number"
        text = f"item {item!r}, annotator {person!r}: {json.dumps(value)[:60]}"
        answers.rejected.append(RejectedRow(file, line, "answer", reason, text))
    else:
        answers.add(item, person, label, line)


def _choose_one(rows: Rows, options: ReadOptions, file: str) -> Question:
    return ask("choose-one", classes_among(rows.table["answer"], options.classes, file=file))


def _json_answers(found: Extract) -> pl.DataFrame:
    if found.question is not None and found.question.kind == "likely-set":
        return found.rows.table
    labels = found.rows.table["answer"]
    texts = {name: json.dumps(name, ensure_ascii=False) for name in labels.unique()}
    return found.rows.table.with_columns(labels.replace_strict(texts, return_dtype=pl.String))


def _item_field(records: Records, options: ReadOptions, file: str) -> str:
    plain = [name for name, value in records[0][1].items() if not isinstance(value, dict | list)]
    if options.item is None and "item" in plain:
        return "item"
    table = pl.DataFrame(
        {
            name: pl.Series([_text(record.get(name)) for _, record in records], dtype=pl.String)
            for name in plain
            if not _PEOPLE.fullmatch(compact(name))
        }
    )
    only = ReadOptions(item=options.item)
    found = find_columns(table.select(_but_answers(table, options)), only, file=file).get("item")
    if found is None:
        raise UnclearSource(
            f"{file} has no field that is named like an item; its fields are "
            f"{', '.join(map(repr, plain[:12]))}. Say which of them is the item.",
            "item",
        )
    return found


def _but_answers(table: pl.DataFrame, options: ReadOptions) -> list[str]:
    """Only what may name an item: a second candidate for an answer is no trouble here."""
    return [
        name
        for name in table.columns
        if name == options.item or not _ANSWERS.fullmatch(compact(name))
    ]


def _are_whole(values: Sequence[Any]) -> bool:
    """Objects of whole numbers of at least 0."""
    numbers = [one for value in values if isinstance(value, dict) for one in value.values()]
    return all(isinstance(value, dict) and value for value in values) and all(
        isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in numbers
    )


def _are_counts(values: Sequence[Any]) -> bool:
    """Objects of whole numbers that all sum to the same: classes that share an item's votes."""
    if len(values) < 3 or not _are_whole(values):
        return False
    totals = {sum(value.values()) for value in values}
    return len(totals) == 1 and any(one > 1 for value in values for one in value.values())


def _may_be_counts(values: Sequence[Any]) -> bool:
    """Whole numbers under a few names that come back in every record."""
    if len(values) < 3 or not _are_whole(values):
        return False
    names = {name for value in values for name in value}
    totals = [sum(value.values()) for value in values]
    return len(names) <= 50 and 1 < max(totals) <= 5 * max(min(totals), 1)


def _split(given: Any) -> list[Any] | None:
    if isinstance(given, list):
        return given
    if isinstance(given, str) and given.strip():
        return [part.strip() for part in given.split(",")]
    return None


def _all(kind: type, values: Sequence[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and not is_utf8(value)):
        return None
    if isinstance(value, str):
        return value or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return plain_text(value) or repr(value)
    return json.dumps(value, ensure_ascii=False)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case list():
            return "lists"
        case str():
            return "texts"
        case bool() | int() | float():
            return "numbers"
        case _:
            return "objects"


def _sketch(held: Sequence[tuple[int, str, Any]]) -> str:
    """The first names of an object and what they hold, for messages."""
    if not held:
        return "an empty object"
    shown = ", ".join(f"{name[:30]!r} ({_kind(value)})" for _, name, value in held[:4])
    return f"an object of {len(held):,} names, {shown}"
