"""The page that annotators see, filled in for one study; everything else it asks the server for."""

import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from sfumato.elicit.study import ElicitStudy

__all__ = ["STATIC", "TEMPLATES", "page_html", "texts_file"]

STATIC = Path(__file__).parent / "static"
"""Style, scripts and texts; served as they are."""
TEMPLATES = Path(__file__).parent / "templates"
SHARED_SCRIPTS = ("api", "dom", "texts", "screens", "trial", "record")
"""Named in the page, so that the browser fetches them at once and not one after the other."""


def page_html(study: ElicitStudy) -> str:
    """The page of a study. Settings stand in it as text only, whatever they hold (S5)."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    words = json.loads(texts_file(study.language).read_text(encoding="utf-8"))
    return environment.get_template("page.html.j2").render(
        study=study, scripts=[*SHARED_SCRIPTS, f"forms/{study.form}"], words=words
    )


def texts_file(language: str) -> Path:
    """The words of the page in a language, or in English where there are none.

    >>> texts_file("de-AT").name, texts_file("tlh").name
    ('de.json', 'en.json')
    """
    known = {path.stem: path for path in (STATIC / "texts").glob("*.json")}
    return known.get(language) or known.get(language.partition("-")[0]) or known["en"]
