"""Turn tables of results into drawings, sentences and one page that needs nothing else."""

from sfumato.report import figures
from sfumato.report.drawing import Basis, Drawing, save
from sfumato.report.measure import Measure, Measures
from sfumato.report.page import Page, Section, Text, render, write
from sfumato.report.summary import Finding, summarise
from sfumato.report.tables import How, Table, differences_shown, score_matrix, scores_shown

__all__ = [
    "Basis",
    "Drawing",
    "Finding",
    "How",
    "Measure",
    "Measures",
    "Page",
    "Section",
    "Table",
    "Text",
    "differences_shown",
    "figures",
    "render",
    "save",
    "score_matrix",
    "scores_shown",
    "summarise",
    "write",
]
