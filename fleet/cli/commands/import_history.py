"""Look at an exported history: check the archive and unpack it into a home of its own, where nothing is ever started.

examples:
  fleet import report.tar.gz
  fleet import report.tar.gz --into /tmp/report
  FLEET_HOME=/tmp/report fleet show fix-login      also: events, peek, list, logs

The folder is new or empty: what is there is never changed. Remove it when you are done.
"""

from __future__ import annotations

from fleet.cli import output
from fleet.errors import EXIT_OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE", help="what `fleet export` wrote")
    parser.add_argument("--into", metavar="DIR", help="default: a new folder under FLEET_HOME/imports")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Check and unpack."""
    import shlex  # noqa: PLC0415  # paid only where it is used

    from fleet.operate.importing import unpack  # noqa: PLC0415  # paid only where it is used

    path, manifest = unpack(fleet, args.file, args.into)
    keep = ("dispatch_id", "task_id", "project", "agents", "exported_at", "redacted", "unread")
    done = {"path": path, **{name: manifest.get(name) for name in keep}, "files": len(manifest["files"])}
    if args.json:
        output.data(done)
        return EXIT_OK
    print(path)
    output.say(f"look at it with: FLEET_HOME={shlex.quote(path)} fleet show {shlex.quote(str(done['task_id']))}")
    return EXIT_OK
