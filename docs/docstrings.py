"""Turn docstrings as we write them into Markdown: examples become code that is coloured.

An extension of griffe, which reads the docstrings for the reference.
"""

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Fences ``>>>`` examples."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of whatever was found."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring with each of its examples in a block.

    >>> print(fenced("Adds.\\n\\n>>> 1 + 1\\n2"))
    Adds.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(">>> ") and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.replace("<BLANKLINE>", "") if inside else line)
    return "\n".join([*lines, "```"] if inside else lines)
