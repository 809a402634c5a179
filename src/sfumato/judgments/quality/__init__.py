"""Judge the quality of answers: measures, named rules, and the ledger of what they drop."""

from sfumato.judgments.quality.ledger import Ledger, apply_rules, refuse_pay, what_if
from sfumato.judgments.quality.rules import (
    RULES,
    Accuracy,
    Findings,
    Repeats,
    Rule,
    Times,
    accuracy,
    copies,
    repeats,
    reported,
    rule_with,
    times,
)

__all__ = [
    "RULES",
    "Accuracy",
    "Findings",
    "Ledger",
    "Repeats",
    "Rule",
    "Times",
    "accuracy",
    "apply_rules",
    "copies",
    "refuse_pay",
    "repeats",
    "reported",
    "rule_with",
    "times",
    "what_if",
]
