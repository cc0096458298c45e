"""Keep the drain loop running: a systemd user unit, a launchd agent, or a tmux session where there is neither.

A systemd user unit ends with your last login unless lingering is on (`loginctl enable-linger`); fleet says so.

examples:
  fleet service install
  fleet service status
  fleet service uninstall
"""

from __future__ import annotations

from fleet.cli import output
from fleet.errors import EXIT_NO, EXIT_OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet

KINDS = ("systemd", "launchd", "tmux")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("install", "uninstall", "status"), nargs="?", default="status")
    parser.add_argument("--kind", choices=KINDS, help="default: what this machine has")
    parser.add_argument("--dry-run", action="store_true", help="for install: show what would be written, write nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Install, uninstall, or say how it stands."""
    from fleet.operate import service  # noqa: PLC0415  # paid only where it is used

    manager = service.manager(fleet, args.kind)
    if args.dry_run:
        path, text = manager.file()
        print(f"# {path}\n{text}" if path else "fleet drain --detach", end="")
        return EXIT_OK
    if args.action == "install":
        fleet.make_home()
        done = manager.install()
    elif args.action == "uninstall":
        others = service.described(fleet) if args.kind is None else []
        for one in others:
            one.uninstall()
        done = manager.uninstall()
    else:
        done = manager.status()
    if args.json:
        output.data(done)
    else:
        print(f"{done['kind']}  {done['state']}" + (f"  {done['file']}" if done["file"] else ""))
        for note in done["notes"]:
            output.say(f"fleet: note: {note}")
    return EXIT_NO if args.action == "status" and done["state"] != "running" else EXIT_OK
