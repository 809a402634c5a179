"""The two small sets of answers of crowd-kit's own tests (version 1.4, Apache-2.0)."""

from typing import Any

import numpy as np

from sfumato.labels.aggregate import Aggregation, aggregate
from sfumato.labels.votes import Votes, votes_of_columns

TOY = {  # the answers of each person about t1 … t5, "-" for none
    "w1": "nyyyy",
    "w2": "yynyn",
    "w3": "-ynyn",
    "w4": "ynyyn",
    "w5": "nnnyn",
}
TOY_TRUTH = {"t1": "yes", "t2": "yes", "t3": "no", "t4": "yes", "t5": "no"}
WORDS = {"y": "yes", "n": "no", "c": "chicken", "g": "goose", "p": "parrot"}
SIMPLE = {  # about the items 0 … 9: three good people, one who always says parrot, one careless
    "good1": "--gp-pgg-p",
    "good2": "cc-pc-g-p-",
    "good3": "-cg--p-g-p",
    "good4": "ccg---g---",
    "parrot": "p-ppp--pp-",
    "careless": "-g-pgp--pp",
}
SIMPLE_TRUTH = dict(zip("0123456789", "ccgpcpggpp", strict=True))


def votes_from(answers: dict[str, str], first: str = "", start: int = 0) -> Votes:
    rows = [
        (f"{first}{place}", who, WORDS[said])
        for who, text in answers.items()
        for place, said in enumerate(text, start=start)
        if said != "-"
    ]
    return votes_of_columns(*map(list, zip(*rows, strict=True)))


def toy() -> Votes:
    return votes_from(TOY, "t", 1)


def simple() -> Votes:
    return votes_from(SIMPLE)


def run(votes: Votes, name: str, **options: Any) -> Aggregation:
    return aggregate(votes, name, rng=np.random.default_rng(0), **options)


def tops(result: Aggregation) -> dict[str, str]:
    return dict(zip(result.labels.items, result.labels.top(), strict=True))
