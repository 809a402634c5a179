"""The public names with their types; ``__init__.py`` loads them when they are first used."""

from sfumato.data import load_set as load
from sfumato.elicit.notebook import ask as ask
from sfumato.errors import DataError as DataError
from sfumato.errors import MissingPackage as MissingPackage
from sfumato.errors import SfumatoError as SfumatoError
from sfumato.errors import UnknownName as UnknownName
from sfumato.evaluation.coverage import cover as cover
from sfumato.evaluation.models import compare as compare
from sfumato.evaluation.models import evaluate as evaluate
from sfumato.evaluation.scorers import soft_scorer as soft_scorer
from sfumato.items.items import Items as Items
from sfumato.items.load import load_items as load_items
from sfumato.judgments.formats import read as read
from sfumato.judgments.judgments import Judgments as Judgments
from sfumato.judgments.question import Question as Question
from sfumato.labels.check import check as check
from sfumato.labels.labelset import CrowdLabels as CrowdLabels
from sfumato.labels.labelset import LabelSet as LabelSet
from sfumato.labels.multilabel import MultiLabelSet as MultiLabelSet
from sfumato.labels.verbs import aggregate as aggregate
from sfumato.labels.verbs import describe as describe
from sfumato.labels.verbs import label as label
from sfumato.labels.verbs import simulate as simulate
from sfumato.labels.verbs import to_labels as read_labels
from sfumato.labels.verbs import write as write
from sfumato.labels.worth import Worth as Worth
from sfumato.labels.worth import worth as worth
from sfumato.learn.encoders import encode as encode
from sfumato.learn.model import Model as Model
from sfumato.learn.model import train as train
from sfumato.learn.soft_targets import SoftTargets as SoftTargets
from sfumato.learn.soft_torch import SoftCrossEntropy as SoftCrossEntropy
from sfumato.learn.soft_torch import soft_dataset as soft_dataset
from sfumato.planning.plans import plan as plan
from sfumato.scores import Estimates as Estimates
from sfumato.studies.run import Run as Run
from sfumato.studies.run import audit as audit
from sfumato.studies.run import report as report
from sfumato.studies.run import run as run
from sfumato.studies.study import Study as Study
from sfumato.viewing.server import view as view

__version__: str
__all__ = [
    "CrowdLabels",
    "DataError",
    "Estimates",
    "Items",
    "Judgments",
    "LabelSet",
    "MissingPackage",
    "Model",
    "MultiLabelSet",
    "Question",
    "Run",
    "SfumatoError",
    "SoftCrossEntropy",
    "SoftTargets",
    "Study",
    "UnknownName",
    "Worth",
    "__version__",
    "aggregate",
    "ask",
    "audit",
    "check",
    "compare",
    "cover",
    "describe",
    "encode",
    "evaluate",
    "label",
    "load",
    "load_items",
    "plan",
    "read",
    "read_labels",
    "report",
    "run",
    "simulate",
    "soft_dataset",
    "soft_scorer",
    "train",
    "view",
    "worth",
    "write",
]
