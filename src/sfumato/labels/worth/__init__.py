"""How many people is it worth? What evidence about items tells, in the unit of people."""

from sfumato.labels.worth.result import Worth, worth

__all__ = ["Worth", "worth"]
