import pytest

from sfumato.errors import UnknownName
from sfumato.names import find, sorted_names


def test_known_name_is_found() -> None:
    assert find({"a": 1}, "a", what="thing") == 1


def test_wrong_name_lists_what_there_is() -> None:
    with pytest.raises(UnknownName, match=r"No thing is called 'zzz'\. Known: alpha, beta\."):
        find({"beta": 1, "alpha": 2}, "zzz", what="thing")


def test_numbers_sort_as_numbers() -> None:
    assert sorted_names(["10", "-2", "9"]) == ["-2", "9", "10"]
