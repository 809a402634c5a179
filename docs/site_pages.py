"""Make the pages of the site that come from code: the reference, galleries, examples, llms.txt.

A hook of MkDocs, named in ``mkdocs.yml``; nothing that it makes is committed. A comment
``<!-- registry: NAME -->`` in a page becomes the table of that name, and below every block of
Python that draws something (``drawing = ...``) on a page of ``DRAWN`` stands what it draws.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import typer.main
from mkdocs.structure.files import File
from typer.core import TyperGroup

import sfumato
from sfumato.cli import app
from sfumato.cli.help import CHOICES, PAPER
from sfumato.data.registry import DATASETS
from sfumato.judgments.formats import FORMATS
from sfumato.labels.aggregate import AGGREGATORS
from sfumato.labels.build import RECIPES
from sfumato.learn.networks import NETWORKS, ImageShape
from sfumato.scores import Metric, metrics

ROOT = Path(__file__).parents[1]
DRAWN = ("gallery.md", "concepts/")
WIDE = {"index.md": ["navigation"], "start.md": ["navigation", "toc"], "gallery.md": ["navigation"]}
"""Pages that have no others beside them, and what they need not show."""
CODE = re.compile(r"\b(?:S[0-4]-\d\d|C\d{1,2})\b")
"""A row of the key to the papers (docs/formulas.md)."""
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLES = {
    "aggregators": "Aggregators",
    "datasets": "Datasets and their licences",
    "formats": "Formats",
    "forms": "Forms of answers that a plan weighs",
    "metrics": "Metrics of `evaluate`",
    "networks": "Networks",
    "presets": "Presets of `elicit new`",
    "questions": "Questions",
    "recipes": "Recipes",
    "rules": "Quality rules",
    "simulators": "Simulators",
    "studies": "Studies",
    "written formats": "Formats that are written",
}


# Tables, from the registries


def table(head: str, rows: Iterator[tuple[str, ...]]) -> str:
    """A Markdown table; ``head`` names the columns between bars."""
    columns = head.split("|")
    lines = [" | ".join(columns), " | ".join("---" for _ in columns), *map(" | ".join, rows)]
    return "\n".join(f"| {line} |" for line in lines)


def sourced(text: str, formulas: str) -> str:
    """A sentence whose rows of papers are links to the key."""

    def link(found: re.Match[str]) -> str:
        codes = CODE.findall(found.group())
        return " (" + ", ".join(f"[source]({formulas}#{code.lower()})" for code in codes) + ")"

    return PAPER.sub(link, " ".join(text.split())).replace("|", "\\|")


def metric_table(formulas: str) -> str:
    """Every metric in words."""

    def row(metric: Metric) -> tuple[str, ...]:
        low, high = ("−∞" if np.isinf(metric.low) else f"{metric.low:.4g}"), f"{metric.high:.4g}"
        both = np.isinf([metric.low, metric.high])
        spread = "any" if both.all() else f"{low} to {'∞' if both[1] else high}"
        unit = f" ({metric.unit})" if metric.unit else ""
        meaning = sourced(metric.meaning, formulas)
        return f"`{metric.name}`", f"{metric.title}{unit}", metric.better, spread, meaning

    return table("name|title|better|range|what it says", (row(one) for one in metrics().values()))


def network_table(formulas: str) -> str:
    """Every network with its size."""

    def shape(sides: ImageShape) -> str:
        return "×".join(map(str, sides))

    def row(name: str) -> tuple[str, ...]:
        kind = NETWORKS[name]
        least = "any" if kind.smallest_side == 1 else f"{kind.smallest_side}×{kind.smallest_side}"
        least += f", multiples of {kind.side_multiple}" if kind.side_multiple > 1 else ""
        source = ", ".join(f"[source]({formulas}#{code.lower()})" for code in kind.rows)
        return (
            f"`{name}`", f"{kind.parameters:,}", f"{shape(kind.image_shape)}, {kind.classes}",
            least, kind.about.rstrip("."), source or "–",
        )  # fmt: skip

    head = "network|parameters|for images and classes|smallest image|what it is|paper"
    return table(head, map(row, NETWORKS))


def licence_table(formulas: str) -> str:
    """Every dataset with its licence and where it comes from."""
    base = formulas.removesuffix("formulas.md")
    rows = (
        (f"[`{name}`]({base}data/{name}.md)", one.about, one.licence, " ".join(one.source.split()))
        for name, one in DATASETS.items()
    )
    return table("name|what|licence|source", rows)


def aggregator_table(formulas: str) -> str:
    """Every aggregator with its estimand and options."""
    rows = (
        (
            f"`{name}`", one.estimand, one.reads, sourced(one.about, formulas),
            ", ".join(f"`{option}={value}`" for option, value in one.options.items()) or "–",
        )
        for name, one in AGGREGATORS.items()
    )  # fmt: skip
    return table("name|estimates|reads|what it does|options", rows)


def recipe_table(formulas: str) -> str:
    """Every recipe with the questions that it reads."""
    rows = (
        (
            f"`{name}`", ", ".join(f"`{kind}`" for kind in one.kinds),
            sourced(one.about, formulas), ", ".join(f"`{option}`" for option in one.takes) or "–",
        )
        for name, one in RECIPES.items()
    )  # fmt: skip
    return table("name|questions|what it does|options", rows)


def format_table(formulas: str) -> str:
    """Every file format."""
    rows = (
        (
            f"`{name}`", one.holds, "read, write" if one.write else "read",
            sourced(one.about, formulas),
        )
        for name, one in FORMATS.items()
    )  # fmt: skip
    return table("name|holds|can be|what the files look like", rows)


TABLES: dict[str, Callable[[str], str]] = {
    "aggregators": aggregator_table,
    "datasets": licence_table,
    "formats": format_table,
    "metrics": metric_table,
    "networks": network_table,
    "recipes": recipe_table,
}


def names_table(kind: str, formulas: str) -> str:
    """The names that an option takes, with the table of its own where it has one."""
    if kind in TABLES and kind != "metrics":
        return TABLES[kind](formulas)
    rows = ((f"`{name}`", sourced(about, formulas)) for name, about in CHOICES[kind]())
    return table("name|what", rows)


# Pages, made from code


def api_pages() -> Iterator[tuple[str, str]]:
    """One page per public name, and one that lists them."""
    rows = []
    for name, target in sfumato._NAMES.items():
        path = target.replace(":", ".")
        yield f"reference/api/{name}.md", f"---\ntitle: {name}\n---\n\n::: {path}\n"
        sentence = _sentence(*target.split(":"))
        rows.append((f"[`sf.{name}`]({name}.md)", sentence.replace("|", "\\|")))
    intro = "# Every public name\n\nAfter `import sfumato as sf`; made from the docstrings.\n\n"
    yield "reference/api/index.md", f"{intro}{table('name|what', iter(rows))}\n"


def _sentence(module: str, name: str) -> str:
    """The first sentence of a docstring, found without importing what it needs."""
    path = ROOT / "src" / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    return " ".join((getattr(import_module(module), name).__doc__ or "").split("\n\n")[0].split())


def command_pages() -> Iterator[tuple[str, str]]:
    """What each command prints when asked for help, and a page that lists them."""
    top = typer.main.get_command(app)
    assert isinstance(top, TyperGroup)
    rows = []
    for words, text, sentence in _helps(
        top, top.make_context("sfumato", [], resilient_parsing=True)
    ):
        page = "-".join(words)
        more = f"[Explained with examples](../../{words[0]}.md).\n\n"
        body = f"# sfumato {' '.join(words)}\n\n{more}```text\n{text.rstrip()}\n```\n"
        yield f"reference/commands/{page}.md", f"---\ntitle: {' '.join(words)}\n---\n\n{body}"
        rows.append((f"[`sfumato {' '.join(words)}`]({page}.md)", sentence))
    intro = "# Every command\n\nAs `sfumato COMMAND --help` prints it.\n\n"
    yield "reference/commands/index.md", f"{intro}{table('command|what', iter(rows))}\n"


def _helps(group: TyperGroup, context: Any) -> Iterator[tuple[tuple[str, ...], str, str]]:
    for name, command in group.commands.items():
        inner = command.context_class(
            command, info_name=name, parent=context, terminal_width=84, max_content_width=84
        )
        if isinstance(command, TyperGroup):
            for words, text, sentence in _helps(command, inner):
                yield (name, *words), text, sentence
        else:
            yield (name,), command.get_help(inner), command.get_short_help_str(limit=200)


def name_pages() -> Iterator[tuple[str, str]]:
    """One page per table of names, and one that lists them."""
    intro = "# Names\n\nEverything that an option takes by name, from the code's own tables.\n\n"
    rows = (
        (f"[{TITLES[kind]}]({kind.replace(' ', '-')}.md)", str(len(CHOICES[kind]())))
        for kind in CHOICES
    )
    yield "reference/names/index.md", f"{intro}{table('names|how many', rows)}\n"
    for kind in CHOICES:
        body = f"# {TITLES[kind]}\n\n{names_table(kind, '../../formulas.md')}\n"
        yield f"reference/names/{kind.replace(' ', '-')}.md", body


def example_pages() -> Iterator[tuple[str, str]]:
    """Notebooks and scripts of ``examples`` as pages."""
    rows = []
    for path in sorted((ROOT / "examples").iterdir()):
        if path.suffix not in (".py", ".ipynb"):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            about = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
            body = f"# {path.name}\n\n```python\n{text}```\n"
        else:
            body = _notebook(json.loads(text))
            about = body.split("\n", 1)[0].removeprefix("# ")
        yield f"examples/{path.stem}.md", body
        rows.append((f"[{path.name}]({path.stem}.md)", about))
    intro = (
        "# Examples\n\nScripts and notebooks of the folder `examples`, all run in the tests.\n\n"
    )
    yield "examples/index.md", f"{intro}{table('file|what', iter(rows))}\n"


def _notebook(notebook: dict[str, Any]) -> str:
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def moved_page(name: str) -> str:
    """A page of the repository's root, with links as seen from ``docs``."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r'(\]\(|src=")docs/', r"\1", text)
    text = re.sub(r'href="docs/([\w/-]+)\.md"', r'href="\1.html"', text)
    text = re.sub(r"\]\(examples/?\)", "](examples/index.md)", text)
    return re.sub(r"\]\((CHANGELOG|CONTRIBUTING)\.md\)", lambda m: f"]({m[1].lower()}.md)", text)


def generated_pages() -> dict[str, str]:
    """Every page that is made, by its place below ``docs``."""
    roots = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}
    pages = {uri: moved_page(name) for uri, name in roots.items()}
    pages["contributing.md"] = moved_page("CONTRIBUTING.md")
    for made in (api_pages, command_pages, name_pages, example_pages):
        pages |= dict(made())
    return pages


# Hooks


def on_config(config: Any) -> Any:
    """Fill the lists of the navigation that end in "..."."""
    global PAGES
    PAGES = generated_pages()
    written = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    config.nav = _filled(config.nav, [*PAGES, *sorted(written - set(PAGES))])
    _add_others(config.nav, sorted(written - set(_pages_of(config.nav))))
    return config


def _pages_of(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for inner in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _pages_of(inner)


def _add_others(nav: list[dict[str, Any]], uris: list[str]) -> None:
    """A page that the menu does not name goes with those of its folder, or to the reference."""
    parts = {title: inner for part in nav for title, inner in part.items()}
    for uri in uris:
        folder = uri.partition("/")[0].capitalize()
        parts[folder if folder in parts else "Reference"].append(uri)


PAGES: Mapping[str, str] = {}


def _filled(nav: Any, uris: list[str]) -> Any:
    if isinstance(nav, dict):
        return {title: _filled(inner, uris) for title, inner in nav.items()}
    if not isinstance(nav, list):
        return nav
    entries: list[Any] = []
    for one in nav:
        if isinstance(one, str) and one.endswith("/..."):
            folder = one.removesuffix("...")
            inside = [uri for uri in uris if uri.rpartition("/")[0] + "/" == folder]
            inside.sort(key=lambda uri: not uri.endswith("index.md"))
            entries += [uri for uri in inside if not uri.endswith("README.md")]
        else:
            entries.append(_filled(one, uris))
    return entries


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made."""
    for uri, text in PAGES.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put tables and drawings where a page asks for them, and anchors into the key."""
    uri = page.file.src_uri
    if uri in WIDE:
        page.meta["hide"] = WIDE[uri]
    if uri.startswith(("start", "guides/", "concepts/")):
        page.meta["search"] = {"boost": 2}
    if uri == "formulas.md":
        return re.sub(
            rf"^\| ({CODE.pattern}) \|",
            lambda found: f'| <a id="{found[1].lower()}"></a>{found[1]} |',
            markdown,
            flags=re.MULTILINE,
        )
    if uri.startswith(DRAWN):
        markdown = _with_drawings(markdown, uri, config, files)
    up = "../" * uri.count("/")
    return re.sub(
        r"<!-- registry: (\w+) -->", lambda found: TABLES[found[1]](f"{up}formulas.md"), markdown
    )


def _with_drawings(markdown: str, uri: str, config: Any, files: Any) -> str:
    """Run the blocks of a page one after the other; below each, what it drew."""
    names: dict[str, Any] = {}

    def shown(found: re.Match[str]) -> str:
        names.pop("drawing", None)
        exec(compile(found[1], uri, "exec"), names)
        drawing = names.get("drawing")
        if drawing is None:
            return found[0]
        place = f"drawings/{uri.removesuffix('.md').replace('/', '-')}-{found.start()}.svg"
        files.append(File.generated(config, place, content=drawing.svg))
        image = f"![{drawing.title}]({'../' * uri.count('/')}{place}){{ .drawing }}"
        if uri == "gallery.md":
            return f"{found[0]}\n\n{image}\n"
        folded = (
            f'<details markdown="1"><summary>The code of this figure</summary>\n\n{found[0]}\n\n'
        )
        return f"{image}\n\n{folded}</details>\n"

    return BLOCK.sub(shown, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> None:
    """Note the first sentence of each page for ``llms.txt``."""
    first = re.search(r"<p>(.*?)</p>", html, re.DOTALL)
    words = re.sub(r"<[^>]+>", "", first[1] if first else "").split()
    LISTED[page.url] = f"- [{page.title}]({page.url}): {' '.join(words)[:200]}"


LISTED: dict[str, str] = {}


def on_post_build(config: Any) -> None:
    """Write ``llms.txt``: every page with its address and how it begins."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", "", *LISTED.values()]
    (Path(config.site_dir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
