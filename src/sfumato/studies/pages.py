"""Turn the folder of a run into its page: findings, then every section there is something for.

A section is a function from the folder to a ``Section``, or None where the run has nothing for it.
The same page is the report in HTML and the text of the documentation in Markdown.
"""

from collections.abc import Callable
from pathlib import Path

from sfumato.names import find
from sfumato.reporting.draw import Drawing, save
from sfumato.reporting.page import Origin, Page, Section, Table, write
from sfumato.reporting.text import Finding, count, summarise
from sfumato.studies.claims import found_text
from sfumato.studies.folder import RunFolder
from sfumato.studies.sections import audit, judges, mixed_answers, rescore, trained, worlds
from sfumato.studies.study import Study
from sfumato.studies.verdicts import KINDS

SectionMaker = Callable[[RunFolder], Section | None]

SECTIONS: dict[str, SectionMaker] = {
    "claims": trained.claims,
    "leaderboard": rescore.leaderboard,
    "judges": judges.worths,
    "scales": judges.scales,
    "kappa": judges.kappa_and_worth,
    "whose_answers": mixed_answers.whose_answers,
    "mixes_seen": mixed_answers.mixes_seen,
    "single_mixes": mixed_answers.single_mixes,
    "class_pairs": mixed_answers.class_pairs,
    "mixes_confidence": mixed_answers.how_sure,
    "repeats": mixed_answers.repeats,
    "half_and_half": mixed_answers.half_and_half,
    "other_classes": mixed_answers.other_classes,
    "curves": trained.curves,
    "tracking": trained.tracking,
    "softness": trained.softness,
    "ladder": trained.ladder,
    "attacks": trained.attacks,
    "scores": trained.scores,
    "agreement": trained.agreement,
    "confidence": trained.confidence,
    "modes": audit.modes,
    "calibration": audit.calibration,
    "robustness": audit.robustness,
    "doubt": audit.doubt,
    "learning": audit.learning,
    "single_items": audit.single_items,
    "pictures": audit.pictures,
    "arms": trained.arms,
    "simulated": worlds.simulation_words,
    "recovered": worlds.recovery,
    "dimensionality": worlds.dimensionality,
    "wrong_answers": worlds.wrong_answers,
    "sparsity": worlds.sparsity,
    "preferences": worlds.preferences,
    "losses": worlds.least_losses,
}
"""All sections in the order in which a report has them."""

OF_MEASURE: dict[str, str] = {
    "leaderboard": "rescore",
    **dict.fromkeys(("judges", "scales", "kappa"), "judges"),
    **dict.fromkeys(
        (
            "whose_answers",
            "mixes_seen",
            "single_mixes",
            "class_pairs",
            "mixes_confidence",
            "repeats",
            "half_and_half",
            "other_classes",
        ),
        "mixed_answers",
    ),
    **dict.fromkeys(
        (
            "simulated",
            "recovered",
            "dimensionality",
            "wrong_answers",
            "sparsity",
            "preferences",
            "losses",
        ),
        "worlds",
    ),
}
"""Sections of one kind of study, and the measure that such a study has; others are not asked for
them. All other sections look for themselves whether there is something for them."""

HEADLINE = ("cross_entropy", "accuracy")


def study_page(run: RunFolder) -> Page:
    """The page of a run, from its files alone."""
    made = [
        find(SECTIONS, name, what="section of a report")(run) for name in sections_of(run.study)
    ]
    made.append(_failed(run))  # whatever sections a study chooses
    return Page(
        title=run.study.title,
        subtitle=run.study.about,
        summary=tuple(summary(run)),
        sections=tuple(section for section in made if section is not None),
        how=Origin(settings={"study": run.settings, "versions": dict(run.info["versions"])}),
    )


def sections_of(study: Study) -> tuple[str, ...]:
    """The sections that a study names, or else all that its measures may have something for."""
    return study.sections or tuple(
        name for name in SECTIONS if name not in OF_MEASURE or OF_MEASURE[name] in study.measures
    )


def _failed(run: RunFolder) -> Section | None:
    if "failed" not in run.tables:
        return None
    text = "Everything above is from the other cells. The next run tries these again."
    return Section("What failed", text, (Table("Cells that failed", run.tables["failed"]),))


def summary(run: RunFolder) -> list[Finding]:
    """What a reader must know first: claims, else differences to the controls; then cautions."""
    found = [
        Finding(
            f"{one.claim.sentence} {one.answer.capitalize()}: {found_text(one)}.",
            KINDS[one.verdict],
        )
        for one in run.claims
    ]
    if not found:
        found = _differences(run)
    found += [Finding(sentence, "caution") for sentence in run.info["missing"]]
    found += audit.leak_cautions(run)
    if run.study.worlds is not None:
        found.append(Finding(worlds.CAUTION, "caution"))
    if "failed" in run.tables:
        failed = count(len(run.tables["failed"]), "cell")
        told = f"{failed} failed; all numbers are from the others. The last section says why."
        found.append(Finding(told, "caution"))
    return found


def _differences(run: RunFolder) -> list[Finding]:
    """Soft labels against the controls, or every arm where none is soft."""
    people = run.study.tests[0].against[0] if run.study.tests else "people"
    estimates = run.estimates.filter(attack="", against=people)
    paired = list(estimates.filter(metric=HEADLINE).minus(*run.study.controls))
    soft = [one for one in paired if one.arm == "soft"]
    return summarise(list(estimates.scores), soft or paired, metrics=HEADLINE)


def write_report(run: RunFolder) -> Path:
    """Write ``report.html`` and ``figures/``; returns the path of the report."""
    page = study_page(run)
    figures = run.folder / "figures"
    figures.mkdir(exist_ok=True)
    for section in page.sections:
        for block in section.blocks:
            if isinstance(block, Drawing):
                save(block, figures)
    path = run.folder / "report.html"
    write(page, path)
    return path
