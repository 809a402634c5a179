"""Turn the folder of a run into its page: the answer and findings, then a section for each thing.

A section is a function from the folder to a ``Section``, or None where the run has nothing for it.
The same page is the report in HTML and the text of the documentation in Markdown.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copyfile

import polars as pl

from sfumato.names import find
from sfumato.reporting.draw import save
from sfumato.reporting.page import (
    Bar,
    Chart,
    Lead,
    Origin,
    Page,
    Section,
    Table,
    meaning_of,
    provenance_of,
    write,
)
from sfumato.reporting.text import (
    FOUND_BY,
    LEAST,
    REFERENCES,
    Contrast,
    Finding,
    cautions,
    choose_findings,
    contrasts,
    count,
    paired_words,
    pairing_of,
    references,
    spelt,
    verdict,
    with_ends,
)
from sfumato.scores import PLACE, Estimate, Estimates, metric_words, swap_arms
from sfumato.studies.claims import KINDS, VERDICTS, JudgedClaim, counts_text, found_text
from sfumato.studies.data import RunFolder
from sfumato.studies.measures.rescore import ORACLE
from sfumato.studies.sections import audit, judges, mixed_answers, people, trained, worlds
from sfumato.studies.study import Study

SectionMaker = Callable[[RunFolder], Section | None]

OF_JUDGES: dict[str, SectionMaker] = {
    "judges": judges.worths,
    "scales": judges.scales,
    "kappa": judges.kappa_and_worth,
}
OF_PEOPLE: dict[str, SectionMaker] = {
    "few_votes": people.votes_table,
    "cover_people": people.coverage_table,
    "forms_worth": people.forms_table,
}
LEADS: dict[str, Callable[[RunFolder], Lead | None]] = {
    "few_votes": people.votes_lead,
    "cover_people": people.cover_lead,
    "forms_worth": people.forms_lead,
}
"""The first screens of studies that have one of their own, by measure."""

OF_MIXES: dict[str, SectionMaker] = {
    "whose_answers": mixed_answers.whose_answers,
    "mixes_seen": mixed_answers.mixes_seen,
    "single_mixes": mixed_answers.single_mixes,
    "class_pairs": mixed_answers.class_pairs,
    "mixes_confidence": mixed_answers.how_sure,
    "repeats": mixed_answers.repeats,
    "half_and_half": mixed_answers.half_and_half,
    "other_classes": mixed_answers.other_classes,
}
OF_WORLDS: dict[str, SectionMaker] = {
    "recovered": worlds.recovery,
    "dimensionality": worlds.dimensionality,
    "wrong_answers": worlds.wrong_answers,
    "sparsity": worlds.sparsity,
    "preferences": worlds.preferences,
    "losses": worlds.least_losses,
    "simulated": worlds.simulation_words,
}
APPENDIX: dict[str, SectionMaker] = {
    "arms": trained.arms,
    "tracking": trained.tracking,
    "label_pairs": trained.label_pairs,
    "attacks": trained.attacks,
    "agreement": trained.agreement,
    "confidence": trained.confidence,
    "doubt": audit.doubt,
    "learning": audit.learning,
    "pictures": audit.pictures,
}
"""Sections that only those look for who want to know more."""

SECTIONS: dict[str, SectionMaker] = {
    "claims": trained.claims,
    "leaderboard": trained.leaderboard,
    **OF_JUDGES,
    **OF_PEOPLE,
    **OF_MIXES,
    "curves": trained.curves,
    "softness": trained.softness,
    "similarity": trained.similarity,
    "ladder": trained.ladder,
    "grids": trained.grids,
    "scores": trained.scores,
    "people": trained.people,
    "robustness": audit.robustness,
    "calibration": audit.calibration,
    "modes": audit.modes,
    "single_items": audit.single_items,
    **OF_WORLDS,
    **APPENDIX,
}
"""All sections in the order in which a report has them."""

OF_MEASURE: dict[str, str] = {
    "leaderboard": "rescore",
    **dict.fromkeys(OF_JUDGES, "judges"),
    **{name: name for name in OF_PEOPLE},
    **dict.fromkeys(OF_MIXES, "mixed_answers"),
    **dict.fromkeys(OF_WORLDS, "worlds"),
}
"""Sections of one kind of study, and the measure that such a study has; others are not asked for
them. All other sections look for themselves whether there is something for them."""

MOST_BARS = 10
ROWS = "figures/findings.csv"
"""The estimates behind the answer and the findings, beside the page."""


def study_page(run: RunFolder) -> Page:
    """The page of a run, from its files alone."""
    made = {
        name: find(SECTIONS, name, what="section of a report")(run)
        for name in sections_of(run.study)
    }
    made["chosen"] = _chosen(run)  # whatever sections a study chooses
    made["failed"] = _failed(run)
    lead, findings, compared = _first_screen(run)
    rows = row_numbers(run.estimates, [row for one in findings for row in one.rows])
    return Page(
        title=run.study.title,
        lead=lead,
        about=run.study.about,
        findings=tuple(replace(one, behind=_with_rows(one, rows)) for one in findings),
        compared=compared,
        sections=tuple(
            each for name, each in made.items() if each is not None and name not in APPENDIX
        ),
        appendix=tuple(
            each for name, each in made.items() if each is not None and name in APPENDIX
        ),
        how=Origin(settings={"study": run.settings, "versions": dict(run.info["versions"])}),
    )


def sections_of(study: Study) -> tuple[str, ...]:
    """The sections that a study names, or else all that its measures may have something for."""
    return study.sections or tuple(
        name for name in SECTIONS if name not in OF_MEASURE or OF_MEASURE[name] in study.measures
    )


def _chosen(run: RunFolder) -> Section | None:
    """The learning rates and α that networks got, where they were searched."""
    if "chosen" not in run.tables:
        return None
    by = ["setting", "network", "arm"]
    counted = run.tables["chosen"].group_by(*by, "value", maintain_order=True).agg(
        trainings=pl.col("chosen").sum(), validation_loss=pl.col("validation_loss").mean()
    )  # fmt: skip
    text = (
        "Every training tried each value and kept the network whose loss was least on a tenth of "
        "its training items, which it did not learn and which are not in the test. An α was "
        "searched at the rate that had been best."
    )
    table = Table("What was chosen, by how many training runs", counted.sort(*by, "value"))
    return Section("Settings that were searched", text, (table,))


def _failed(run: RunFolder) -> Section | None:
    if "failed" not in run.tables:
        return None
    text = "Everything else is from the other training runs. The next run tries these again."
    return Section("What failed", text, (Table("Training runs that failed", run.tables["failed"]),))


# The first screen: two arms that are compared, or else what was scored, or else claims.

First = tuple[Lead, list[Finding], str]
"""The lead, the findings, and what these are about."""


def _first_screen(run: RunFolder) -> First:
    for lead in (LEADS[name](run) for name in run.study.measures if name in LEADS):
        if lead is not None:
            basis = (*lead.basis, *_claims_told(run))
            against = (*lead.against, *_warnings(run))
            return replace(lead, basis=basis, against=against), _judged(run), ""
    main = main_contrast(run)
    if main is not None:
        return _paired_screen(run, main)
    if "worths" in run.tables:
        return judges.first_screen(run)
    stored = trained.clean(run.estimates.scores).filter(metric="cross_entropy")
    if len(stored):
        return _scored_screen(run, list(stored))
    return _claims_screen(run)


def main_contrast(run: RunFolder) -> Contrast | None:
    """What the study is about: the pair of the first claim, or its first arm against a control.

    Of several controls the one that is hardest to beat counts: the one with the best mean score.
    """
    against = _against(run)
    clean = trained.clean(run.estimates.filter(against=against))
    known = {one.metric for one in clean.differences}
    metric = next((name for name in FOUND_BY if name in known), "")
    named = [
        (one.claim.arm, one.claim.second)
        for one in run.claims
        if one.claim.kind == "claim"
        and {one.claim.arm, one.claim.second} <= set(run.study.arm_names)
    ]
    scores = clean.scores.filter(metric=metric).table.group_by("arm").agg(pl.col("value").mean())
    values = dict(scores.iter_rows())
    sign = -1 if metric_words(metric).better == "higher" else 1
    controls = sorted(
        (each for each in run.study.controls if each in values), key=lambda arm: sign * values[arm]
    )
    arms = [arm for arm in run.study.arm_names if arm not in run.study.controls]
    for arm, second in [*named, *((arm, control) for arm in arms for control in controls)]:
        rows = list(clean.filter(metric=metric, arm=[arm, second]).minus(second))
        found = contrasts([one for one in rows if one.arm == arm], clean.scores)
        if found:
            return found[0]
    return None


def _against(run: RunFolder) -> str:
    """Whose labels the study asks for first."""
    return run.study.tests[0].against[0] if run.study.tests else "people"


def _paired_screen(run: RunFolder, main: Contrast) -> First:
    arm, second = main.head.arm, main.head.second
    subject, than = f"networks that learnt {_arm(run, arm)}", f" than {_those(run, second)}"
    everywhere = paired_with(run, arm, second)
    others = [
        one for one in everywhere if one.rows[0].metric != main.head.metric or one.head.attack
    ]
    findings = choose_findings(others)
    lead = Lead(
        run.study.title,
        main.finding(subject, than).text,
        _scores_chart(run, main),
        tuple(_how_sure(run, main)),
        tuple(_speaks_against(run, main, findings, everywhere)),
        _origin(run, main.rows),
        main.rows,
    )
    compared = f"{subject.capitalize()}, compared with {_those(run, second)}:"
    return lead, findings, compared


def paired_with(run: RunFolder, arm: str, second: str) -> list[Contrast]:
    """Every comparison of two arms that a finding may tell, on whole, attacked and spoilt items."""
    mine = run.estimates.filter(against=_against(run), metric=FOUND_BY, stratum="all")
    table = mine.table.filter(pl.col("arm").is_in([arm, second]))
    last = pl.col("step").max().over("attack", "bound", "part", "metric")
    table = table.filter(pl.col("step").is_null() | (pl.col("step") == last))
    found = Estimates(table)
    return contrasts([one for one in found.minus(second) if one.arm == arm], found.scores)


ARMS = {
    "soft": "everybody's answers",
    "majority": "the majority vote",
    "original": "the original labels",
    "hard": "the original labels",
    "smoothed": "smoothed original labels",
}
"""Kinds of labels as they are called in a sentence."""


def _arm(run: RunFolder, name: str) -> str:
    """What a network learnt, in a sentence."""
    arm = next((each for each in run.study.arms if each.name == name), None)
    known = ARMS.get(name) if arm is None or arm.name == arm.labels else None
    return known or f"‘{name}’"


def _those(run: RunFolder, name: str) -> str:
    return f"those that learnt {_arm(run, name)}"


def _scores_chart(run: RunFolder, main: Contrast) -> Chart:
    """Both arms and the controls, network by network; of a single network every arm."""
    head = main.head
    scores = trained.clean(run.estimates.scores)
    scores = scores.filter(metric=head.metric, against=head.against, part=head.part)
    networks = list(dict.fromkeys(one.network for one in main.rows))
    several = len(networks) > 1
    arms = [head.arm, head.second]
    arms += [each for each in run.study.controls if each not in arms]
    if not several:
        arms += [each for each in run.study.arm_names if each not in arms]
    place = {arm: at for at, arm in enumerate(arms[:8])}
    shown = [one for one in scores if one.network in networks and one.arm in place]
    shown.sort(key=lambda one: (networks.index(one.network), place[one.arm]))
    bars = [
        Bar(
            ARMS.get(one.arm, one.arm),
            one.value,
            one.low,
            one.high,
            one.network if several else "",
            one.arm == head.arm,
        )
        for one in shown
    ]
    metric = metric_words(head.metric)
    unit = f" in {metric.unit}" if metric.unit else ""
    over = next((one.over for one in shown if one.over), "")
    lines = f"Lines are 95 % intervals over {over}. " if over else ""
    title = f"{metric.title.capitalize()} to {head.against}{unit}, by what networks learnt"
    caption = f"{metric.better.capitalize()} is better. {lines}".strip()
    return Chart(title, tuple(bars), caption)


def _how_sure(run: RunFolder, main: Contrast) -> Iterator[str]:
    head = main.head
    clear = sum(verdict(one) in ("lower", "higher") for one in main.rows)
    every = "all" if clear == len(main.rows) else f"{spelt(clear)} of"
    where = f" in {every} {spelt(len(main.rows))} networks" if len(main.rows) > 1 else ""
    told = f"excludes zero{where}" if clear else "includes zero"
    least = f"the smallest, with {head.network}," if len(main.rows) > 1 else "it"
    yield (
        f"The 95 % interval of the difference {told}; {least} is {with_ends(head)}. It is over "
        f"{head.over or 'nothing'}, {paired_words(head.over)}."
    )
    yield (
        f"{count(head.items, 'tested item')}, {count(len(head.seeds) or 1, 'seed')}, "
        f"{count(len({one.network for one in main.rows}), 'network')}; {_people(run)}."
    )
    yield from _claims_told(run)


def _people(run: RunFolder) -> str:
    """Whose answers the labels are, with how many there are where that is known."""
    kind = "simulated annotator" if run.simulated else "annotator"
    if run.judgments_file.is_file():
        answers = pl.read_parquet(run.judgments_file, columns=["annotator"])["annotator"]
        return f"{count(len(answers), 'answer')} of {count(answers.n_unique(), kind)}"
    if _labels_file(run).is_file():
        labels = run.label_set(_against(run))
        amount = int(labels.weight.sum())
        if amount > len(labels):
            return f"{count(amount, 'answer')} about {count(len(labels), 'item')}"
    return "simulated annotators" if run.simulated else "people's answers"


def _labels_file(run: RunFolder) -> Path:
    return run.folder / "labels" / f"{_against(run).replace('/', '-')}.parquet"


def _origin(run: RunFolder, rows: Sequence[Estimate]) -> Origin:
    meaning = (*meaning_of(rows), *pairing_of(rows))
    return Origin(meaning, provenance_of(rows[:1]), path=_path(run), rows=ROWS)


def _path(run: RunFolder) -> tuple[str, ...]:
    """From a score back to people."""
    files = (
        ("predictions of {}", "network", run.folder / "trainings.parquet"),
        ("labels of {}", "item", _labels_file(run)),
    )
    steps = [
        words.format(count(pl.scan_parquet(path).select(pl.len()).collect().item(), thing))
        for words, thing, path in files
        if path.is_file()
    ]
    return (*steps, _people(run))


def _speaks_against(
    run: RunFolder, main: Contrast, findings: Sequence[Finding], everywhere: Sequence[Contrast]
) -> Iterator[str]:
    yield from [one.text for one in findings if one.way == "worse"][:2]
    clean = trained.clean(run.estimates.filter(against=main.head.against, metric=main.head.metric))
    for control in run.study.controls:
        rows = [one for one in clean.minus(control) if one.arm == main.head.arm]
        for one in contrasts(rows, clean.scores):
            if control != main.head.second and one.way != "better":
                subject = f"networks that learnt {_arm(run, main.head.arm)}"
                yield one.finding(subject, f" than {_those(run, control)}").text
    yield from _warnings(run)
    rows = [row for one in everywhere for row in one.rows]
    yield from cautions(rows)


def _warnings(run: RunFolder) -> Iterator[str]:
    yield from run.info["missing"]
    yield from audit.leak_cautions(run)
    if run.study.worlds is not None:
        yield worlds.CAUTION
    if "failed" in run.tables:
        failed = count(len(run.tables["failed"]), "training run")
        yield f"{failed} failed; all numbers are from the others. The section on it says why."


def _scored_screen(run: RunFolder, stored: list[Estimate]) -> First:
    """Models that were not compared: who is closest, and what no model can go below."""
    against = _against(run)
    mine = [one for one in stored if one.against == against and one.arm != ORACLE]
    mine.sort(key=lambda one: one.value)
    lines = trained.clean(run.estimates).filter(metric=list(REFERENCES), against=against)
    found = references([*mine, *lines])
    bars = [
        Bar(one.arm or one.network, one.value, one.low, one.high, strong=one is mine[0])
        for one in mine[:MOST_BARS]
    ]
    bars += [Bar(metric_words(one.metric).title, one.value) for one in lines]
    best = mine[0].arm or mine[0].network
    lead = Lead(
        run.study.title,
        next((one.text for one in found), f"The closest to people is {best}."),
        Chart("Cross-entropy to people in nats", tuple(bars), "Lower is better."),
        (f"{count(mine[0].items, 'item')}; {_people(run)}.", *_claims_told(run)),
        (*(one.text for one in found if one.way == "worse"), *_warnings(run)),
        _origin(run, mine[:1]),
        found[0].rows if found else tuple(mine[:1]),
    )
    return lead, [*found[1:], *_judged(run)], ""


def _claims_screen(run: RunFolder) -> First:
    """Claims of papers alone: how many hold here, and which most clearly."""
    mine = [one for one in run.claims if one.claim.kind == "claim"]
    counted = {name: sum(one.verdict == name for one in mine) for name in VERDICTS}
    tested = sum(amount for name, amount in counted.items() if not name.startswith("not testable"))
    answer = f"{counted['reproduced']} of {count(tested, 'claim')} that could be tested hold here"
    findings = _judged(run)
    basis = [*_claims_told(run)]
    if findings and findings[0].kind == "found":
        answer += f", most clearly: {findings[0].text.rpartition(':')[0]}"
        basis.insert(0, findings[0].behind)
    bars = tuple(
        Bar(name, amount, strong=name == "reproduced", text=f"{amount}")
        for name, amount in counted.items()
        if amount
    )
    title = "Claims of the papers, and how they came out here"
    chart = Chart(title, bars, from_zero=True) if mine else None
    path = Origin(path=(_people(run),) if run.study.worlds is None else ("simulated worlds",))
    if not mine:
        answer = run.study.about.partition(". ")[0].rstrip(".")
    lead = Lead(run.study.title, f"{answer}.", chart, tuple(basis), tuple(_warnings(run)), path)
    return lead, findings[1:] if len(findings) > LEAST else findings, ""


def _claims_told(run: RunFolder) -> Iterator[str]:
    if run.claims:
        told = counts_text(one.verdict for one in run.claims if one.claim.kind == "claim")
        yield f"Next to the papers: {told}"


def _judged(run: RunFolder, most: int = 3) -> list[Finding]:
    """The clearest claims that hold and the clearest that do not, as many of each."""
    found = []
    for names in (("reproduced", "smaller"), ("contradicted", "absent")):
        mine = [one for one in run.claims if one.verdict in names and one.found]
        for one in sorted(mine, key=_clearness, reverse=True)[:most]:
            text = f"{one.claim.sentence.rstrip('.')}: {one.answer}."
            found.append(Finding(text, KINDS[one.verdict], found_text(one) + "."))
    return found


def _clearness(one: JudgedClaim) -> float:
    """The least value of a claim next to the width of its interval."""
    return min(
        abs(each.value or 0) / ((each.high or 0) - (each.low or 0) or float("inf"))
        for each in one.found
    )


# Every number of the first screen leads to its row.


def row_numbers(estimates: Estimates, rows: Sequence[Estimate]) -> dict[Estimate, int]:
    """Where in the table the estimates stand; a difference also where it is the other way round."""
    wanted: dict[tuple[object, ...], Estimate] = {}
    for one in rows:
        for each in (one, swap_arms(one)):
            wanted[tuple(getattr(each, name) for name in PLACE)] = one
    places = enumerate(estimates.table.select(PLACE).iter_rows())
    return {wanted[key]: at for at, key in places if key in wanted}


def _with_rows(one: Finding, rows: dict[Estimate, int]) -> str:
    known = sorted(rows[row] for row in one.rows if row in rows)
    if not known:
        return one.behind
    named = f"Row{'s' if len(known) > 1 else ''} {', '.join(map(str, known))} of estimates.parquet."
    return f"{one.behind} {named}".strip()


def write_report(run: RunFolder, copy: Path | None = None) -> Path:
    """Write ``report.html`` and ``figures/``, and a copy where one is wanted; returns its path."""
    page = study_page(run)
    figures = run.folder / "figures"
    figures.mkdir(exist_ok=True)
    for drawing in page.drawings:
        save(drawing, figures)
    numbers = row_numbers(run.estimates, page.rows)
    table = run.estimates.table.with_row_index("row")[sorted(set(numbers.values()))]
    seeds = pl.col("seeds").list.eval(pl.element().cast(pl.String)).list.join(" ")
    table.with_columns(seeds).write_csv(run.folder / ROWS)
    path = run.folder / "report.html"
    write(page, path)
    if copy is None or (copy.exists() and copy.samefile(path)):
        return copy or path
    return Path(copyfile(path, copy))
