"""Find out from its name and values what a column of somebody's table is.

A column is the item, the annotator, the answer, the time at which or the seconds in which it
was given. The user says which, or the name does; two columns that fit equally well are an
error that names both.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, get_args

import polars as pl

from sfumato.judgments.formats.reading import ReadOptions, UnclearSource

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
