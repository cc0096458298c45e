"""The recorded screens with what is known of each. See corpus/cases.yaml."""

import functools
from pathlib import Path
from typing import NamedTuple

import yaml

from fleet.engines.screen import cells, plain

CORPUS = Path(__file__).parent / "corpus"


class Recorded(NamedTuple):
    """One screen."""

    engine: str
    version: str
    case: str
    width: int
    truth: dict
    title: str | None  #: the pane's title at that moment
    path: Path

    @property
    def lines(self):
        """The styled lines as `capture-pane -p -e` printed them."""
        return self.path.read_text(encoding="utf-8").split("\n")

    @property
    def text(self):
        """The screen's plain lines."""
        return [plain(row) for row in cells(self.lines)]

    def __str__(self):
        return f"{self.engine}-{self.case}.{self.width}"


@functools.cache
def recorded():
    """Every screen of the corpus."""
    cases = yaml.safe_load((CORPUS / "cases.yaml").read_text(encoding="utf-8"))
    titles = yaml.safe_load((CORPUS / "titles.yaml").read_text(encoding="utf-8"))
    found = []
    for path in sorted(CORPUS.glob("*/*.txt")):
        engine, _, version = path.parent.name.rpartition("-")
        case, width = path.stem.split(".")
        title = titles.get(path.parent.name, {}).get(path.stem)
        truth = filled(cases[path.parent.name][case], f"{int(width):03}")
        found.append(Recorded(engine, version, case, int(width), truth, title, path))
    return found


def filled(value, width):
    """*value* with the width put in where its labels leave room for it."""
    if isinstance(value, str):
        return value.replace("{width}", width)
    if isinstance(value, list):
        return [filled(one, width) for one in value]
    return {name: filled(one, width) for name, one in value.items()} if isinstance(value, dict) else value
