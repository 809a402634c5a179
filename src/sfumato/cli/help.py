"""What ``--help`` prints: what goes in and comes out, an example, and the choices there are.

The texts are in ``help.toml``, the choices in the tables of the library; both are read only when a
command is asked for its help.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from textwrap import shorten
from typing import Any

from typer.core import TyperCommand, TyperGroup

from sfumato.names import find, load_name

NAME_WIDTH = 30
"""A longer name stands on a line of its own."""
PAPER = re.compile(r"\s*\((?:[SC]\d[\w-]*(?:,\s*)?)+\)")
"""The rows of papers that tables cite, which help nobody at a prompt."""


class CommandWithHelp(TyperCommand):
    """A command whose help has an example and lists its choices."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """The sentence, what goes in and comes out, then the examples."""
        super().format_help_text(ctx, formatter)
        entry = help_entry(_path(ctx))
        if "text" in entry:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(entry["text"].strip())
        if "examples" in entry:
            with formatter.section("Example"):
                for line in entry["examples"]:
                    for part in _broken(line, formatter.width - 2):
                        formatter.write(f"  {part}\n")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """After the options, what can be given for those that take a name."""

        super().format_epilog(ctx, formatter)
        for option, kind in help_entry(_path(ctx)).get("choices", {}).items():
            with formatter.section(f"Choices for {option}"):
                write_names(formatter, list_choices(kind))


class GroupWithHelp(TyperGroup):
    """Several commands under one name, each with its whole sentence."""

    def parts(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Names and sentences of the commands, by heading."""
        rows = [
            (name, self.commands[name].get_short_help_str(limit=200))
            for name in self.list_commands(ctx)
        ]
        return {"Commands": rows}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One list per heading, the sentences beneath each other."""
        parts = self.parts(ctx)
        width = max(len(name) for rows in parts.values() for name, _ in rows)
        for heading, rows in parts.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), about) for name, about in rows])


def write_names(formatter: Any, rows: list[tuple[str, str]]) -> None:
    """One line per name."""
    longest = min(max((len(name) for name, _ in rows), default=0), NAME_WIDTH)
    room = formatter.width - formatter.current_indent - longest - 2
    formatter.write_dl([(name, one_line(about, room)) for name, about in rows])


def one_line(about: str, width: int) -> str:
    """A sentence without the papers it cites; too long a one ends after a part, or with "…".

    >>> one_line("Votes over all votes (S0-06). No quality.", 40)
    'Votes over all votes. No quality.'
    >>> one_line("Votes over all votes (S0-06). No quality.", 25)
    'Votes over all votes'
    """
    text = PAPER.sub("", " ".join(about.split()))
    if len(text) <= width:
        return text
    parts = [match.start() for match in re.finditer(r"[.;] ", text) if match.start() <= width]
    return text[: parts[-1]] if parts else shorten(text, width, placeholder=" …")


def help_entry(path: str) -> dict[str, Any]:
    """The texts of a command such as ``label`` or ``elicit new``; empty if there are none."""
    return help_texts().get(path, {})


@cache
def help_texts() -> dict[str, dict[str, Any]]:
    """Everything in ``help.toml``."""
    text = files("sfumato.cli").joinpath("help.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _path(ctx: Any) -> str:
    """The words that were typed after the program's name."""
    names: list[str] = []
    while ctx.parent is not None:
        names.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    return " ".join(names)


def _broken(line: str, width: int) -> list[str]:
    """A command over several lines, as a shell takes it; never within a word."""
    lines, current = [], ""
    for word in line.split(" "):
        if current and len(current) + len(word) + 3 > width:
            lines.append(f"{current} \\")
            current = f"    {word}"
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current]


# What can be typed where an option takes a name: each with the sentence its table has about it.


Rows = list[tuple[str, str]]


def list_choices(kind: str) -> Rows:
    """Names and sentences of a kind of choice, such as ``recipes``."""
    return find(CHOICES, kind, what="kind of choice")()


def _about(target: str) -> Callable[[], Rows]:
    """The entries of a table that have an ``about``."""

    def rows() -> Rows:
        table: Mapping[str, Any] = load_name(target)
        return [(name, entry.about) for name, entry in table.items()]

    return rows


def _written_formats() -> Rows:
    table: Mapping[str, Any] = load_name("sfumato.judgments.formats:FORMATS")
    return [(name, entry.about) for name, entry in table.items() if entry.write is not None]


def _metrics() -> Rows:
    from sfumato.evaluation.metrics import METRICS
    from sfumato.scores import metric_words

    return [(name, metric_words(name).meaning) for name in METRICS]


def _studies() -> Rows:
    from sfumato.studies.study import read_study, shipped_names

    return [(name, read_study(name).title) for name in shipped_names()]


CHOICES: dict[str, Callable[[], Rows]] = {
    "aggregators": _about("sfumato.labels.aggregate:AGGREGATORS"),
    "datasets": _about("sfumato.data.registry:DATASETS"),
    "formats": _about("sfumato.judgments.formats:FORMATS"),
    "forms": _about("sfumato.planning.information:FORMS"),
    "metrics": _metrics,
    "networks": _about("sfumato.learn.networks:NETWORKS"),
    "presets": _about("sfumato.elicit.design.presets:PRESETS"),
    "questions": _about("sfumato.judgments.question:QUESTIONS"),
    "recipes": _about("sfumato.labels.build:RECIPES"),
    "rules": _about("sfumato.judgments.quality:RULES"),
    "simulators": _about("sfumato.labels.simulate:SIMULATORS"),
    "studies": _studies,
    "written formats": _written_formats,
}
"""The tables of names that commands take."""
