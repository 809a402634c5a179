"""What paper 5 claims, claim by claim, with its numbers and the question that answers it here."""

from sfumato.studies import answers, map_answers, paper5
from sfumato.studies.answers import Answer, Claim
from sfumato.studies.paper5 import ACCURACY, BRIER, KL
from sfumato.studies.verdicts import Claimed

__all__ = ["PAPER_5"]

LOST = "values lost in our copy"
NO_NUMBER = "no number given"
UNANIMOUS, DISPUTED = 0, 1
"""Columns of the paper's tables: NoHLV and HLV (S4-43)."""

BETWEEN = (
    "How much it can be depends on how many modes re-annotation moves: 3.4 % of the paper's MNIST "
    "images, 33.2 % of its synthetic ones (S4-T1)."
)


def _pair(
    metric: str, first: str, second: str, stratum: str, claimed: Claimed
) -> tuple[Answer, str]:
    """A difference here, and the same difference in the paper."""
    table = {"kl": KL, "brier": BRIER, "accuracy": ACCURACY}[metric]
    column = {"unanimous": UNANIMOUS, "disputed": DISPUTED}[stratum]
    return (
        answers.difference(metric, first, second, stratum, claimed=claimed),
        paper5.apart_shown(table, first, second, column),
    )


PAPER_5: tuple[Claim, ...] = (
    Claim(
        "section 3.3, table 3",
        "On disputed items, KL(people‖model) is lower with soft labels than with the majority vote "
        "(soft - majority).",
        *_pair("kl", "soft", "majority", "disputed", "lower"),
    ),
    Claim(
        "section 3.3, table 3",
        "On disputed items, KL(people‖model) is lower with soft than with original labels "
        "(soft - original).",
        *_pair("kl", "soft", "original", "disputed", "lower"),
    ),
    Claim(
        "table 3",
        "On disputed items, KL(people‖model) is lower with the majority vote than with original "
        "labels (majority - original).",
        *_pair("kl", "majority", "original", "disputed", "lower"),
    ),
    Claim(
        "section 3.3, table 3",
        "On unanimous items, soft labels keep a KL(people‖model) comparable to the majority vote's "
        "(soft - majority).",
        answers.difference(
            "kl",
            "soft",
            "majority",
            "unanimous",
            claimed=paper5.largest_apart(KL["MNIST"], "soft", "majority", UNANIMOUS),
        ),
        paper5.apart_shown(KL, "soft", "majority", UNANIMOUS),
        "Comparable means no further apart than the paper's own MNIST rows, 0.036.",
    ),
    Claim(
        "section 3.3, appendix F.2, table 10",
        "On disputed items, the Brier score is lower with soft labels than with the majority vote "
        "(soft - majority).",
        *_pair("brier", "soft", "majority", "disputed", "lower"),
    ),
    Claim(
        "section 3.3, appendix F.2, table 10",
        "On disputed items, the Brier score is lower with soft than with original labels "
        "(soft - original).",
        *_pair("brier", "soft", "original", "disputed", "lower"),
    ),
    Claim(
        "section 3.3, table 2",
        "On disputed items, accuracy on people's labels is higher with soft labels than with the "
        "majority vote (soft - majority).",
        *_pair("accuracy", "soft", "majority", "disputed", "higher"),
        "The paper calls it significant for the two larger networks; its test is not named.",
    ),
    Claim(
        "section 3.3, table 2",
        "On unanimous items, accuracy is modestly higher with soft labels than with the majority "
        "vote (soft - majority).",
        *_pair("accuracy", "soft", "majority", "unanimous", "higher"),
    ),
    Claim(
        "section 3.3, table 2",
        "On disputed items, accuracy on people's labels is higher with the "
        "majority vote than with original labels (majority - original).",
        *_pair("accuracy", "majority", "original", "disputed", "higher"),
        f"Claimed for the synthetic digits; comparable on MNIST. {BETWEEN}",
    ),
    Claim(
        "abstract, section 1, table 9",
        "Most of the accuracy that soft labels gain over original ones, on people's labels, is "
        "the shift of modes: the majority vote has it too.",
        answers.mostly_by_vote(),
        f"in all {paper5.overall_shown('soft', 'original')}; by the vote "
        f"{paper5.overall_shown('majority', 'original')}",
        f"The paper says 'a substantial share' and gives no percentage; more than half is our "
        f"reading. {BETWEEN}",
    ),
    *(
        Claim(
            "section 3.3, table 9",
            f"A model that learnt from {target} is more accurate on people's labels than on "
            "the original ones (people's - original).",
            answers.relabelled(arm),
            paper5.relabelled_shown(arm),
            "Claimed for MNIST, whatever the target.",
        )
        for arm, target in (
            ("original", "original labels"),
            ("majority", "the majority vote"),
            ("soft", "soft labels"),
        )
    ),
    *(
        Claim(
            "section 3.4",
            f"Unanimous items lie mostly in the easy region of the data map ({arm}).",
            map_answers.region_share(arm, "unanimous", "easy"),
            NO_NUMBER,
            "The paper's bounds of the regions are lost; these are ours (easy from confidence 0.75 "
            "up, variability to 0.2).",
        )
        for arm in ("majority", "soft")
    ),
    *(
        Claim(
            "section 3.4",
            f"More {more} than {less} items are ambiguous or hard ({arm}).",
            map_answers.region_gap(arm, more, less),
            NO_NUMBER,
            note,
        )
        for more, less, note in (
            ("disputed", "unanimous", ""),
            (
                "most disputed",
                "least disputed",
                "Thirds of the disputed items by people's entropy: with many people hardly an item "
                "is unanimous.",
            ),
        )
        for arm in ("majority", "soft")
    ),
    *(
        Claim(
            "section 3.4",
            f"On {stratum} items, soft labels lower the confidence in the target class "
            "(majority to soft).",
            map_answers.map_change("confidence", stratum, claimed="lower"),
            LOST,
            "The target class is the same; confidence follows the mass that people left on it.",
        )
        for stratum in ("unanimous", "disputed")
    ),
    Claim(
        "abstract, section 3.4",
        "On disputed items, soft labels lower the variability over seeds and late epochs: "
        "convergence is more stable across runs (majority to soft).",
        map_answers.map_change("variability", "disputed", claimed="lower"),
        NO_NUMBER,
    ),
    Claim(
        "appendix F.3",
        f"In early epochs (to the {map_answers.EARLY}th), beliefs move less from epoch to epoch "
        "with soft labels than with the majority vote (Jensen-Shannon, bits).",
        map_answers.movement(claimed="lower"),
        NO_NUMBER,
        "All training items, not by stratum.",
    ),
    *(
        Claim(
            "section 3.4, appendix F.3",
            f"Learnt from {target}, beliefs of late epochs differ more between seeds than "
            "from epoch to epoch: variability is not training that has not ended.",
            map_answers.settled(arm),
            NO_NUMBER,
            "Said of two targets, whose names are lost in our copy; Jensen-Shannon, in bits, over "
            "the last five epochs, all training items. The plateau schedule has lowered the "
            "learning rate a hundredfold or more by then, which alone ends movement.",
        )
        for arm, target in (("soft", "soft labels"), ("majority", "the majority vote"))
    ),
    *(
        Claim(
            "section 3.4, table 4",
            f"{column.capitalize()} of a model that learnt from {target} falls with people's "
            "uncertainty (Spearman)."
            if claimed == "lower"
            else f"{column.capitalize()} of a model that learnt from {target} rises with people's "
            "uncertainty (Spearman).",
            map_answers.correlation(arm, column, claimed=claimed),
            LOST,
            "People's uncertainty is the entropy of their votes: nobody could say unsure.",
        )
        for arm, target in (("soft", "soft labels"), ("majority", "the majority vote"))
        for column, claimed in map_answers.EXPECTED.items()
    ),
    *(
        Claim(
            "section 3.4, table 4",
            f"The correlation of {column} with people's uncertainty is stronger with soft labels "
            "than with the majority vote (soft - majority).",
            map_answers.stronger_correlation(column, claimed=claimed),
            LOST,
        )
        for column, claimed in map_answers.EXPECTED.items()
    ),
    *(
        Claim(
            "section 3.4, table 4",
            f"{column.capitalize()} of a model that learnt from synthetic labels is hardly "
            "correlated with people's uncertainty.",
            answers.only_shown(map_answers.correlation("smoothed", column, claimed=claimed)),
            LOST,
            "Not tested: no labels made by a model here. Shown is the nearest, original labels "
            "smoothed as much as people's are soft on average.",
        )
        for column, claimed in map_answers.EXPECTED.items()
    ),
    Claim(
        "section 3.3, table 2",
        "Models that learnt from synthetic labels lead on those and trail on people's.",
        None,
        "28 points ahead, 7 behind on disputed items",
        "Not tested: no labels made by a model here.",
    ),
)
