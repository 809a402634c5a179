"""Judge the quality of answers: measures, named rules, and the ledger of what they drop."""

from sfumato.judgments.quality.ledger import Ledger, apply_rules, refuse_pay, what_if
from sfumato.judgments.quality.rules import (
    RULES,
    Accuracy,
    Repeats,
    Rule,
    RuleFindings,
    Times,
    accuracy,
    copies,
    repeats,
    rule_by_hand,
    rule_with,
    times,
)

__all__ = [
    "RULES",
    "Accuracy",
    "Ledger",
    "Repeats",
    "Rule",
    "RuleFindings",
    "Times",
    "accuracy",
    "apply_rules",
    "copies",
    "refuse_pay",
    "repeats",
    "rule_by_hand",
    "rule_with",
    "times",
    "what_if",
]
