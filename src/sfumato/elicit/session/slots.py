"""Lay a session out: which kind of trial stands at which place.

A slot is a short text: "practice", "main", "main:STRATUM", "stimulus:ID" (of a batch),
"check" or "repeat:NUMBER", where the number counts the main slots from 1.
"""

from collections.abc import Sequence

import numpy as np

from sfumato.elicit.design.study import Layout


def lay_out(
    layout: Layout, *, strata: Sequence[str], batch: Sequence[int], rng: np.random.Generator
) -> list[str]:
    """The slots of one session.

    Practice comes first, then the main trials with a check after every ``checks_every`` of
    them, then the repeats. ``batch`` holds the stimuli of a whole batch, and is empty where each
    trial gets its stimulus just in time.

    >>> layout = Layout(trials_per_person=4, practice=1, checks_every=2, repeat_numbers=(2, 1))
    >>> lay_out(layout, strata=[], batch=[], rng=np.random.default_rng(0))[:4]
    ['practice', 'main', 'main', 'check']
    >>> lay_out(layout, strata=[], batch=[], rng=np.random.default_rng(0))[4:]
    ['main', 'main', 'check', 'repeat:2', 'repeat:1']
    """
    main = _main_slots(layout, strata, batch, rng)
    slots = ["practice"] * layout.practice
    for number, slot in enumerate(main, start=1):
        slots.append(slot)
        if layout.checks_every and number % layout.checks_every == 0:
            slots.append("check")
    return [*slots, *(f"repeat:{number}" for number in _repeated(layout, len(main), rng))]


def is_main(slot: str) -> bool:
    """Whether labels are made from the answers at this slot."""
    return slot.startswith(("main", "stimulus"))


def main_place(plan: Sequence[str], number: int) -> int:
    """The place in the plan of the main slot with this number, from 1."""
    places = [place for place, slot in enumerate(plan) if is_main(slot)]
    return places[number - 1]


def _main_slots(
    layout: Layout, strata: Sequence[str], batch: Sequence[int], rng: np.random.Generator
) -> list[str]:
    if batch:
        return [f"stimulus:{batch[place]}" for place in rng.permutation(len(batch))]
    count = layout.trials_per_person
    if not (layout.per_class and strata):
        return ["main"] * count
    # As many of each stratum as divide evenly (S0-03); who gets one more is drawn.
    order = rng.permutation(len(strata))
    slots = [f"main:{strata[order[place % len(strata)]]}" for place in range(count)]
    return [slots[place] for place in rng.permutation(count)]


def _repeated(layout: Layout, main: int, rng: np.random.Generator) -> list[int]:
    if layout.repeat_numbers:
        return [number for number in layout.repeat_numbers if 1 <= number <= main]
    # The last main trial is still in memory and one step back; it is repeated only for want of
    # another.
    pool = max(main - 1, min(layout.repeats, main))
    return [int(place) + 1 for place in rng.permutation(pool)[: layout.repeats]]
