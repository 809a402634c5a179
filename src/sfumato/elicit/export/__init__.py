"""Get the answers of a study out: as judgments, or in the shape of another tool's files."""

from sfumato.elicit.export.answers import BESIDE, Exported, collected
from sfumato.elicit.export.files import SHAPES, export, write_judgments

__all__ = ["BESIDE", "SHAPES", "Exported", "collected", "export", "write_judgments"]
