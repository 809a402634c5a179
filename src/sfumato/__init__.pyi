"""The public names with their types; ``__init__.py`` loads them when they are first used."""

from sfumato.data import load as load
from sfumato.errors import DataError as DataError
from sfumato.errors import MissingPackage as MissingPackage
from sfumato.errors import SfumatoError as SfumatoError
from sfumato.errors import UnknownName as UnknownName
from sfumato.evaluation.score import compare as compare
from sfumato.judgments.formats import read as read
from sfumato.judgments.judgments import Judgments as Judgments
from sfumato.judgments.question import Question as Question
from sfumato.labels.labelset import CrowdLabels as CrowdLabels
from sfumato.labels.labelset import LabelSet as LabelSet
from sfumato.labels.verbs import aggregate as aggregate
from sfumato.labels.verbs import describe as describe
from sfumato.labels.verbs import label as label
from sfumato.labels.verbs import simulate as simulate
from sfumato.labels.verbs import to_labels as read_labels
from sfumato.labels.verbs import write as write
from sfumato.planning.plans import plan as plan
from sfumato.scores import Estimates as Estimates
from sfumato.studies.run import Run as Run
from sfumato.studies.study import Study as Study
from sfumato.studies.verbs import run as run

__version__: str
__all__ = [
    "CrowdLabels",
    "DataError",
    "Estimates",
    "Judgments",
    "LabelSet",
    "MissingPackage",
    "Question",
    "Run",
    "SfumatoError",
    "Study",
    "UnknownName",
    "__version__",
    "aggregate",
    "compare",
    "describe",
    "label",
    "load",
    "plan",
    "read",
    "read_labels",
    "run",
    "simulate",
    "write",
]
