"""
Records the corpus of screens from the real clients, which ask a stub model: `scripts/record-screens`.

A case is one function that brings a fresh client into a situation; what it is called with in `@case` is the truth about
the screen, for it was provoked. Each is recorded at three widths, and the case's line goes into corpus/cases.yaml.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from tests.screens.cases import CASES
from tests.screens.stage import HEIGHTS, NotShown, Stage, versions

CORPUS = Path(__file__).parent / "corpus"
HEAD = """\
# What the recorded screens beside this file show; written by scripts/record-screens.
#   <engine>-<version>: <case>: the file is <engine>-<version>/<case>.<width>.txt, `capture-pane -p -e` of the whole screen
#   turn: starting working waiting idle compacting exited; reason: why it waits or is idle; draft: what is typed
#   question and options: of a dialog, as labels without numbers and keys; {width} stands for the width in three digits
#   cut: the client shows a part only of what it asks about
#   garbled: widths at which the client itself draws the dialog wrong; account: what the screen says of the account
#   background: work that goes on behind a turn; status: the exit status
# The pane's title at that moment stands in titles.yaml.
"""


def record(engine, width, wanted):
    """All wanted cases of one engine at one width: which of them could not be provoked, and the panes' titles."""
    folder = CORPUS / f"{engine}-{versions()[engine]}"
    folder.mkdir(parents=True, exist_ok=True)
    stage, failed, titles = Stage(engine, width), {}, {}
    try:
        for name, (play, _) in CASES[engine].items():
            if wanted and name not in wanted:
                continue
            stage.fresh()
            try:
                play(stage)
            except NotShown as error:
                failed[f"{engine} {name}.{width}"] = str(error)
                continue
            (folder / f"{name}.{width}.txt").write_text(stage.styled().rstrip("\n") + "\n", encoding="utf-8")
            titles[f"{name}.{width}"] = stage.tmux("display-message", "-p", "#{pane_title}").rstrip("\n")
    finally:
        stage.close()
    return failed, titles


def remember(engine, titles):
    """Put the panes' titles down."""
    path = CORPUS / "titles.yaml"
    every = (yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None) or {}
    folder = f"{engine}-{versions()[engine]}"
    every[folder] = dict(sorted({**every.get(folder, {}), **titles}.items()))
    path.write_text(yaml.safe_dump(every, allow_unicode=True, sort_keys=True, width=1000), encoding="utf-8")


def label(engine):
    """Write the engine's lines in cases.yaml, for the cases that are recorded."""
    path = CORPUS / "cases.yaml"
    every = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None
    every = every or {}
    folder = CORPUS / f"{engine}-{versions()[engine]}"
    recorded = {file.name.split(".")[0] for file in folder.glob("*.txt")}
    every[folder.name] = {name: truth for name, (_, truth) in CASES[engine].items() if name in recorded}
    text = yaml.safe_dump(every, allow_unicode=True, sort_keys=False, width=1000)
    path.write_text(HEAD + text, encoding="utf-8")


def main(argv):
    """Record; 1 when a case could not be provoked."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0], prog="scripts/record-screens")
    parser.add_argument("--engine", action="append", choices=sorted(CASES), help="only these (default: all)")
    parser.add_argument("--width", action="append", type=int, choices=sorted(HEIGHTS), help="only these (default: all)")
    parser.add_argument("--labels", action="store_true", help="write cases.yaml only, record nothing")
    parser.add_argument("case", nargs="*", help="only these cases (default: all)")
    arguments = parser.parse_args(argv)
    failed = {}
    for engine in arguments.engine or sorted(CASES):
        widths = [] if arguments.labels else arguments.width or sorted(HEIGHTS)
        with ThreadPoolExecutor(3) as pool:
            for one, titles in pool.map(lambda width: record(engine, width, arguments.case), widths):  # noqa: B023
                failed |= one
                remember(engine, titles)
        label(engine)
    for name, why in failed.items():
        print(f"{name}: {why}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
