import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import polars as pl

from sfumato.provenance import Step
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.figures import gallery, reliability
from sfumato.reporting.page import (
    Bar,
    Chart,
    Lead,
    Origin,
    Page,
    Section,
    Table,
    Text,
    render,
    render_markdown,
    score_table,
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
        Lead(
            f"Is {name} better?",
            f"{name} is better by 0.1.",
            Chart("Scores", (Bar(name, 0.7, 0.6, 0.8, group=name), Bar("other", 0.6)), name),
            (f"400 items of {name}.",),
            (f"It is {name}.",),
            Origin((f"Accuracy of {name}.",), STEPS),
        ),
        f"About {name}",
        (
            Finding(f"Something about {name}.", "found", "+0.100 [0.050, 0.150]", "better"),
            Finding("Nothing.", "not found"),
        ),
        f"{name}, compared:",
        (
            Section(
                f"First {name}", "One.\n\nTwo.", (drawing(name, simulated=simulated), Text(name))
            ),
        ),
        (Section("Second", "", (score_table(scores), drawing(simulated=simulated))),),
        Origin(("Meaning.",), STEPS, {"seeds": [0, 1], "size": name}),
    )


class Reader(HTMLParser):
    """Collects elements, their attributes and identifiers, and checks that they are closed."""

    VOID = frozenset({"meta", "path", "use", "image", "rect", "br", "img", "col", "line", "circle"})

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

    assert [tag for tag, _ in read.found].count("script") == 1
    for tag, attributes in read.found:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in {"src", "href", "xlink:href", "srcset", "action"}:
                assert (value or "").startswith(("data:", "#", "figures/"))


def test_page_names_no_address() -> None:
    text = render(page())

    assert "http://" not in text
    assert "https://" not in text
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_policy_forbids_remote_resources_and_all_scripts_but_ours() -> None:
    text = render(page())
    policy = [a["content"] for tag, a in Reader(text).found if "http-equiv" in a]
    script = text.partition("<script>")[2].partition("</script>")[0]
    digest = b64encode(sha256(script.encode()).digest()).decode()

    assert policy == [
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    ]


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
    assert [tag for tag, _ in read.found if tag in {"script", "img"}] == ["script"]
    assert "&lt;script" in text


def test_hostile_items_and_classes_of_a_gallery_do_nothing() -> None:
    bars = pl.DataFrame(
        {"item": [HOSTILE], "source": [HOSTILE], "class": [HOSTILE], "probability": [1.0]}
    )

    read = Reader(
        render(Page("t", sections=(Section("s", "", (gallery(bars, {}, Basis(False)),)),)))
    )

    assert [tag for tag, _ in read.found if tag in {"script", "img"}] == ["script"]


def test_same_page_gives_the_same_text() -> None:
    assert render(page()) == render(page())


def test_simulated_page_says_so_once_and_in_every_figure_of_its_own() -> None:
    text = render(page())

    assert text.count('class="banner">Simulated annotators') == 1
    assert text.count("simulated annotators") == 2  # in the two figures, which may be taken out


def test_page_of_real_people_carries_no_mark() -> None:
    text = render(page(simulated=False))

    assert 'class="banner"' not in text
    assert "simulated annotators" not in text


def test_one_simulated_table_is_enough_for_the_banner() -> None:
    table = Table("t", pl.DataFrame({"a": [1]}), simulated=True)

    assert Page("p", appendix=(Section("s", "", (table,)),)).made == ("annotators",)


def test_sections_and_appendix_are_folded_and_can_be_linked_to() -> None:
    text = render(page())

    assert '<details class="section" id="s1">\n<summary><h3>First soft</h3></summary>' in text
    assert '<details class="section" id="a1">\n<summary><h3>Second</h3></summary>' in text
    assert " open" not in "".join(re.findall(r"<details[^>]*>", text))
    assert text.index("Is soft better?") < text.index("soft is better by 0.1.")
    assert text.index("soft is better by 0.1.") < text.index('class="chart"')
    assert text.index('class="chart"') < text.index("What speaks against it")
    assert text.index("What speaks against it") < text.index("Findings")


def test_paragraphs_are_parted_at_empty_lines() -> None:
    text = render(page())

    assert "<p>One.</p>" in text
    assert "<p>Two.</p>" in text


def test_figures_have_alternative_text_and_take_the_colours_of_the_page() -> None:
    text = render(page())

    svgs = re.findall(r"<svg [^>]*role=[^>]*>", text)
    assert len(svgs) == 2
    assert all('role="img"' in svg and "Is the confidence earned?. On" in svg for svg in svgs)
    assert "var(--ink)" in text
    assert not re.search(r"fill: #ffffff[^>]*/>\s*</g>\s*<g id=\"f1-axes", text)


def test_how_shows_meaning_steps_settings_and_fingerprints() -> None:
    text = render(page())

    assert text.count("How was this computed?") == 2
    assert "Share of items whose most probable class is the same" in text
    assert "this ← simulate voters (simulated) ← read digits digits.npz" in text
    assert "ab" * 32 in text
    assert "&#34;annotators&#34;: 20" in text
    assert "&#34;seeds&#34;: [\n  0,\n  1\n ]" in text


def test_numbers_have_three_decimals_and_intervals_brackets() -> None:
    text = render(page())

    assert '<td class="number">0.712 [0.600, 0.800]</td>' in text


def test_finding_has_its_number_behind_it() -> None:
    text = render(page())

    assert '<li class="better"><b>better</b> <span>Something about soft.</span> <small>' in text
    assert "<small>+0.100 [0.050, 0.150]</small>" in text
    assert '<li class="not-found"><b>not found</b> <span>Nothing.</span></li>' in text


def test_markdown_has_the_same_in_the_same_order() -> None:
    text = render_markdown(page())

    wanted = [
        "# Is soft better?",
        "**soft is better by 0.1.**",
        "Simulated annotators: these numbers rest on made-up answers, not on people.",
        "| soft | soft | 0.700 | 0.600 to 0.800 |",
        "- 400 items of soft.",
        "- It is soft.",
        "- Something about soft. *+0.100 [0.050, 0.150]*",
        "## First soft",
        "## Appendix",
        "### Second",
    ]
    places = [text.index(each) for each in wanted]
    assert places == sorted(places)


def test_chart_puts_every_number_on_one_scale() -> None:
    chart = Chart("c", (Bar("a", 0.2, 0.1, 0.3), Bar("b", 0.9)), from_zero=True, most=1.0)

    assert (chart.at(0.2), chart.at(1.0), chart.at(2.0)) == ("20.00%", "100.00%", "100.00%")
    assert chart.ticks[0] == ("0.00%", "0")
    assert chart.ticks[-1] == ("100.00%", "1")
    assert 'width="20.00%"' in render(Page("p", Lead("q", "a", chart)))


def test_chart_without_a_range_or_without_numbers_is_drawn() -> None:
    for bars in ((Bar("a", 0.5),), (Bar("a", float("nan")),), (Bar("a", 0.0), Bar("b", 0.0))):
        assert "circle" in render(Page("p", Lead("q", "a", Chart("c", bars))))


def test_long_table_behind_a_figure_is_cut_and_says_so() -> None:
    table = pl.concat([drawing().table.drop("simulated")] * 30)
    block = reliability(table, Basis(False))

    text = render(Page("p", sections=(Section("s", "", (block,)),)))

    assert "The first 24 of 60 rows" in text
    assert '<a href="figures/reliability.csv">' in text


def test_empty_page_and_empty_table_are_pages() -> None:
    empty = score_table([])

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

    table = score_table(scores)

    assert table.table.rows() == [("x", "0.100", "0.200"), ("y", "–", "0.300")]
    assert table.table.columns == ["network", "a", "b"]


def test_matrix_averages_nothing() -> None:
    scores = [score(value=0.1, low=None, high=None), score(value=0.2, low=None, high=None)]

    assert score_table(scores).table["soft"][0] == "0.100; 0.200"
