"""Look at the names of classes: join those that are one, point out those that may be.

A class spelled two ways is two classes to every number that follows. Nothing is joined
unasked; what may belong together is named, with how often each spelling was given.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats.reading import ReadOptions, open_text
from sfumato.judgments.formats.texts import find_delimiter
from sfumato.judgments.judgments import Judgments, Remark
from sfumato.judgments.question import Question
from sfumato.names import find, sorted_names
from sfumato.provenance import Step

NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)

LONG_WORD = 5
"""Shorter words that differ in one letter are different words: cat and car."""

MOST_PAIRS = 10
"""So many pairs of similar classes are named one by one."""


@dataclass(frozen=True)
class Similar:
    """Two classes that may be one; the first was given more often."""

    often: str
    rare: str
    answers: tuple[int, int]
    """How often each was given."""


def read_renames(path: Path) -> dict[str, str]:
    """Classes and what they are to be called, from lines ``a=b`` or a table of two columns."""
    with open_text(path) as file:
        lines = [line.strip() for line in file if line.strip()]
    split = "=" if all("=" in line for line in lines) else find_delimiter("\n".join(lines))
    renames: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        old, new = (part.strip().strip('"') for part in line.partition(split)[::2])
        if not old or not new:
            raise DataError(
                f"{path.name}, line {number}: expected a class and its new name, as in "
                f"eight=Eight; found {line!r}."
            )
        if renames.setdefault(old, new) != new:
            raise DataError(
                f"{path.name}, line {number}: {old!r} is to be called {new!r} here and "
                f"{renames[old]!r} above."
            )
    return renames


def joined_classes(judgments: Judgments, options: ReadOptions) -> Judgments:
    """The judgments with classes renamed and folded as the options say."""
    if not options.rename and not options.casefold:
        return judgments
    counts = class_counts(judgments)
    renames = _renames(judgments.question, counts, options)
    if not renames:
        return judgments
    answer, gold = judgments.coded.coded("answer"), judgments.coded.coded("gold")
    marks = judgments.question.kind == "yes-no-unsure"
    new = [_renamed_text(text, renames, only_names=marks) for text in answer.values]
    renamed = pl.Series(new, dtype=pl.String)
    coded = judgments.coded.change(answer=answer.map(renamed))
    if "gold" in coded.columns:
        coded = coded.change(gold=gold.map(gold.values.replace(renames)))
    touched = int(answer.times()[(renamed != answer.values).to_numpy()].sum())
    classes = _classes(judgments.question, renames, options, judgments)
    remark = Remark(
        "classes renamed", touched, ", ".join(f"{a} → {b}" for a, b in renames.items())[:200]
    )
    step = Step("rename classes", {"renames": dict(renames), "answers": touched})
    return replace(
        judgments,
        question=replace(judgments.question, classes=classes),
        coded=coded,
        remarks=(*judgments.remarks, remark),
        provenance=(*judgments.provenance, step),
    )


def class_counts(judgments: Judgments) -> dict[str, int]:
    """How many answers name each class: choose it, give it mass, list it or say yes to it."""
    times = np.bincount(judgments.statements.index, minlength=len(judgments.statements.mass))
    times = times @ named_classes(judgments)
    return dict(zip(judgments.question.classes, times.tolist(), strict=True))


def named_classes(judgments: Judgments) -> NDArray[np.int64]:
    """1 where a distinct answer names a class, (answers, classes)."""
    stated = judgments.statements
    named = (stated.mass > 0) | (stated.rank > 0) | stated.unsure
    return named.astype(np.int64)


def look_at_classes(question: Question, counts: Mapping[str, int]) -> list[Remark]:
    """Remarks on classes that are spelled almost alike, and on numbers without their order."""
    pairs = similar_classes(counts)
    remarks = [
        Remark(
            f"classes {pair.often!r} and {pair.rare!r} may be one, spelled in two ways",
            min(pair.answers),
            f"{pair.answers[0]:,} and {pair.answers[1]:,} answers",
        )
        for pair in pairs[:MOST_PAIRS]
    ]
    if len(pairs) > MOST_PAIRS:
        remarks.append(Remark("further pairs of classes that may be one", len(pairs) - MOST_PAIRS))
    classes = question.classes
    numbers = [name for name in classes if re.fullmatch(r"-?\d+([.,]\d+)?", name)]
    if len(numbers) == len(classes) > 2 and question.kind == "choose-one":
        ends = f"{classes[0]} to {classes[-1]}"
        remarks.append(
            Remark(f"classes are numbers ({ends}), read without their order", len(classes))
        )
    return remarks


def similar_classes(counts: Mapping[str, int]) -> list[Similar]:
    """Pairs of classes that differ in capitals, signs, a letter, or as 9 and nine do.

    ``counts`` says how many answers name each class.

    >>> similar_classes({"Eight": 2, "eight": 1, "9": 0})
    [Similar(often='Eight', rare='eight', answers=(2, 1))]
    """
    alike: dict[tuple[str, str], None] = {}
    groups: dict[str, list[str]] = defaultdict(list)
    for name in counts:
        groups[_plain(name)].append(name)
    for names in groups.values():
        alike |= dict.fromkeys(combinations(names, 2))
    for first, second in _one_letter_apart(list(groups)):
        alike[groups[first][0], groups[second][0]] = None
    pairs = []
    for first, second in alike:
        often, rare = sorted((first, second), key=lambda name: -counts[name])
        pairs.append(Similar(often, rare, (counts[often], counts[rare])))
    return pairs


def _plain(name: str) -> str:
    """A name without capitals and signs, numbers as digits."""
    words = re.sub(r"[^\w+-]|_|(?<=\w)-(?=\w)", " ", name.casefold()).split()
    if not words:
        return name
    return "".join(str(NUMBER_WORDS.index(w)) if w in NUMBER_WORDS else w for w in words)


def _one_letter_apart(names: Sequence[str]) -> list[tuple[str, str]]:
    """Long words that differ in one letter, not being the last: model a and model b are two."""
    long = [name for name in names if len(name) >= LONG_WORD and name.isalpha()]
    shorter: dict[str, set[str]] = defaultdict(set)
    for name in long:
        shorter[name].add(name)
        for place in range(len(name)):
            shorter[name[:place] + name[place + 1 :]].add(name)
    found: dict[tuple[str, str], None] = {}
    for group in shorter.values():
        for first, second in combinations(sorted(group), 2):
            if abs(len(first) - len(second)) <= 1 and _is_typo(first, second):
                found[first, second] = None
    return list(found)


def _is_typo(first: str, second: str) -> bool:
    if len(first) != len(second):
        return True
    differ = [place for place, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    swapped = (
        len(differ) == 2
        and differ[1] == differ[0] + 1
        and first[differ[0]] == second[differ[1]]
        and first[differ[1]] == second[differ[0]]
    )
    return swapped or (len(differ) == 1 and 0 < differ[0] < len(first) - 1)


def _renames(question: Question, counts: Mapping[str, int], options: ReadOptions) -> dict[str, str]:
    """Each class that changes its name, and the new one."""
    known = dict.fromkeys(question.classes)
    for old in options.rename:
        try:
            find(known, old, what="class")
        except UnknownName as error:
            raise DataError(f"{error} It cannot be renamed.") from None
    new = {name: options.rename.get(name, name) for name in question.classes}
    if options.casefold:
        times: Counter[str] = Counter()
        for name in question.classes:
            times[new[name]] += counts[name]
        wanted = set(options.classes or ()) | set(options.rename.values())
        # Of spellings that differ in capitals, the one the user wrote stands, then the commonest.
        best: dict[str, str] = {}
        for name in sorted(times, key=lambda one: (one not in wanted, -times[one], one)):
            best.setdefault(name.casefold(), name)
        for name in options.classes or ():
            best[name.casefold()] = name
        new = {name: best[called.casefold()] for name, called in new.items()}
    return {old: called for old, called in new.items() if old != called}


def _classes(
    question: Question, renames: Mapping[str, str], options: ReadOptions, judgments: Judgments
) -> tuple[str, ...]:
    left = list(dict.fromkeys(renames.get(name, name) for name in question.classes))
    if options.classes is None:
        kept = [name for name in question.classes if name not in renames]
        natural = list(question.classes) == sorted_names(question.classes)
        names = tuple(sorted_names(left)) if natural else tuple(dict.fromkeys([*kept, *left]))
    else:
        names = tuple(options.classes)
        for name in left:
            find(dict.fromkeys(names), name, what="class")
    if len(names) < 2:
        raise DataError(f"After renaming only the class {names[0]!r} is left; two are needed.")
    return names


def _renamed_text(text: str, renames: Mapping[str, str], *, only_names: bool) -> str:
    renamed = _renamed(json.loads(text), renames, only_names)
    return json.dumps(renamed, ensure_ascii=False)


def _renamed(value: Any, renames: Mapping[str, str], only_names: bool) -> Any:
    match value:
        case str():
            return value if only_names else renames.get(value, value)
        case list():
            return list(dict.fromkeys(_renamed(one, renames, only_names) for one in value))
        case dict():
            joined: dict[str, Any] = {}
            for name, held in value.items():
                called, inner = renames.get(name, name), _renamed(held, renames, only_names)
                if called in joined and isinstance(joined[called], int | float):
                    inner = joined[called] + inner
                elif called in joined and joined[called] != inner:
                    raise DataError(
                        f"One answer says {joined[called]!r} and {inner!r} about classes that are "
                        f"to be one, {called!r}; they cannot be joined."
                    )
                joined[called] = inner
            return joined
        case _:
            return value
