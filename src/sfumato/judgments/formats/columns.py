"""Find out from names and values what the columns of somebody's table are, and what they say.

A column is the item, the annotator, the answer, the time at which or the seconds in which it
was given. The user says which, or the name does; two columns that fit equally well are an
error that names both.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import NoAnswers, ReadOptions, UnclearSource

Role = Literal["item", "annotator", "answer", "at", "seconds"]
ROLES: tuple[Role, ...] = get_args(Role)

MEANING: dict[Role, str] = {
    "item": "the item",
    "annotator": "the annotator",
    "answer": "the answer",
    "at": "the time of the answer",
    "seconds": "the seconds it took",
}

_END = r"(id|ids|uid|uuid|name|no|nr|num|number|idx|index|key|code|hash)?"
_MS = r"(ms|msec|msecs|millis|milliseconds|inms|inmilliseconds|inmillis)"
_THING = (
    "item|task|unit|image|img|picture|pic|photo|file|sample|example|instance|stimulus|stim|clip|"
    "video|audio|object|datapoint|asset|slide|scan|frame"
)
_CONTENT = (
    "text|sentence|tweet|post|comment|review|document|doc|question|pair|paper|record|case|passage|"
    "headline|dialogue|dialog|conversation|prompt|snippet|message|paragraph|claim|article|word|"
    "statement|url|link|content|title|utterance|query"
)
_PERSON = (
    "annotator|worker|rater|coder|user|judge|labeler|labeller|participant|subject|respondent|"
    "person|expert|reviewer|evaluator|assessor|contributor|crowdworker|turker|player|member|"
    "scorer|marker|grader|tagger|student|doctor|radiologist|physician|observer|voter|reader|"
    "interviewee|volunteer"
)
_ANSWER = (
    "answer|label|category|class|annotation|rating|response|choice|vote|judgment|judgement|"
    "verdict|decision|classification|diagnosis|selection|sentiment|emotion|stance|opinion|tag"
)
_GIVEN = r"(chosen|selected|given|user|worker|annotator|rater|human|crowd|assigned|their)?"
_SPENT = (
    "rt|duration|leadtime|reactiontime|responsetime|timespent|timetaken|elapsed|elapsedtime|"
    "worktime|latency|answertime|timeontask|timeonpage|dwelltime|decisiontime|annotationtime"
)
_WHEN = "created|submitted|answered|annotated|labeled|labelled|completed|finished|judged|rated"

_TIERS: dict[Role, tuple[str, ...]] = {
    "item": (
        "item",
        f"({_THING}){_END}|({_THING})(url|path)|({_CONTENT})(id|ids|uid|idx|no|nr|number|key)|uid"
        "|exampleuid|filepath|path",
        "id|index|idx|guid|uuid|hit|hitid|column0|unnamed0|rowid|input[a-z]+",
        _CONTENT,
    ),
    "annotator": (
        "annotator",
        f"({_PERSON}){_END}|prolificpid|prolificid|mturkid|workeruuid|{_WHEN}by|createdby"
        "|annotatorname|labeledby|labelledby",
        "email|emailaddress|who|by|initials|pid|nickname|account",
    ),
    "answer": (
        "answer",
        f"{_GIVEN}({_ANSWER})(s|name|value|text|id|code)?|answer[a-z]+",
        "score|value|result|output|code|option|stars|likert|selected|chosen|said|grade|rank",
    ),
    "at": (
        "at",
        f"timestamp|datetime|({_WHEN})(at|on|time)|submittime|submissiontime|submitted"
        "|responsetimestamp",
        "date|created|updatedat|updated|ts|when|endtime|enddate|recordeddate|time",
        "startedat|starttime|startdate|accepttime",
    ),
    "seconds": (
        "seconds",
        f"secs|sec|({_SPENT})(s|sec|secs|seconds|inseconds|{_MS})?|{_MS}|time(sec|secs|seconds|ms)"
        f"|timein(seconds|ms|milliseconds)|elapsed(seconds|{_MS})|totaltime{_MS}?",
        "time",
    ),
}
"""Names by how surely they mean a role, without capitals and signs; our own stand first."""

_NAMING_ITEMS = (*_TIERS["item"][:3], "items|ids|key|name")
"""Names of items in a table without people: ``name`` is no person's there, and texts are no ids."""

_NO_ANSWER = re.compile(
    r"(gold|true|truth|groundtruth|correct|majority|predict|pred|model|expected|reference|final"
    r"|consensus|aggregated|old|mode|hard|soft|original)",
)
_MILLISECONDS = re.compile(f".*{_MS}")
_NUMBERED = re.compile(
    rf"({_PERSON}|annotation|label|answer|rating|vote|response|choice|judgment|judgement|ann|a|p|r|w"
    r"|h|j)(er)?s?(id|no|nr)?[0-9]+(label|answer|rating|vote|response|choice|class|annotation)?"
)


@dataclass(frozen=True)
class Columns:
    """Which column of a table has which role; those that the user named are not guessed."""

    named: Mapping[Role, str]
    guessed: tuple[Role, ...]

    def get(self, role: Role) -> str | None:
        """The column with this role, or None."""
        return self.named.get(role)


def compact(name: str) -> str:
    """A column's name without capitals and signs, as synonyms are written.

    >>> compact("Image_Name"), compact("Answer.category"), compact("created at")
    ('imagename', 'answercategory', 'createdat')
    """
    return re.sub(r"[\W_]+", "", name.casefold())


def item_rank(name: str) -> int | None:
    """How surely a column of a table without people names items, 0 the surest; None if it does not.

    >>> item_rank("item"), item_rank("Image_Name"), item_rank("id"), item_rank("cat")
    (0, 1, 2, None)
    """
    fitting = (re.fullmatch(pattern, compact(name)) for pattern in _NAMING_ITEMS)
    return next((place for place, found in enumerate(fitting) if found), None)


def is_milliseconds(name: str) -> bool:
    """Whether a column's name says that it holds thousandths of a second."""
    return _MILLISECONDS.fullmatch(compact(name)) is not None


def numbered_people(names: Iterable[str]) -> list[str]:
    """Columns such as ``rater_1, rater_2``: one for each person; empty unless several are.

    >>> numbered_people(["item", "Rater 1", "Rater 2", "text"])
    ['Rater 1', 'Rater 2']
    """
    found = [name for name in names if _NUMBERED.fullmatch(compact(name))]
    return found if len(found) > 1 else []


def is_summary(name: str) -> bool:
    """Whether a name speaks of a truth, a majority or a model rather than of a person's answer.

    >>> is_summary("gold_label"), is_summary("majority"), is_summary("label")
    (True, True, False)
    """
    return _NO_ANSWER.match(compact(name)) is not None


def find_columns(table: pl.DataFrame, options: ReadOptions, *, file: str) -> Columns:
    """The columns that the user named, and what the names of the others tell."""
    named: dict[Role, str] = {}
    for role in ROLES:
        given = getattr(options, role)
        if given is not None:
            named[role] = _existing(table, given, role, file)
    twice = [name for name in named.values() if list(named.values()).count(name) > 1]
    if twice:
        roles = [role for role, name in named.items() if name == twice[0]]
        raise UnclearSource(
            f"{file}: column {twice[0]!r} cannot be both {MEANING[roles[0]]} and "
            f"{MEANING[roles[1]]}.",
            roles[1],
        )
    guessed: list[Role] = []
    for role in ROLES:
        if role in named:
            continue
        free = [name for name in table.columns if name not in named.values()]
        found = _guess(table, free, role, file)
        if found is not None:
            named[role] = found
            guessed.append(role)
    return Columns(named, tuple(guessed))


def _existing(table: pl.DataFrame, name: str, role: Role, file: str) -> str:
    if name in table.columns:
        return name
    alike = [found for found in table.columns if compact(found) == compact(name)]
    if len(alike) == 1:
        return alike[0]
    near = get_close_matches(name, table.columns, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UnclearSource(
        f"{file} has no column {name!r}, named as {MEANING[role]}.{hint} "
        f"Its columns are {', '.join(map(repr, table.columns[:20]))}.",
        role,
    )


def _guess(table: pl.DataFrame, free: list[str], role: Role, file: str) -> str | None:
    for place, pattern in enumerate(_TIERS[role]):
        fitting = [name for name in free if re.fullmatch(pattern, compact(name))]
        fitting = [name for name in fitting if _plausible(table[name], name, role)]
        if role == "item" and len(fitting) == 1 and place == 2:
            return _unless_row_number(table, free, fitting[0])
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            return _only_one(table, fitting, role, file)
    return None


def _plausible(values: pl.Series, name: str, role: Role) -> bool:
    """Whether the values do not contradict what the name says."""
    known = values.drop_nulls()
    if not len(known) and len(values):
        return False
    match role:
        case "answer":
            numbers_rows = compact(name).endswith("id") and known.n_unique() == len(known) > 2
            return not is_summary(name) and not numbers_rows
        case "seconds":
            return compact(name) != "time" or not looks_like_times(known)
        case "at":
            return compact(name) != "time" or looks_like_times(known)
        case _:
            return not known.dtype.is_nested()


def looks_like_times(values: pl.Series) -> bool:
    """Whether texts are dates, or numbers are seconds since 1970."""
    if values.dtype.is_temporal():
        return True
    texts = values.drop_nulls().head(100).cast(pl.String, strict=False)
    dates = texts.str.contains(
        r"^\s*\d{4}-\d\d?-\d\d?|^\s*\d{1,2}[./]\d{1,2}[./]\d{2,4}|^\s*1\d{9}"
    )
    return int(dates.sum()) > 0.5 * len(texts)


def _unless_row_number(table: pl.DataFrame, free: list[str], name: str) -> str:
    """An ``id`` that differs in every row numbers the rows, if a text beside it repeats."""
    if len(table) < 3 or table[name].n_unique() < len(table):
        return name
    contents = [other for other in free if re.fullmatch(_CONTENT, compact(other))]
    repeated = [other for other in contents if table[other].n_unique() <= 0.7 * len(table)]
    return repeated[0] if len(repeated) == 1 else name


def _only_one(table: pl.DataFrame, fitting: list[str], role: Role, file: str) -> str:
    """The first of several columns that say the same in other words; otherwise an error."""
    first = fitting[0]
    for other in fitting[1:]:
        pairs = table.select(first, other).unique()
        if len(pairs) != pairs[first].n_unique() or len(pairs) != pairs[other].n_unique():
            columns = " and ".join(map(repr, (first, other)))
            raise UnclearSource(
                f"{file}: both columns {columns} could be {MEANING[role]}. Say which of them is.",
                role,
            )
    words = [name for name in fitting if not _is_number(table[name])]
    return words[0] if role == "answer" and words else first


def _is_number(values: pl.Series) -> bool:
    known = values.drop_nulls()
    if known.dtype.is_numeric():
        return True
    return bool(len(known)) and bool(
        known.cast(pl.String, strict=False).str.contains(r"^\s*-?\d+([.,]\d+)?\s*$").all()
    )


# Find out what the columns of a wide table are: people, or classes with votes, shares or marks.
#
# A table with one row per item may have a column for each person, holding their answers, or a
# column for each class, holding numbers of votes, shares, or yes, no and unsure. Names tell it
# where they can; otherwise how numbers go together does: people who answer the same question
# tend to say the same, while the classes of one item compete for its votes. A table for which
# neither speaks clearly is refused.


Shape = Literal["people", "counts", "shares", "choices", "sets", "marks"]
"""A column per person; or per class, with votes, shares of one, one 1, several 1s, yes or no."""

MARKS: dict[str, str] = {
    **dict.fromkeys(("yes", "y", "true", "ja", "oui", "si", "sí"), "yes"),
    **dict.fromkeys(("no", "n", "false", "nein", "non"), "no"),
    **dict.fromkeys(("unsure", "maybe", "?", "not sure", "don't know", "dont know"), "unsure"),
    **dict.fromkeys(("unclear", "cannot tell", "can't tell", "idk", "partly"), "unsure"),
}
"""What stands for yes, no and unsure, in small letters."""

AGREE = 0.1
"""Columns whose values go together at least so much (intraclass correlation) are people's."""

COMPETE = -0.3
"""Columns that exclude each other by this share of what is possible are classes."""

_COUNTED = re.compile(
    r"(?i)^(?:n|num|count|counts|votes?)[_ .-]+(.+)$|^(.+?)[_ .-]+(?:n|counts?|votes?)$"
)
_SHARED = re.compile(
    r"(?i)^(?:p|prob|probability|share)[_ .-]+(.+)$|^(.+?)[_ .-]+(?:prob|probability|share)$"
)
_DESCRIBED = re.compile(
    r"label|class|categor|answer|predict|guess|score|logit|prob|confidence|conf$|original|url|uid"
)
_FEATURE = re.compile(
    r"(age|gender|sex|height|weight|width|length|size|year|price|cost|income|education|country"
    r"|nationality|language|lang|ethnicity|race|native|occupation|duration|speed|temperature"
    r"|area|depth|volume|latitude|longitude|lat|lon|feature.*|f\d+|x\d+|dim\d+|pixel\d+|emb.*)"
)


@dataclass(frozen=True)
class Wide:
    """What the columns of a wide table are, and what their classes or people are called."""

    shape: Shape
    columns: tuple[str, ...]
    names: tuple[str, ...]
    """The person or class that each column stands for."""
    scale: float = 1.0
    """What the shares of a row sum to."""


def to_numbers(values: pl.Series) -> pl.Series:
    """Texts as numbers, with a decimal comma where all of them have one; null for other texts.

    >>> to_numbers(pl.Series(["0,25", "1", None, "x"])).to_list()
    [0.25, 1.0, None, None]
    """
    if values.dtype.is_numeric():
        return values.cast(pl.Float64)
    texts = values.cast(pl.String, strict=False).str.strip_chars().str.strip_suffix("%")
    points = texts.str.contains(".", literal=True).any()
    if not points:
        texts = texts.str.replace(",", ".", literal=True)
    return texts.cast(pl.Float64, strict=False)


def find_wide(
    table: pl.DataFrame,
    free: Sequence[str],
    *,
    item: str | None,
    annotator: str | None,
    options: ReadOptions,
    file: str,
    wanted: Shape | None = None,
) -> Wide:
    """What the ``free`` columns of a table are, which has no column of answers."""
    columns = [name for name in free if table[name].null_count() < len(table)]
    named = _named_classes(columns, options.classes)
    if named:
        return _by_class(table, named, item=item, annotator=annotator, options=options, file=file)
    people = [name for name in numbered_people(columns) if not is_summary(name)]
    if people and annotator is None and wanted in (None, "people"):
        return Wide("people", tuple(people), tuple(people))
    for pattern in (_COUNTED, _SHARED):
        parts = {name: pattern.match(name) for name in columns}
        affixed = [(name, found[1] or found[2]) for name, found in parts.items() if found]
        if len(affixed) > 1 and all(_is_numeric(table[name]) for name, _ in affixed):
            if pattern is _SHARED and annotator is None and options.question is None:
                raise NoAnswers(
                    f"{file} holds probabilities of classes ({_listed([n for n, _ in affixed])}), "
                    "and no column says who gave them. That is a table of labels or of a model's "
                    "predictions, not of answers; read it as labels."
                )
            return _by_class(
                table, affixed, item=item, annotator=annotator, options=options, file=file
            )
    columns = _without_descriptions(columns)
    marked = [name for name in columns if _is_marked(table[name])]
    numeric = [name for name in columns if _is_numeric(table[name])]
    alike = _share_words(
        table, [name for name in columns if name not in numeric and not is_summary(name)]
    )
    if len(marked) > 1 and set(marked) >= set(alike):
        return _marked(table, marked, item, annotator, options, file, wanted)
    if len(alike) > 1 and wanted in (None, "people"):
        if annotator is not None:
            raise DataError(
                f"{file} names a person in each row (column {annotator!r}) and holds answers in "
                f"several columns ({_listed(alike)}). Say which of them is the answer."
            )
        return Wide("people", tuple(alike), tuple(alike))
    if len(numeric) > 1:
        pairs = [(name, name) for name in numeric if not is_summary(name)]
        if wanted == "people":
            return Wide("people", tuple(name for name, _ in pairs), tuple(n for n, _ in pairs))
        if wanted == "counts" or annotator is not None:
            return _by_class(
                table, pairs, item=item, annotator=annotator, options=options, file=file
            )
        return _numbers_of_nobody(table, pairs, item, options, file)
    raise UnclearSource(
        f"{file} holds no answers of people that could be told: no column is named like an answer, "
        "and no two columns hold the same kind of answers (one column per person or per class). "
        f"Its columns are {_listed(table.columns)}. Say which column is the answer; a file "
        "without names of columns in its first row needs them.",
        "answer",
        "classes",
    )


def _without_descriptions(columns: Sequence[str]) -> list[str]:
    """Columns without those whose names speak of labels, scores and models.

    Where all have such a word in common (``label_ann``, ``label_bob``) it tells nothing.
    """
    described = [name for name in columns if _DESCRIBED.search(compact(name))]
    alike = {_DESCRIBED.sub("", compact(name)) for name in described}
    start = _common(described)
    if len(described) > 1 and len(alike) == len(described) and _DESCRIBED.search(compact(start)):
        return described
    return [name for name in columns if name not in described]


def _common(names: Sequence[str]) -> str:
    """What all names begin with, or else end with."""
    for step in (1, -1):
        letters = zip(*(name[::step] for name in names), strict=False)
        same = list(takewhile(lambda each: len(set(each)) == 1, letters))
        if same:
            return "".join(each[0] for each in same)[::step]
    return ""


def _named_classes(
    columns: Sequence[str], classes: tuple[str, ...] | None
) -> list[tuple[str, str]]:
    """The columns of the classes that the user named, if all of them are there."""
    if not classes:
        return []
    held = {name: name for name in columns}
    for name in columns:
        for pattern in (_COUNTED, _SHARED):
            if (found := pattern.match(name)) is not None:
                held.setdefault(found[1] or found[2], name)
    if not set(classes) <= held.keys():
        return []
    return [(held[name], name) for name in classes]


def _by_class(
    table: pl.DataFrame,
    pairs: Sequence[tuple[str, str]],
    *,
    item: str | None,
    annotator: str | None,
    options: ReadOptions,
    file: str,
) -> Wide:
    """Columns that are classes for sure: what stands in them says what was asked."""
    columns, names = tuple(name for name, _ in pairs), tuple(name for _, name in pairs)
    if all(_is_marked(table[name]) for name in columns):
        return Wide("marks", columns, names)
    cells = _matrix(table, columns)
    wrong = [name for name in columns if not _is_numeric(table[name])]
    if wrong:
        raise DataError(
            f"{file}: column {wrong[0]!r} of a class holds neither numbers nor yes, no or unsure, "
            f"such as {table[wrong[0]].drop_nulls()[0]!r}."
        )
    filled = np.where(np.isnan(cells), 0, cells)
    of_one = annotator is not None or options.question is not None
    scale = _scale(filled)
    whole = not (filled % 1).any()
    if not of_one and not whole and scale is not None:
        raise NoAnswers(
            f"{file} holds probabilities: each row sums to {scale:g}, and no column says who gave "
            "them. That is a table of labels or of a model's predictions, not of answers; read it "
            "as labels, or take the votes."
        )
    if not of_one and whole and (filled >= 0).all():
        return Wide("counts", columns, names)
    if options.question in ("sliders", "distribution"):
        return Wide("shares", columns, names, scale or _top(filled))
    if of_one and set(np.unique(filled)) <= {0.0, 1.0}:
        single = bool((filled.sum(axis=1) == 1).all())
        return Wide("choices" if single else "sets", columns, names)
    if of_one and scale is not None and (filled >= 0).all():
        return Wide("shares", columns, names, scale)
    low, high = np.nanmin(cells), np.nanmax(cells)
    raise UnclearSource(
        f"{file} holds numbers from {low:g} to {high:g} in the columns {_listed(columns)}, which "
        "are neither votes (whole numbers, one row per item) nor shares that sum to 1 or 100 (one "
        "row per item and person). If people gave these numbers, say which question they answered, "
        "such as 'sliders'; measurements and features are no answers.",
        "question",
    )


def _numbers_of_nobody(
    table: pl.DataFrame,
    pairs: Sequence[tuple[str, str]],
    item: str | None,
    options: ReadOptions,
    file: str,
) -> Wide:
    """Numbers without a person: votes per class, a person's number per column, or features."""
    columns = tuple(name for name, _ in pairs)
    cells = _matrix(table, columns)
    filled = np.where(np.isnan(cells), 0, cells)
    if (filled % 1).any() or options.question is not None:
        return _by_class(table, pairs, item=item, annotator=None, options=options, file=file)
    features = [name for name in columns if _FEATURE.fullmatch(compact(name))]
    if features:
        raise UnclearSource(
            f"{file} is a table of properties ({_listed(columns)}), not of answers: no column is "
            "named like an answer or a class. Say which column is the answer, or which the classes "
            "are.",
            "answer",
            "classes",
        )
    gaps, zeros = bool(np.isnan(cells).any()), bool((cells == 0).any())
    together = _together(filled)
    competing = together < COMPETE / (len(columns) - 1)
    if (gaps and zeros) or (together > AGREE and _same_words(table, columns)):
        return Wide("people", columns, columns)
    if competing and (filled >= 0).all() and _plausible_votes(filled):
        return Wide("counts", columns, columns)
    raise UnclearSource(
        f"{file} holds whole numbers in the columns {_listed(columns)}, and it cannot be told "
        "whether a column is a class and its numbers are votes, or a column is a person and its "
        "numbers are answers. Name the classes, or the format: 'counts' for votes, 'cleanlab' for "
        "one column per person.",
        "classes",
        "format",
    )


def _marked(
    table: pl.DataFrame,
    columns: Sequence[str],
    item: str | None,
    annotator: str | None,
    options: ReadOptions,
    file: str,
    wanted: Shape | None,
) -> Wide:
    """Yes, no and unsure: about a class each, or of a person each."""
    names = tuple(columns)
    if wanted == "people":
        return Wide("people", names, names)
    again = item is not None and table[item].n_unique() < len(table)
    if annotator is not None or again or options.question == "yes-no-unsure":
        return Wide("marks", names, names)
    value = {"yes": 1.0, "unsure": 0.5, "no": 0.0}
    codes = table.select(
        pl.col(name).str.strip_chars().str.to_lowercase().replace_strict(MARKS, default=None)
        for name in names
    )
    cells = codes.select(
        pl.all().replace_strict(value, default=np.nan, return_dtype=pl.Float64)
    ).to_numpy()
    if np.isnan(cells).any():  # not everybody was asked about everything
        return Wide("people", names, names)
    together = _together(cells)
    if together > AGREE:
        return Wide("people", names, names)
    if together < COMPETE / (len(names) - 1):
        return Wide("marks", names, names)
    raise UnclearSource(
        f"{file} holds yes and no in the columns {_listed(names)}, and it cannot be told whether "
        "a column is a class or a person. Name the classes, or the question 'yes-no-unsure', or "
        "the format 'cleanlab' for one column per person.",
        "classes",
        "question",
        "format",
    )


def _together(cells: NDArray[np.float64]) -> float:
    """Intraclass correlation of the columns: 1 all say the same, -1/(k-1) one excludes the rest."""
    rows, columns = cells.shape
    if rows < 2 or columns < 2:
        return 0.0
    between = columns * cells.mean(axis=1).var(ddof=1)
    within = cells.var(axis=1, ddof=1).mean()
    total = between + (columns - 1) * within
    return float((between - within) / total) if total > 0 else 0.0


def _plausible_votes(counts: NDArray[np.float64]) -> bool:
    """Votes: most items lack some class, and all were judged by similarly many people."""
    sums = counts.sum(axis=1)
    if np.ptp(sums) == 0:
        return bool(sums[0] > 0)
    some_zero = float((counts == 0).any(axis=1).mean())
    judged = sums[sums > 0]
    return some_zero >= 0.3 and len(judged) > 0 and bool(judged.max() <= 5 * judged.min())


def _scale(cells: NDArray[np.float64]) -> float | None:
    """What the rows sum to, 1 or 100, as far as the decimals that were kept allow."""
    sums = cells.sum(axis=1)
    judged = sums[sums != 0]
    for scale in (1.0, 100.0):
        slack = 0.006 * scale * max(1.0, cells.shape[1] / 2)
        if len(judged) and (np.abs(judged - scale) <= slack).mean() > 0.95:
            return scale
    return None


def _top(cells: NDArray[np.float64]) -> float:
    """The end of a scale that goes to 1, 10 or 100."""
    return next((top for top in (1.0, 10.0) if cells.max() <= top), 100.0)


def _share_words(table: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns whose values occur in one another, as the answers of several people do."""
    held = {
        name: table[name].drop_nulls().cast(pl.String).str.strip_chars().value_counts(name="times")
        for name in columns
    }
    kept = list(columns)
    while len(kept) > 1:
        words = pl.concat([held[name].select(pl.first().alias("word")) for name in kept])
        shared = words["word"].value_counts().filter(pl.col("count") > 1)["word"]
        fits = []
        for name in kept:
            counts = held[name].rename({held[name].columns[0]: "word"})
            total = int(counts["times"].sum())
            common = int(counts.filter(pl.col("word").is_in(shared.to_list()))["times"].sum())
            if total and common >= 0.5 * total:
                fits.append(name)
        if fits == kept:
            return kept
        kept = fits
    return []


def _same_words(table: pl.DataFrame, columns: Sequence[str]) -> bool:
    return len(_share_words(table, columns)) == len(columns)


def _is_marked(values: pl.Series) -> bool:
    if values.dtype != pl.String:
        return False
    words = values.drop_nulls().str.strip_chars().str.to_lowercase().unique().to_list()
    return bool(words) and set(words) <= MARKS.keys()


def _is_numeric(values: pl.Series) -> bool:
    known = values.drop_nulls()
    return bool(len(known)) and to_numbers(known).null_count() == 0


def _matrix(table: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.float64]:
    numbers = [to_numbers(table[name]).fill_null(np.nan).to_numpy() for name in columns]
    return np.column_stack(numbers)  # (rows, columns)


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name[:40]) for name in names[:most]) + more


# Turn the times of a table into ISO 8601, and its durations into seconds.


SLOWEST = 100.0
"""Reaction times of which half are above this are thousandths of a second."""

_ISO = (
    r"^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s?(Z|[+-]\d\d:?\d\d)?)?$"
)
_EPOCHS = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e3), (1e14, 1e17, 1e6))  # from, to, per second
_CLOCK = r"^(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:[.,]\d+)?)$"


def to_iso(values: pl.Series) -> pl.Series:
    """Times as ISO 8601: ISO texts stay, numbers are seconds, thousandths or millionths since 1970.

    Dates such as 9.3.2021 and 03/09/2021 are read where some row shows which part is the day;
    anything else is null.

    >>> to_iso(pl.Series(["2021-03-09 22:16", "1706500000", "1706500000000", "soon"])).to_list()
    ['2021-03-09T22:16', '2024-01-29T03:46:40+00:00', '2024-01-29T03:46:40+00:00', None]
    """
    if values.dtype == pl.Date:
        return values.cast(pl.String)
    if values.dtype == pl.Datetime:
        return values.dt.to_string("iso:strict")
    texts = values.cast(pl.String, strict=False).str.strip_chars()
    iso = texts.set(~texts.str.contains(_ISO).fill_null(False), None)
    iso = iso.str.replace(r"^(\d{4}-\d\d-\d\d) ", "${1}T")
    numbers = texts.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    for low, high, per_second in _EPOCHS:
        fits = (numbers >= low) & (numbers < high)
        if fits.any():
            micros = (numbers.set(~fits.fill_null(False), None) * (1e6 / per_second)).round()
            moments = micros.cast(pl.Int64).cast(pl.Datetime("us"))
            iso = iso.fill_null(_in_utc(moments))
    return iso.fill_null(_from_calendar(texts)) if iso.null_count() > texts.null_count() else iso


def to_seconds(values: pl.Series, name: str) -> tuple[pl.Series, str]:
    """Durations in seconds, and the unit they were in; null where there is no duration.

    A name that says ``ms`` decides. Reaction times (``rt``, ``latency`` …) of which half are
    above 100 are taken for milliseconds too. 00:01:30 is 90 seconds.

    >>> found, unit = to_seconds(pl.Series(["1500", "900"]), "rt_ms")
    >>> found.to_list(), unit
    ([1.5, 0.9], 'milliseconds')
    """
    numbers = to_numbers(values)
    if values.dtype == pl.String:
        parts = values.str.strip_chars().str.extract_groups(_CLOCK).struct
        hours = parts.field("1").cast(pl.Float64, strict=False).fill_null(0)
        minutes = parts.field("2").cast(pl.Float64, strict=False)
        rest = parts.field("3").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        numbers = numbers.fill_null(hours * 3600 + minutes * 60 + rest)
    numbers = numbers.set(~(numbers.is_finite() & (numbers >= 0)).fill_null(False), None)
    middle = numbers.median()
    quick = any(word in name.casefold() for word in ("rt", "reaction", "response", "latency"))
    slow = isinstance(middle, float) and middle > SLOWEST and quick
    if is_milliseconds(name) or slow:
        return (numbers / 1000).round(6), "milliseconds"
    return numbers, "seconds"


def _in_utc(moments: pl.Series) -> pl.Series:
    return moments.dt.to_string("%Y-%m-%dT%H:%M:%S%.f").str.replace(r"\.0*$", "") + "+00:00"


def _from_calendar(texts: pl.Series) -> pl.Series:
    """Dates with the year at the end, if one of them tells days from months."""
    parts = texts.str.extract_groups(
        r"^(\d{1,2})[./](\d{1,2})[./](\d{4})(?:[ T,]+(\d{1,2}:\d\d(?::\d\d)?))?$"
    ).struct
    first = parts.field("1").cast(pl.Int64, strict=False)
    second = parts.field("2").cast(pl.Int64, strict=False)
    nothing = pl.repeat(None, len(texts), dtype=pl.String, eager=True)
    dotted = bool(texts.drop_nulls().str.contains(r"^\d{1,2}\.\d").any())
    day_first, month_first = bool((first > 12).any()) or dotted, bool((second > 12).any())
    if day_first == month_first:  # neither is told, or both are claimed
        return nothing
    day, month = (first, second) if day_first else (second, first)
    date = parts.field("3") + "-" + _two(month) + "-" + _two(day)
    time = parts.field("4").str.replace(r"^(\d:)", "0$1")
    both = (date + "T" + time).fill_null(date)
    return both.set(~both.str.contains(_ISO).fill_null(False), None)


def _two(numbers: pl.Series) -> pl.Series:
    return numbers.cast(pl.String).str.zfill(2)
