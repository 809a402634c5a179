"""The families of comparisons, by name."""

from sfumato.studies.comparison import cifar10h, cifar10s, digits, label_sets, mixing, mnist
from sfumato.studies.comparison.setting import Family

__all__ = ["FAMILIES"]

FAMILIES: dict[str, Family] = {
    **cifar10h.FAMILIES,
    "cifar10s": cifar10s.FAMILY,
    "digits": digits.FAMILY,
    **label_sets.FAMILIES,
    "mixing": mixing.FAMILY,
    "mnist": mnist.FAMILY,
}
