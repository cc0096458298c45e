"""The documents hang together: links lead somewhere, and commands and options in them exist."""

import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fleet.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"```(?:shell)?\n(.*?)```", re.DOTALL)
LONGEST_README = 170  #: lines


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands():
    """(page, words) of every `fleet …` line in a code block."""
    for page in PAGES:
        for block in FENCE.findall(page.read_text()):
            for line in block.splitlines():
                line = line.removeprefix("$ ").split("  #")[0].split(" | ")[0].split(" || ")[0]
                words = shlex.split(line, comments=True) if line.startswith("fleet ") else []
                if words and ":" not in words[0]:
                    yield page.name, words[1:]


@functools.cache
def help_of(name):
    """The help of a command."""
    argv = [sys.executable, "-m", "fleet", name, "--help"]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True).stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_link_leads_somewhere(page):
    """A relative link names a file of the repository, and its anchor a heading there."""
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page

        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text()), link


def test_every_page_is_linked_from_the_readme():
    """A reader finds each document."""
    readme = (ROOT / "README.md").read_text()

    assert [] == [page.name for page in PAGES[1:] if f"(docs/{page.name})" not in readme]


@pytest.mark.parametrize(("page", "words"), sorted(set((p, tuple(w)) for p, w in commands())), ids=str)
def test_every_command_of_a_document_exists(page, words):
    """Its name is in the table, and its options are in its help."""
    while words[0] == "-c":
        words = words[2:]
    own = words[: words.index("--")] if "--" in words else words

    assert words[0] in COMMANDS
    for option in (word.partition("=")[0] for word in own if re.match(r"-{1,2}[a-z]", word)):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_of(words[0])), option


def test_the_readme_is_short_and_shows_the_picture():
    """It begins with what fleet is, a picture and two commands, and leaves detail to the pages."""
    lines = (ROOT / "README.md").read_text().splitlines()
    first = "\n".join(lines[:20])

    assert "docs/fleet.svg" in first and "scripts/demo" in first and "scripts/test" in first
    assert len(lines) <= LONGEST_README


def words_of(picture):
    """The texts of an SVG, which must be one that needs nothing from elsewhere."""
    root = ElementTree.fromstring(picture.read_text())
    tags = {one.tag.removeprefix("{http://www.w3.org/2000/svg}") for one in root.iter()}

    assert tags <= {"svg", "title", "rect", "circle", "text", "g", "path"}
    assert not re.search(r"href|url\(|<script|@import", picture.read_text())
    return " ".join("".join(one.itertext()) for one in root.iter())


@pytest.mark.timeout(600)  # its own deadlines come first: killed, it could not end what it started
def test_the_picture_is_made_from_a_real_run(tmp_path):
    """scripts/picture shows the agents and states of the picture in docs, and leaves no folder or server behind."""
    target = tmp_path / "fleet.svg"

    with tempfile.TemporaryDirectory() as place:  # short, for the names of sockets
        argv = [sys.executable, ROOT / "scripts" / "picture", target]
        done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "TMPDIR": place})
        assert [] == os.listdir(place)

    assert 0 == done.returncode, done.stderr
    for picture in (target, ROOT / "docs" / "fleet.svg"):
        for word in ("fleet list", "fix-login", "parser", "add-search", "waiting (permission)", "working", "1 over"):
            assert word in words_of(picture), picture
