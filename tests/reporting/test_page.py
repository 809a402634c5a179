import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from sfumato.provenance import Step
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.figures import gallery, reliability
from sfumato.reporting.page import (
    Origin,
    Page,
    Section,
    Table,
    Text,
    differences_shown,
    render,
    score_matrix,
    scores_shown,
    write,
)
from sfumato.reporting.text import Finding
from sfumato.scores import Estimate, source_text

HOSTILE = "<script src='http://evil.example/x.js'>alert(1)</script>\"><img src=x onerror=alert(1)>"
STEPS = (
    Step("read digits", {"split": "test", "note": "a & b"}, {"digits.npz": "ab" * 32}),
    Step("simulate voters", {"annotators": 20}, simulated=True),
)


def drawing(name: str = "soft", *, simulated: bool = True) -> Drawing:
    table = pl.DataFrame(
        {"arm": [name] * 2, "network": "net", "bin": [0, 1], "confidence": [0.2, 0.8],
         "accuracy": [0.1, 0.7], "items": [5, 9]}
    )  # fmt: skip
    return reliability(table, Basis(simulated, items=14, seeds=(0, 1)))


def score(**more: object) -> Estimate:
    given = {"metric": "accuracy", "value": 0.71249, "arm": "soft", "network": "net", "low": 0.6,
             "high": 0.8, "over": "seeds", "items": 400, "seeds": (0, 1, 2),
             "source": source_text(model=STEPS), **more}  # fmt: skip
    return Estimate(**given)  # type: ignore[arg-type]


def page(name: str = "soft", *, simulated: bool = True) -> Page:
    scores = [score(arm=name, simulated=simulated)]
    return Page(
        f"Title {name}",
        f"Subtitle {name}",
        (Finding(f"Something about {name}.", "found"), Finding("Nothing.", "not found")),
        (
            Section(
                f"First {name}", "One.\n\nTwo.", (drawing(name, simulated=simulated), Text(name))
            ),
            Section("Second", "", (scores_shown(scores), drawing(simulated=simulated))),
        ),
        Origin(("Meaning.",), STEPS, {"seeds": [0, 1], "size": name}),
    )


class Reader(HTMLParser):
    """Collects elements, their attributes and identifiers, and checks that they are closed."""

    VOID = frozenset({"meta", "path", "use", "image", "rect", "br", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_page_needs_nothing_from_elsewhere() -> None:
    read = Reader(render(page()))

    for tag, attributes in read.found:
        assert tag not in {"script", "link", "iframe", "object", "embed", "base"}
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in {"src", "href", "xlink:href", "srcset", "action"}:
                assert (value or "").startswith(("data:", "#"))


def test_page_names_no_address() -> None:
    text = render(page())

    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_policy_forbids_scripts_and_remote_resources() -> None:
    policy = [a["content"] for tag, a in Reader(render(page())).found if "http-equiv" in a]

    assert policy == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def test_elements_are_closed_and_identifiers_unique() -> None:
    read = Reader(render(page()))

    names = [attributes["id"] for _, attributes in read.found if "id" in attributes]
    assert read.open == []
    assert len(names) == len(set(names))


def test_every_inner_reference_leads_somewhere() -> None:
    text = render(page())

    names = set(re.findall(r'\bid="([^"]+)"', text))
    wanted = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert len(wanted) > 5
    assert wanted <= names


def test_hostile_names_are_shown_and_do_nothing() -> None:
    text = render(page(HOSTILE))

    read = Reader(text)
    assert not [tag for tag, _ in read.found if tag in {"script", "img"}]
    assert "&lt;script" in text


def test_hostile_items_and_classes_of_a_gallery_do_nothing() -> None:
    bars = pl.DataFrame(
        {"item": [HOSTILE], "source": [HOSTILE], "class": [HOSTILE], "probability": [1.0]}
    )

    read = Reader(
        render(Page("t", sections=(Section("s", "", (gallery(bars, {}, Basis(False)),)),)))
    )

    assert not [tag for tag, _ in read.found if tag in {"script", "img"}]


def test_same_page_gives_the_same_text() -> None:
    assert render(page()) == render(page())


def test_simulated_page_carries_banner_and_marks() -> None:
    text = render(page())

    assert text.count('class="banner"') == 1
    assert text.count('class="mark">simulated annotators') == 3  # two figures and a table


def test_page_of_real_people_carries_no_mark() -> None:
    text = render(page(simulated=False))

    assert 'class="banner"' not in text
    assert "simulated annotators" not in text


def test_one_simulated_table_is_enough_for_the_banner() -> None:
    table = Table("t", pl.DataFrame({"a": [1]}), simulated=True)

    assert Page("p", sections=(Section("s", "", (table,)),)).simulated


def test_contents_lead_to_every_section() -> None:
    text = render(page())

    assert '<a href="#s1">First soft</a>' in text
    assert '<h2 id="s2">Second</h2>' in text
    assert '<a href="#how">' in text


def test_paragraphs_are_parted_at_empty_lines() -> None:
    text = render(page())

    assert "<p>One.</p>" in text
    assert "<p>Two.</p>" in text


def test_figures_have_alternative_text_and_take_the_colours_of_the_page() -> None:
    text = render(page())

    svgs = re.findall(r"<svg [^>]*>", text)
    assert len(svgs) == 2
    assert all('role="img"' in svg and "Is the confidence earned?. On" in svg for svg in svgs)
    assert "var(--ink)" in text
    assert not re.search(r"fill: #ffffff[^>]*/>\s*</g>\s*<g id=\"f1-axes", text)


def test_how_shows_meaning_steps_settings_and_fingerprints() -> None:
    text = render(page())

    assert text.count("How was this computed?") == 1
    assert "Share of items whose most probable class is the same" in text
    assert "ab" * 32 in text
    assert "<li>annotators: <code>20</code></li>" in text
    assert "<dt>seeds</dt><dd><code>[0, 1]</code></dd>" in text


def test_numbers_have_three_decimals_and_intervals_brackets() -> None:
    text = render(page())

    assert '<td class="number">0.712</td><td class="number">[0.600, 0.800]</td>' in text


def test_long_table_behind_a_figure_is_cut_and_says_so() -> None:
    table = pl.concat([drawing().table.drop("simulated")] * 30)
    block = reliability(table, Basis(False))

    text = render(Page("p", sections=(Section("s", "", (block,)),)))

    assert "The first 24 of 60 rows" in text
    assert "<code>reliability.csv</code>" in text


def test_empty_page_and_empty_table_are_pages() -> None:
    empty = scores_shown([])

    text = render(Page("Nothing", sections=(Section("s", "", (empty,)),)))

    assert "There is nothing in this table." in text
    assert "<h1>Nothing</h1>" in render(Page("Nothing"))


def test_page_is_written_as_utf_8(tmp_path: Path) -> None:
    write(Page("Ärger 日本"), tmp_path / "new" / "report.html")

    assert "Ärger 日本" in (tmp_path / "new" / "report.html").read_text(encoding="utf-8")


def test_matrix_puts_every_score_in_its_cell() -> None:
    scores = [
        score(arm=arm, network=network, value=value, low=None, high=None)
        for arm, network, value in (("a", "x", 0.1), ("b", "x", 0.2), ("b", "y", 0.3))
    ]

    table = score_matrix(scores, metric="accuracy")

    assert table.table.rows() == [("x", "0.100", "0.200"), ("y", "–", "0.300")]
    assert table.table.columns == ["network", "a", "b"]
    assert table.title == "Accuracy (higher is better)"


def test_matrix_averages_nothing() -> None:
    scores = [score(value=0.1, low=None, high=None), score(value=0.2, low=None, high=None)]

    assert score_matrix(scores, metric="accuracy").table["soft"][0] == "0.100; 0.200"


def test_table_says_items_seeds_and_what_the_interval_is() -> None:
    table = scores_shown([score(), score(items=100)])

    assert table.caption == (
        "In all rows: arm soft; network net; metric accuracy; against people; stratum all; value "
        "0.712; 95 % interval [0.600, 0.800]; over seeds; seeds 3. "
        "n = 100 to 400 items; 3 seeds (0 to 2); in brackets the 95 % interval over seeds."
    )
    assert table.how.provenance == STEPS


@pytest.mark.parametrize(("p", "shown"), [(0.0004, "0.0004"), (0.25, "0.25"), (None, "")])
def test_differences_name_their_test(p: float | None, shown: str) -> None:
    row = Estimate("accuracy", 0.1, "a", "b", low=0.05, high=0.2, p=p, test="t test", items=5)

    table = differences_shown([row]).table

    assert table["difference"][0] == "+0.100"
    assert table["test"][0] == "t test"
    assert (table["p"][0] if p else "") == shown
