"""Reports in a real browser: what a reader sees first, on a screen and on a phone."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.data import data_folder as usual_folder
from sfumato.evaluation.models import evaluate
from sfumato.labels.labelset import LabelSet
from sfumato.planning.advise import Task, rule_of_thumb
from sfumato.planning.plans import Plan
from sfumato.reporting.answers import report
from sfumato.reporting.evaluation import report_evaluation
from sfumato.reporting.page import write
from sfumato.reporting.text import said
from sfumato.scores import Estimate, Estimates, source_text
from sfumato.studies.audit import audit, draw_audit
from sfumato.studies.audit_sources import AuditSettings, AuditSources
from sfumato.studies.data import RunFolder
from sfumato.studies.pages import write_report
from sfumato.studies.planned import plan_page
from sfumato.studies.study import read_study

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
NETWORKS = ("simple-ffn", "deeper-ffn", "lenet")
SAMPLE = Path(__file__).parents[2] / "src" / "sfumato" / "data" / "samples"

PLANTED = {
    ("cross_entropy", "", None): (0.54, 0.77, 0.82),
    ("accuracy", "", None): (0.94, 0.93, 0.92),
    ("second_best_accuracy", "", None): (0.79, 0.35, 0.30),
    ("rms_calibration", "", None): (0.12, 0.03, 0.08),
    ("accuracy", "fgsm", 32.0): (0.61, 0.79, 0.80),
}
"""Scores of soft, majority and original labels by metric, attack and bound: two are bad news."""


def planted(folder: Path) -> RunFolder:
    """A run whose numbers are known: better by three things, worse by two."""
    arms = ("soft", "majority", "original")
    rows = []
    for (metric, attack, bound), values in PLANTED.items():
        for at, network in enumerate(NETWORKS):
            shift = 0.002 * at
            blank = Estimate(
                metric, 0.0, network=network, part="test", attack=attack, bound=bound, items=270,
                over="seeds", seeds=(0, 1, 2, 3, 4), simulated=True, study="digits-table",
                source=source_text(note="planted"),
            )  # fmt: skip
            scores = dict(zip(arms, (values[0], values[1] + shift, values[2]), strict=True))
            for arm, value in scores.items():
                rows.append(
                    replace(blank, arm=arm, value=value, low=value - 0.01, high=value + 0.01)
                )
            for second in arms[1:]:
                value = scores["soft"] - scores[second]
                apart = replace(blank, arm="soft", second=second, value=value)
                rows.append(replace(apart, low=value - 0.004, high=value + 0.004))
    folder.mkdir()
    Estimates.of(rows).write(folder / "estimates.parquet")
    info = {"versions": {}, "simulated": True, "missing": [], "fingerprint": "ab"}
    return RunFolder(folder, read_study("digits-table"), info)


def made_study(folder: Path) -> Path:
    return write_report(planted(folder / "run"))


def made_answers(folder: Path) -> Path:
    path = folder / "answers.html"
    report(SAMPLE / "real-answers.csv.gz", path)
    return path


def made_predictions(folder: Path) -> Path:
    """Two networks' stored predictions of CIFAR-10H, of every tenth image."""
    data = usual_folder()
    human = np.load(data / "cifar10h" / "cifar10h-probs.npy")[::10]
    classes = tuple(f"c{place}" for place in range(10))
    items = tuple(map(str, range(len(human))))
    models = {}
    for name in ("vgg_15_BN_64", "shake_shake_26_2x64d_SSI_cutout16"):
        with np.load(data / "cifar10h-predictions" / f"{name}.npz") as stored:
            probs = next(each for each in stored.values() if each.shape == (10_000, 10))[::10]
        models[name] = LabelSet(items, classes, probs / probs.sum(axis=1, keepdims=True))
    found = evaluate(LabelSet(items, classes, human), models, draws=50)
    return report_evaluation(found, folder / "evaluation.html")


def made_plan(folder: Path) -> Path:
    """A plan by rule of thumb for a small task, whose figures are simulated in seconds."""
    plan = Plan(Task(4, 3), rule_of_thumb(4, 3))
    write(plan_page(plan, {}, advance=lambda done, total: None), folder / "plan.html")
    return folder / "plan.html"


def made_audit(folder: Path) -> Path:
    sources = AuditSources(
        judgments=usual_folder() / "cifar10s" / "raw_human_data.csv",
        format="cifar10s",
        recipe="top2-clamp",
        original=usual_folder() / "cifar10h-predictions" / "test_labels.npy",
    )
    audited = audit(sources, AuditSettings(draws=50))
    return draw_audit(audited, folder, title="Audit of CIFAR-10S")


KINDS: dict[str, Callable[[Path], Path]] = {
    "study": made_study,
    "answers": made_answers,
    "predictions": made_predictions,
    "plan": made_plan,
    "audit": made_audit,
}
QUICK = ("study", "answers")
"""Kinds of report that need no data and little time."""


@pytest.fixture(
    scope="module",
    params=[
        each if each in QUICK else pytest.param(each, marks=pytest.mark.check) for each in KINDS
    ],
)
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A report of each kind, as an address."""
    if request.param in ("predictions", "audit"):
        request.getfixturevalue("data_folder")
    yield f"file://{KINDS[request.param](tmp_path_factory.mktemp(request.param))}"


def opened(chromium: Any, address: str, size: dict[str, int], **more: Any) -> Any:
    """The page, with everything that the browser complained about in ``wrongs``."""
    page = chromium.new_context(viewport=size, **more).new_page()
    page.wrongs = []
    page.on("console", lambda said: page.wrongs.append(said.text))
    page.on("pageerror", lambda error: page.wrongs.append(str(error)))
    page.goto(address)
    return page


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["screen", "phone"])
def test_first_screen_has_question_answer_and_picture(
    chromium: Any, address: str, size: dict[str, int]
) -> None:
    page = opened(chromium, address, size)

    top = page.evaluate("document.querySelector('figure').getBoundingClientRect().top")
    assert 0 < top < 900
    assert page.locator("h1").inner_text().endswith(("?", "table"))
    assert any(sign.isdigit() for sign in page.locator(".answer").inner_text()) or "rule" in (
        page.locator(".answer").inner_text()
    )
    assert page.locator(".against li").count() >= 1
    assert page.wrongs == []


def test_page_as_opened_is_short(chromium: Any, address: str) -> None:
    page = opened(chromium, address, WIDE)

    words = page.evaluate(
        """() => {
            const count = (part) => (part?.innerText ?? "").split(/\\s+/).filter(Boolean).length;
            return count(document.body) - count(document.querySelector(".appendix"));
        }"""
    )
    assert page.evaluate("document.documentElement.scrollHeight") <= 9000
    assert words <= 2000


def test_nothing_is_cut_and_text_can_be_read_on_a_phone(chromium: Any, address: str) -> None:
    page = opened(chromium, address, PHONE)

    folded = page.evaluate("document.documentElement.scrollWidth")
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    small = page.evaluate(
        """() => [...document.querySelectorAll("figure svg text")]
            .filter((text) => text.textContent.trim())
            .map((text) => text.getBoundingClientRect().height).filter((high) => high > 0)
            .filter((high) => high < 7.5).length"""
    )
    letters = page.evaluate(  # of panels, whose letters are 8 points of the figure high
        """() => [...document.querySelectorAll(".panels > svg:not(.held)")].map(
            (panel) => 8 * panel.getBoundingClientRect().width / panel.viewBox.baseVal.width)"""
    )
    assert folded <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert small == 0
    assert min(letters, default=9) >= 9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_is_accessible_folded_and_unfolded(chromium: Any, address: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page = opened(chromium, address, WIDE, color_scheme=scheme, bypass_csp=True)

    folded = Axe().run(page)
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    unfolded = Axe().run(page)
    assert folded.violations_count == 0, folded.generate_report()
    assert unfolded.violations_count == 0, unfolded.generate_report()


def test_page_reads_the_same_without_scripts(chromium: Any, address: str) -> None:
    page = opened(chromium, address, PHONE, java_script_enabled=False)

    assert page.locator(".answer").is_visible()
    assert page.locator("figure").first.is_visible()
    page.locator("details.section > summary").first.click()
    assert page.locator("details.section").first.get_attribute("open") is not None


def test_bad_news_of_a_planted_study_is_on_the_first_screen_and_among_the_findings(
    chromium: Any, tmp_path: Path
) -> None:
    page = opened(chromium, f"file://{made_study(tmp_path)}", WIDE)

    worse = page.locator(".findings .worse span").all_inner_texts()
    better = page.locator(".findings .better span").all_inner_texts()
    assert len(better) == 2
    assert [text.split(":")[-1].strip() for text in worse] == [
        "RMS calibration error at least 8.6 percentage points higher in all three networks.",
        "accuracy at least 18 percentage points lower in all three networks.",
    ]
    assert worse[1].startswith("Under FGSM attacks of 32/255 they found the first choice")
    assert "0.610 against 0.790" in page.locator(".findings .worse small").nth(1).inner_text()
    assert page.locator(".against li").all_inner_texts()[:2] == worse
    assert page.locator(".banner").all_inner_texts() == [
        "Simulated annotators: these numbers rest on made-up answers, not on people."
    ]


def test_number_of_the_answer_is_the_estimate(chromium: Any, tmp_path: Path) -> None:
    run = planted(tmp_path / "run")
    page = opened(chromium, f"file://{write_report(run)}", WIDE)

    mine = run.estimates.filter(metric="cross_entropy", arm="soft", second="majority")
    least = min(mine, key=lambda one: abs(one.value))
    assert page.locator(".answer").inner_text() == (
        "Networks that learnt everybody's answers predicted people better than those that learnt "
        f"the majority vote: cross-entropy at least {said(least.value, 'cross_entropy')} lower in "
        "all three networks."
    )
    shown = page.locator(".chart .value").all_inner_texts()[:3]
    assert shown == ["0.540", "0.770", "0.820"]


def test_tables_sort_by_a_click_and_by_the_keyboard(chromium: Any, tmp_path: Path) -> None:
    page = opened(chromium, f"file://{made_answers(tmp_path)}", WIDE)
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    table = page.locator("text=Annotators, the busiest first").locator("xpath=..").locator("table")
    head = table.locator("th", has_text="answers").first

    def column() -> list[int]:
        return [
            int(text.replace(",", ""))
            for text in table.locator("td:nth-child(2)").all_inner_texts()
        ]

    head.click()
    assert column() == sorted(column())
    head.press("Enter")
    assert column() == sorted(column(), reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
