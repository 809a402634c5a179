"""What can be typed where an option takes a name: each with the sentence its table has about it."""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.names import find, load_name

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
