"""The simulations of paper 2 as studies: what is asked, of which worlds.

The paper names numbers of items and classes from 3 to 90 and 5, 25 and 125 dimensions, but neither
its steps between nor how many worlds it draws of each. Both sizes here have the same worlds; the
paper's has ten seeds of each, as many as the intervals need to be narrow.
"""

from dataclasses import replace

from sfumato.studies.informativeness.study import GridStudy

__all__ = ["GRIDS"]

ASSUMED = (
    "Nobody was asked anything: whether your items lie as they do in these worlds is an assumption."
)
PAPER_SEEDS = 10

INFORMATION = GridStudy(
    name="informativeness-grid",
    title="How much do hard and soft labels tell about a world?",
    about=(
        "Sections 3, 4 and 6 of paper 2: worlds of 3 to 90 items and classes in 5, 25 and 125 "
        f"dimensions, labelled and found again from the labels alone. {ASSUMED}"
    ),
    subjects=("information",),
)
SPARSITY = GridStudy(
    name="informativeness-sparsity",
    title="How many classes of a soft label have to be asked about?",
    about=(
        "Section 6 and figure 3 of paper 2: soft labels thinned to k̂ classes, the nearest of each "
        f"item or the same of all, beside codes of k̂ numbers made from the truth. {ASSUMED}"
    ),
    subjects=("sparsity",),
)
COSTS = GridStudy(
    name="informativeness-costs",
    title="Which labels are worth what they cost?",
    about=(
        "Sections 5 and 6 and figures 1 and 6 of paper 2: the loss of hard, soft and thinned "
        "labels, which is their cost less the worth of what they recover, over numbers of items "
        f"and classes, weights of the cost and utilities. {ASSUMED}"
    ),
    subjects=("costs",),
)

GRIDS: dict[str, tuple[GridStudy, GridStudy]] = {
    study.name: (study, replace(study, seeds=PAPER_SEEDS))
    for study in (INFORMATION, SPARSITY, COSTS)
}
"""By name: for a CPU, and with more seeds."""
