"""Turn files and cells of tables into texts, and texts into what fits beside a number."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.items.pictures import FoundFiles
from sfumato.judgments.formats.texts import decode_text

ENDINGS = (".txt",)

LONGEST = 280
"""Letters of a text that are shown; the rest is cut."""

TEXT_NAMES = (
    "text", "sentence", "content", "body", "comment", "tweet", "question", "prompt", "premise",
    "hypothesis", "context", "statement", "response", "answer_a", "answer_b", "conversation",
    "dialogue", "messages",
)  # fmt: skip
"""What a column of texts is usually called."""

SPEAKERS = ("speaker", "role", "from", "author", "name")
SAID = ("text", "content", "value", "message", "utterance")
"""What the two parts of a turn are usually called."""


def read_texts(found: FoundFiles, path: Path) -> list[str]:
    """The text of every file, of any usual encoding."""
    return [decode_text(found.read(name), f"{name} in {path.name}").strip() for name in found.names]


def as_text(value: Any, where: str) -> str:
    r"""A cell as text; a conversation becomes one line per turn, after its speaker.

    >>> as_text([{"role": "user", "content": "Hi"}, {"role": "bot", "content": "Hello"}], "")
    'user: Hi\nbot: Hello'
    """
    match value:
        case None:
            return ""
        case str():
            return value
        case Mapping():
            return _turn(value, where)
        case Sequence():
            return "\n".join(as_text(turn, where) for turn in value)
        case _:
            return str(value)


def _turn(turn: Mapping[str, Any], where: str) -> str:
    speaker = next((turn[name] for name in SPEAKERS if turn.get(name) is not None), None)
    said = next((turn[name] for name in SAID if isinstance(turn.get(name), str)), None)
    if said is None:
        raise DataError(
            f"{where} holds a turn with {', '.join(turn)}; expected a speaker "
            f"({', '.join(SPEAKERS)}) and what was said ({', '.join(SAID)})."
        )
    return said if speaker is None else f"{speaker}: {said}"


def show_text(fields: Mapping[str, str], longest: int = LONGEST) -> str:
    """A text: several fields after their names, each cut to its share of the room.

    >>> show_text({"premise": "It rains.", "hypothesis": "It is wet."})
    'premise: It rains. · hypothesis: It is wet.'
    >>> show_text({"text": "much too long"}, longest=6)
    'much …'
    """
    told = {name: text for name, text in fields.items() if text.strip()}
    room = longest // max(len(told), 1)
    cut = {
        name: text if len(text) <= room else f"{text[: room - 1]}…" for name, text in told.items()
    }
    if len(fields) == 1:
        return "".join(cut.values())
    return " · ".join(f"{name}: {text}" for name, text in cut.items())
