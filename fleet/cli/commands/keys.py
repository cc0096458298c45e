"""A tmux key table for your agents, behind one key of your prefix table.

After your prefix and KEY:
  m (or KEY again)  a menu of your agents, those that wait first
  n  go to the next that waits for you          p  back to where you were
  s  send a message      k  look at the screen      h  hand off
  l  list of all         ?  these keys
s, k and h mean the agent in whose session you are; elsewhere they ask which.

KEY is the first of F, g, u, y … that is free, or the one you name. What was bound before is written down first and
given back by uninstall, also after a crash. Nothing else of your tmux is touched. tmux 3.2 or newer.

examples:
  fleet keys install                 on the tmux server you are in, until it ends
  fleet keys install --persist       and one marked line at the end of your tmux.conf
  fleet keys install --prefix C-f
  fleet keys print                   the bindings as tmux commands, and the line for status-right
  fleet keys uninstall
"""

from __future__ import annotations

import os
import shlex
import sys

from fleet import resources
from fleet.cli import output
from fleet.errors import EXIT_OK, FleetError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet
    from fleet.operate.keys import Done


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("print", "install", "uninstall", "press"),
                        help="press is what the bindings run")  # fmt: skip
    parser.add_argument("words", nargs="*", metavar="WORD", help="for press")
    parser.add_argument("--prefix", metavar="KEY", help="the key behind your prefix, taken even when it is bound")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--persist", action="store_true", help="also put one marked line into your tmux.conf")
    where.add_argument("--conf", metavar="FILE", help="as --persist, into that file")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Print, install, uninstall, or answer a key press."""
    if args.action == "press":
        return _press(args.words, fleet)
    from fleet.operate import keys  # noqa: PLC0415  # a press must start fast

    if args.words:
        raise UsageError(f"{args.words[0]!r} is too much", hint=f"fleet keys {args.action}")
    if args.prefix is not None and args.action == "uninstall":
        raise UsageError("uninstall takes no --prefix", hint="it gives back whichever key was taken")
    if args.action == "print" and (args.persist or args.conf):
        raise UsageError("print writes nothing", hint="`fleet keys install --persist` does")
    key = None if args.prefix is None else keys.check_key(args.prefix)
    socket = keys.here(fleet)
    if args.action == "print":
        return _print(args, fleet, socket, key)
    conf = _conf(args, fleet)
    if args.action == "install":
        _installed(args, keys.install(fleet, socket, key, conf))
    else:
        _uninstalled(args, keys.uninstall(fleet, socket, conf))
    return EXIT_OK


def _conf(args: argparse.Namespace, fleet: Fleet) -> str | None:
    from fleet.operate import tmux_conf  # noqa: PLC0415  # a press must start fast

    if args.conf is not None:
        path: str = os.path.abspath(os.path.expanduser(args.conf))
        if not args.conf or os.path.isdir(path) or not os.path.isdir(os.path.dirname(path)):
            raise UsageError(f"--conf {args.conf!r} is no file that could be written", hint="name your tmux.conf")
        return path
    return tmux_conf.choose(fleet.environ) if args.persist else None


def _print(args: argparse.Namespace, fleet: Fleet, socket: str, key: str | None) -> int:
    from fleet.operate import keys  # noqa: PLC0415  # a press must start fast
    from fleet.tmux import bindings, keymap  # noqa: PLC0415  # a press must start fast

    prefix = key or keys.prefix_in_view(fleet, socket)
    found = keymap.keymap(prefix, keys.argv(fleet))
    segment = status_right(fleet)
    if args.json:
        rows = [{"table": one.table, "key": one.key, "note": one.note, "command": one.command} for one in found]
        output.data({"prefix": prefix, "socket": socket, "bindings": rows, "status_right": segment})
        return EXIT_OK
    print("# fleet keys: what `fleet keys install` binds")
    print("\n".join(one.line for one in found))
    print("# how many agents wait and work, for your status line")
    print(f"set-option -ag status-right {bindings.quote(' ' + segment)}")
    return EXIT_OK


def status_right(fleet: Fleet) -> str:
    """The cheapest command that prints the segment, for status-right: a bare interpreter, without site-packages."""
    script = os.path.join(resources.folder("hooks"), "tmux_segment.py")
    # tmux expands the whole option, first as a time and then as a format
    words = shlex.join([sys.executable, "-I", "-S", script, fleet.layout.home])
    return f"#({words.replace('%', '%%').replace('#', '##')})"


def _installed(args: argparse.Namespace, done: Done) -> None:
    from fleet.operate import tmux_conf  # noqa: PLC0415  # a press must start fast

    if args.json:
        _data(done)
        return
    if done.server:
        print(f"{done.prefix}  bound behind your tmux prefix on {done.socket}")
        for line in done.taken:
            output.say(f"fleet: in place of: {line}")
    if done.conf:
        words = "has a line that binds the keys at every start" if done.conf_changed else "has its line already"
        output.say(f"fleet: {done.conf} {words}")
        if done.conf not in tmux_conf.places(os.environ):
            output.say("fleet: note: tmux reads that file only where something tells it to")
    output.say("hint: `fleet keys print` shows a line for status-right; `fleet keys uninstall` gives everything back")


def _uninstalled(args: argparse.Namespace, done: Done) -> None:
    if args.json:
        _data(done)
        return
    if not (done.unbound or done.conf_changed):
        print("nothing to give back")
        return
    if done.unbound:
        print(f"{done.unbound} keys given back on {done.socket}")
    for line in done.given_back:
        output.say(f"fleet: again: {line}")
    if done.conf_changed:
        print(f"{done.conf} is without its line again")


def _data(done: Done) -> None:
    output.data({"socket": done.socket, "server": done.server, "prefix": done.prefix, "taken": done.taken,
                 "given_back": done.given_back, "unbound": done.unbound, "conf": done.conf,
                 "conf_changed": done.conf_changed})  # fmt: skip


def _press(words: list[str], fleet: Fleet) -> int:
    """
    Answer a key press: silently and with status 0, because tmux puts anything else over the user's pane.

    What the words mean is the bindings' business (tmux.keymap): an action with its own words, then client and session.
    """
    if words[:1] == ["view"] and len(words) == 2:
        return _view(words[1], fleet)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        sys.stdout = sys.stderr = nowhere
        try:
            _answer(words, fleet)
        except (FleetError, OSError) as e:
            _note(fleet, words, e)
        except Exception as e:  # noqa: BLE001  # an outer edge: a traceback would cover the user's pane
            _note(fleet, words, e)
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return EXIT_OK


def _answer(words: list[str], fleet: Fleet) -> None:
    from fleet.operate import keys  # noqa: PLC0415  # paid only where it is used

    if words[:1] == ["startup"] and len(words) <= 2:
        keys.install(fleet, keys.here(fleet), *(keys.check_key(key) for key in words[1:]))
        return
    from fleet.operate.pressing import ARGUMENTS, Press  # noqa: PLC0415  # paid only where it is used

    if len(words) < 3 or len(words) - 3 not in ARGUMENTS.get(words[0], ()):
        raise UsageError(f"no such key press: {' '.join(words)}")
    action, *own = words[:-2]
    Press(fleet, keys.here(fleet), *words[-2:]).act(action, own)


def _note(fleet: Fleet, words: list[str], error: Exception) -> None:
    from fleet.log import open_log  # noqa: PLC0415  # paid only where it is used

    try:
        open_log(fleet.layout, "keys").warning(
            "key press failed", words=words, error=f"{type(error).__name__}: {error}"
        )
    except OSError:
        pass


def _view(what: str, fleet: Fleet) -> int:
    """A popup's content, until a key is pressed."""
    import io  # noqa: PLC0415  # paid only where it is used
    from contextlib import redirect_stderr, redirect_stdout  # noqa: PLC0415  # paid only where it is used

    from fleet.cli.commands import list_agents, peek  # noqa: PLC0415  # paid only where it is used
    from fleet.operate.viewing import view  # noqa: PLC0415  # paid only where it is used

    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError("a view needs a terminal")

    def lines() -> list[str]:
        try:
            if what != "list":
                return peek.screen(fleet, fleet.agents.successor(fleet.agents.find(what, archived=True)), None)[0]
            text = io.StringIO()
            with redirect_stdout(text), redirect_stderr(text):
                list_agents.show(fleet, None)
            return text.getvalue().splitlines()
        except FleetError as e:
            return [f"fleet: {e}"]

    view(lines, from_top=what == "list")
    return EXIT_OK
