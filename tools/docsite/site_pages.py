"""Hooks of MkDocs: pages from outside docs/, Markdown as our tests read it, and what may not be in the built pages.

The documents are read in three places: beside the code, by the tests, which run them, and on the site. They are written
for the first two. This makes the third of them: fences say what the highlighter wants to know, marks become the
tables that they name, and what is linked to outside docs/ comes along.
"""

import json
import logging
import posixpath
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # MkDocs reads this file by its path

log = logging.getLogger("mkdocs.hooks.site_pages")  # its warnings end a strict build

#: Pages that lie at the root of the repository, by their name on the site.
FROM_THE_ROOT = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
NOTEBOOKS = "examples/notebooks"
#: What people search for must be found.
SEARCHED = (
    "transfer learning", "warm start", "negative transfer", "simple regret", "Pareto front", "acquisition function",
    "posterior",
)  # fmt: skip
#: Where files from outside docs/ lie on the site.
BROUGHT = "repository"

_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")
_NAMED_BY_FILE = re.compile(r"\[([\w/]+\.md)\]\(([^)\s#:]+)(?=[)#])")
_INTERVAL = re.compile(r"(\(\d[\d.,]*)–(?=\d[\d.,]*\))")  # (0.41–0.75), which no line should break
_FILE = re.compile(r"^<!-- file: (\S+) -->$", re.MULTILINE)
_FENCE = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add pages from the root, notebooks as pages, and every file outside docs/ that a page links to."""
    from mkdocs.structure.files import File, InclusionLevel

    def add(uri: str, content: str | bytes, inclusion: InclusionLevel = InclusionLevel.INCLUDED) -> None:
        files.append(File.generated(config, uri, content=content, inclusion=inclusion))

    wanted: set[str] = set()
    for page in list(files.documentation_pages()):
        wanted |= set(outside(page.content_string, page.src_uri))
    for uri, path in FROM_THE_ROOT.items():
        add(uri, (ROOT / path).read_text())
    for notebook in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        wanted.add(f"{NOTEBOOKS}/{notebook.name}")
        add(f"notebooks/{notebook.stem}.md", as_markdown(notebook))
    for path in sorted(wanted):
        if (ROOT / path).is_dir():
            inside = sorted(one.name for one in (ROOT / path).iterdir() if one.is_file())
            links = "\n".join(f"- [{name}]({posixpath.basename(path)}/{name})" for name in inside)
            add(f"{BROUGHT}/{path}.md", f"# {path}\n\n{links}\n", InclusionLevel.NOT_IN_NAV)
            for name in inside:
                add(f"{BROUGHT}/{path}/{name}", (ROOT / path / name).read_bytes())
        else:
            add(f"{BROUGHT}/{path}", (ROOT / path).read_bytes())
    return files


def on_page_markdown(markdown: str, page: "Page", **_: Any) -> str:
    """A document as the site shows it."""
    uri = page.file.src_uri
    written = FROM_THE_ROOT.get(uri, f"docs/{uri}")
    text = re.sub(r"^<!--.*?-->$", "", _with_tables(markdown, uri), flags=re.MULTILINE)
    text = _FENCE.sub(_as_highlighted, text)
    text = _INTERVAL.sub("\\1\u2060–\u2060", text)
    text = re.sub(r"^(#+ .*)\n(?=[-*] )", r"\1\n\n", text, flags=re.MULTILINE)
    text = _NAMED_BY_FILE.sub(
        lambda found: f"[{_title(posixpath.dirname(written), found[2]) or found[1]}]({found[2]}", text
    )
    return _LINK.sub(lambda found: _on_the_site(found[1], posixpath.dirname(written), posixpath.dirname(uri)), text)


def _with_tables(markdown: str, uri: str) -> str:
    """The document with the tables and the files that its marks name."""
    markdown = _FILE.sub(_with_file, markdown)
    if not re.search("<!-- (table|list): ", markdown):
        return markdown
    from benchmarks.site_tables import filled  # all studies: some seconds

    return filled(markdown, uri)


def _with_file(mark: re.Match[str]) -> str:
    """A file of the repository as a block of code with its name."""
    path = ROOT / mark[1]
    return f"```python {path.name}\n{path.read_text(encoding='utf-8')}```"


def on_post_page(output: str, page: "Page", **_: Any) -> str:
    """Warn of what a page would load from elsewhere, and of pictures that say nothing to those who do not see them."""
    for what in faults(output):
        log.warning("%s: %s", page.file.src_uri, what)
    return output


def on_post_build(config: "MkDocsConfig", **_: Any) -> None:
    """Warn of terms of the field that a search would not find."""
    for term in unfound((Path(config.site_dir) / "search" / "search_index.json").read_text(encoding="utf-8")):
        log.warning("the search does not find %r", term)


def unfound(index: str) -> list[str]:
    """The terms that no page of an index of the search has."""
    texts = " ".join(f"{entry['title']} {entry['text']}" for entry in json.loads(index)["docs"]).lower()
    return [term for term in SEARCHED if term.lower() not in texts]


def outside(markdown: str, uri: str) -> Iterator[str]:
    """The files of the repository, outside docs/, that a page of docs/ links to."""
    for link in _LINK.findall(_FENCE.sub("", markdown)):
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(uri), link))
        if not path.startswith("docs/") and (ROOT / path).exists() and path not in FROM_THE_ROOT.values():
            yield path


def _on_the_site(link: str, from_folder: str, to_folder: str) -> str:
    """A link of a document in one folder of the repository, as it is for its page in one of the site."""
    path = posixpath.normpath(posixpath.join(from_folder, link))
    if path.startswith("docs/"):
        path = path.removeprefix("docs/")
    elif posixpath.dirname(path) == NOTEBOOKS:
        path = f"notebooks/{posixpath.basename(path).replace('.ipynb', '.md')}"
    elif (ROOT / path).is_dir():
        path = f"{BROUGHT}/{path}.md"
    elif (ROOT / path).exists():
        path = next((uri for uri, written in FROM_THE_ROOT.items() if written == path), f"{BROUGHT}/{path}")
    else:
        return link  # MkDocs says that it leads nowhere
    return posixpath.relpath(path, to_folder or ".")


def _title(folder: str, link: str) -> str | None:
    """What a document calls itself, up to a colon: better on a page than the name of its file."""
    path = ROOT / folder / link
    heading = re.match(r"# ([^:\n]+)", path.read_text()) if path.is_file() else None
    return heading[1] if heading else None


def _as_highlighted(fence: re.Match[str]) -> str:
    """A block of code: its kind as Pygments calls it, a file's name as its title, and no remarks for doctest."""
    kind, name, content = fence[1], fence[2], fence[3]
    content = re.sub(r" *# doctest: \+\w+", "", content).strip("\n")
    if kind == "python" and content.startswith(">>>"):
        kind = "pycon"
    if kind == "console":  # documents have the beginnings of what is said, as the rest may differ
        content = re.sub(r"^(?!\$ )(.*[^.\n│┃┓┩┘])$", r"\1 …", content, flags=re.MULTILINE)
    if kind == "console" and "┃" in content:  # a drawn table, which is scrolled: wrapped, it could not be read
        return f"``` {{ .console .drawn }}\n{content}\n```"
    title = f' title="{name}"' if name else ""
    return f"```{kind or 'text'}{title}\n{content}\n```"


def as_markdown(notebook: Path) -> str:
    """A notebook as a page: its words, its code, what it shows, and where to get it."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_as_shown(output) for output in cell.get("outputs", [])]
    link = f"../{BROUGHT}/{NOTEBOOKS}/{notebook.name}"
    note = f'\n\n[Download this notebook]({link}){{ download="{notebook.name}" }}; the tests run it.\n\n'
    return "\n\n".join(parts).replace("\n\n", note, 1) + "\n"


def _as_shown(output: dict[str, Any]) -> str:
    """A stored output of a cell: a picture, or text."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![What this cell draws](data:image/png;base64,{data['image/png']})"
    text = "".join(output.get("text", data.get("text/plain", []))).rstrip()
    return f"```text\n{text}\n```"


class _Resources(HTMLParser):
    """Collects what a page loads by itself, and pictures without a description."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes that load something; a link to click loads nothing."""
        given = dict(attrs)
        loads = given.get("src") or (given.get("href") if tag == "link" and given.get("rel") != "canonical" else None)
        if loads and re.match(r"(\w+:)?//", loads):
            self.found.append(f"<{tag}> loads {loads}")
        if tag == "img" and not given.get("alt"):
            self.found.append(f"the picture {given.get('src')} has no description")


def faults(html: str) -> list[str]:
    """What a page may not have: resources from elsewhere, and pictures without a description."""
    reader = _Resources()
    reader.feed(html)
    styles = re.findall(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]+)", html)
    return reader.found + [f"a style loads {url}" for url in styles]
