"""A plan as a folder: the advice as JSON, a page that explains it, and figures for the task."""

from sfumato.studies.planned.asked import Planned
from sfumato.studies.planned.written import plan_folder, write_plan

__all__ = ["Planned", "plan_folder", "write_plan"]
