"""Get the answers of a study out: as judgments, or in the shape of another tool's files."""

from sfumato.elicit.export.answers import BESIDE, AnswerExport, collect_answers
from sfumato.elicit.export.files import SHAPES, export, write_judgments

__all__ = ["BESIDE", "SHAPES", "AnswerExport", "collect_answers", "export", "write_judgments"]
