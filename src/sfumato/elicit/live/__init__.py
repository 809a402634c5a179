"""What is known about a running collection right now, kept up to date in memory."""

from sfumato.elicit.live.live import Live
from sfumato.elicit.live.measures import Agreed, Measures, Reading, Told

__all__ = ["Agreed", "Live", "Measures", "Reading", "Told"]
