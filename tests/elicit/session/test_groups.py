"""What waits is handed out in groups, in order, each thing once."""

import threading
import time

import pytest

from sfumato.elicit.session.writer import REMEMBERED, GroupQueue

LONG = 60.0
"""Seconds that no test waits."""


def fill(groups: GroupQueue[int], things: range) -> None:
    for thing in things:
        assert groups.put(thing)


def test_what_waits_is_one_group_in_order() -> None:
    groups: GroupQueue[int] = GroupQueue(most=10, seconds=0.0)
    fill(groups, range(4))

    assert groups.take() == [0, 1, 2, 3]


def test_a_group_is_never_larger_than_the_most() -> None:
    groups: GroupQueue[int] = GroupQueue(most=3, seconds=LONG)
    fill(groups, range(5))
    groups.close()

    assert [groups.take() for _ in range(3)] == [[0, 1, 2], [3, 4], []]


def test_a_group_waits_for_as_many_as_the_largest_of_the_last_ones() -> None:
    groups: GroupQueue[int] = GroupQueue(most=10, seconds=LONG)
    fill(groups, range(3))
    assert len(groups.take()) == 3

    def later() -> None:
        for thing in range(3):
            time.sleep(0.02)
            groups.put(thing)

    putting = threading.Thread(target=later)
    putting.start()

    assert groups.take() == [0, 1, 2]
    putting.join()


def test_a_group_that_waited_in_vain_is_handed_out() -> None:
    groups: GroupQueue[int] = GroupQueue(most=10, seconds=0.01)
    fill(groups, range(3))
    groups.take()
    fill(groups, range(2))

    assert groups.take() == [0, 1]


def test_a_busy_time_is_forgotten() -> None:
    groups: GroupQueue[int] = GroupQueue(most=10, seconds=0.001)
    fill(groups, range(5))
    groups.take()
    for _ in range(REMEMBERED):
        fill(groups, range(1))
        groups.take()
    groups._seconds = LONG  # who is alone now does not wait

    fill(groups, range(1))
    assert groups.take() == [0]


def test_closing_ends_the_wait_and_hands_out_the_rest() -> None:
    groups: GroupQueue[int] = GroupQueue(most=10, seconds=LONG)
    fill(groups, range(4))
    groups.take()
    fill(groups, range(1))
    threading.Timer(0.02, groups.close).start()

    assert groups.take() == [0]
    assert groups.take() == []
    assert not groups.put(1)


@pytest.mark.parametrize("workers", [1, 4])
def test_each_thing_is_handed_out_once(workers: int) -> None:
    groups: GroupQueue[int] = GroupQueue(most=1 if workers > 1 else 7, seconds=0.0)
    found: list[list[int]] = [[] for _ in range(workers)]

    def work(mine: list[int]) -> None:
        while group := groups.take():
            mine.extend(group)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in found]
    putting = [
        threading.Thread(target=fill, args=(groups, range(start, start + 500)))
        for start in (0, 500)
    ]
    for thread in (*threads, *putting):
        thread.start()
    for thread in putting:
        thread.join()
    groups.close()
    for thread in threads:
        thread.join(timeout=10)

    assert sorted(thing for mine in found for thing in mine) == list(range(1000))
