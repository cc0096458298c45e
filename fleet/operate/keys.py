"""Taking keys of a tmux server and giving them back.

install: journal, then all bindings, then the line in tmux.conf. uninstall: the line, the bindings, the journal. Each
step looks at what is there and can be repeated, so whatever a crash left, the same command again completes it, and the
opposite one undoes it. A key that meanwhile is bound to something else than ours is the user's and left alone.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, field

from fleet.errors import Refused, UsageError
from fleet.formats.atomic import Lock
from fleet.operate import key_journal, tmux_conf
from fleet.operate.key_journal import Journal
from fleet.tmux import keymap
from fleet.tmux.bindings import Bindings, again, quote
from fleet.tmux.client import check_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.tmux.bindings import Bound, Server

LOCK_SECONDS = 30.0
PASSED_ON = ("FLEET_TMUX_SOCKET", "FLEET_TMUX_BIN")


@dataclass(slots=True)
class Done:
    """What `install` or `uninstall` did."""

    socket: str
    prefix: str | None = None
    server: bool = False  #: a server runs there
    taken: list[str] = field(default_factory=list)  #: user's bindings that ours stand upon, as tmux prints them
    given_back: list[str] = field(default_factory=list)  #: user's bindings that are there again
    unbound: int = 0  #: keys of ours that are no more
    conf: str | None = None
    conf_changed: bool = False


def argv(fleet: Fleet) -> list[str]:
    """How a tmux server starts this fleet, whatever its own environment is."""
    script = os.path.join(os.path.dirname(sys.executable), "fleet")
    own = [script] if os.access(script, os.X_OK) else fleet.drain_argv()[:-1]
    passed = [f"{name}={fleet.environ[name]}" for name in PASSED_ON if fleet.environ.get(name)]
    return ["env", f"FLEET_HOME={fleet.layout.home}", *passed, *own]


def here(fleet: Fleet) -> str:
    """The socket of the server whose keys are meant: the one we are in, else the one where agents go."""
    inside = fleet.environ.get("TMUX", "").rsplit(",", 2)[0]
    return inside or fleet.socket


def conf_line(fleet: Fleet, key: str | None) -> str:
    """What stands in tmux.conf."""
    return f"run-shell -b {quote(keymap.shell(argv(fleet), ['startup', *([key] if key else [])]))}"


def install(fleet: Fleet, socket: str, key: str | None = None, conf: str | None = None) -> Done:
    """
    Bind the keys on the server, and put the line into *conf* when one is named.

    Args:
        key: the user's choice, taken even when it is bound. None: the one of before, else the first free one.

    Raises:
        Refused: no key is free, another fleet home has its keys there, or a binding could not be given back.
        UsageError: tmux knows no such key.
    """
    fleet.make_home()
    with _lock(fleet):
        bindings = Bindings(fleet.tmux_on(socket))
        server = bindings.server()
        journal = key_journal.read(fleet.layout, socket) or Journal(socket)
        if server is None:
            if conf is None:
                raise Refused(f"no tmux server runs on {socket}", hint="start tmux first, or give --persist")
            check_version(fleet.tmux_binary)
            journal.server, journal.before = None, {}
            journal.prefix, journal.named = key, key is not None
        else:
            check_version(fleet.tmux_binary, server.version)
            _take(fleet, bindings, server, journal, key)
        done = Done(socket, journal.prefix, server is not None, [b.line for b in journal.before.values()])
        if conf is not None:
            journal.conf = conf
            key_journal.write(fleet.layout, journal)
            done.conf, done.conf_changed = (
                conf,
                tmux_conf.add(conf, conf_line(fleet, journal.prefix if journal.named else None)),
            )
        return done


def _take(fleet: Fleet, bindings: Bindings, server: Server, journal: Journal, key: str | None) -> None:
    """Judge first, then the journal, then the keys."""
    ours = _ours_are_there(fleet, bindings) or journal.is_of(server)
    if not journal.is_of(server):
        journal.before, journal.server = {}, (server.pid, server.started)
        if not journal.named:
            journal.prefix = None
    old = journal.prefix
    chosen = key or (journal.prefix if journal.named else None) or _ours_already(bindings, journal) or _free(bindings)
    wanted = keymap.keymap(chosen, argv(fleet))
    before: dict[tuple[str, str], Bound] = {}
    for one in wanted:
        live = bindings.find(one.table, one.key)
        if live is None:
            continue
        if not (ours and is_ours(one.table, live.line)):
            if not bindings.can_be_given_back(one.table, live):
                raise Refused(f"{one.key!r} is bound to what tmux could not give back: {live.line}",
                              hint=_way_round(one.table, one.key))  # fmt: skip
            before[one.table, one.key] = live
        elif (one.table, one.key) in journal.before:
            before[one.table, one.key] = journal.before[one.table, one.key]
    moved = [("prefix", old), (keymap.TABLE, old)] if old and old != chosen else []
    kept = {(one.table, one.key) for one in wanted}
    lines = [line for table, name in moved if name and (table, name) not in kept
             and (line := _give_back(bindings, journal, table, name))]  # fmt: skip
    # Until the old key is given back, the journal knows what both stood upon.
    journal.before, journal.prefix = {**journal.before, **before}, chosen
    journal.named = journal.named or key is not None
    key_journal.write(fleet.layout, journal)
    bindings.run([*lines, *(one.line for one in wanted)])
    if journal.before != before:
        journal.before = before
        key_journal.write(fleet.layout, journal)


def _way_round(table: str, key: str) -> str:
    if table == keymap.TABLE:  # no choice of a prefix changes what is in the table behind it
        return f"`tmux unbind-key -T {table} {shlex.quote(key)}` first"
    return "name another key with --prefix"


def is_ours(table: str, line: str) -> bool:
    """Whether a live binding is one that some fleet made."""
    return keymap.is_ours(line) if table == keymap.TABLE else keymap.enters(line)


def _ours_are_there(fleet: Fleet, bindings: Bindings) -> bool:
    """Whether our table holds keys of this fleet home. Raises Refused when they are another's."""
    # tmux prints what it must with backslashes, so without any of them the two are compared.
    home = (shlex.quote(f"FLEET_HOME={fleet.layout.home}").replace("#", "##") + " ").replace("\\", "")
    lines = [line for line in bindings.table(keymap.TABLE) if keymap.is_ours(line)]
    for line in lines:
        if home not in line.replace("\\", ""):
            raise Refused("another fleet home has its keys on this server",
                          hint="`fleet keys uninstall` under that FLEET_HOME gives them back")  # fmt: skip
    return bool(lines)


def _ours_already(bindings: Bindings, journal: Journal) -> str | None:
    """The key in use, when it still leads to our table."""
    if journal.prefix is None:
        return None
    live = bindings.find("prefix", journal.prefix)
    return journal.prefix if live is None or keymap.enters(live.line) else None


def _free(bindings: Bindings) -> str:
    for key in keymap.CANDIDATES:
        live = bindings.find("prefix", key)
        if live is None or keymap.enters(live.line):
            return key
    raise Refused("every key that fleet would take is bound", hint="name one with --prefix KEY")


def _give_back(bindings: Bindings, journal: Journal, table: str, key: str) -> str | None:
    """The tmux command that gives a key back; None when it is not ours any more."""
    live = bindings.find(table, key)
    if live is None or not is_ours(table, live.line):
        return None
    before = journal.before.get((table, key))
    return again(before, table, table) if before else f"unbind-key -T {table} {quote(key)}"


def prefix_in_view(fleet: Fleet, socket: str) -> str:
    """The key that is in use, else the one that `install` would take."""
    bindings = Bindings(fleet.tmux_on(socket))
    server = bindings.server()
    journal = key_journal.read(fleet.layout, socket)
    if journal is not None and journal.prefix and (journal.named or (server and journal.is_of(server))):
        return journal.prefix
    return _free(bindings) if server else keymap.CANDIDATES[0]


def uninstall(fleet: Fleet, socket: str, conf: str | None = None) -> Done:
    """Give everything back; *conf* names the file with our line when the journal is lost. Safe to repeat."""
    with _lock(fleet):
        bindings = Bindings(fleet.tmux_on(socket))
        server = bindings.server()
        journal = key_journal.read(fleet.layout, socket)
        done = Done(socket, journal.prefix if journal else None, server is not None)
        known = [path for path in (conf, journal.conf if journal else None) if path]
        for path in known or tmux_conf.places(fleet.environ):
            if tmux_conf.remove(path):
                done.conf, done.conf_changed = path, True
        if server is not None:
            _return(fleet, bindings, server, journal or Journal(socket), done)
        key_journal.forget(fleet.layout, socket)
        return done


def _return(fleet: Fleet, bindings: Bindings, server: Server, journal: Journal, done: Done) -> None:
    ours = _ours_are_there(fleet, bindings)
    if not journal.is_of(server):
        if not ours:
            return
        journal.before = {}
    names = {(one.table, one.key) for one in keymap.keymap(journal.prefix or keymap.CANDIDATES[0], argv(fleet))}
    names |= set(journal.before)
    if ours:
        for table in ("prefix", keymap.TABLE):
            lines = [line for line in bindings.table(table) if is_ours(table, line)]
            names |= {(table, word) for line in lines if (word := _key_of(line))}
    lines = []
    # Our table last: while it is there, what leads into it is known for ours.
    for table, key in sorted(names, key=lambda name: (name[0] == keymap.TABLE, name)):
        line = _give_back(bindings, journal, table, key)
        if line:
            lines.append(line)
            if (table, key) in journal.before:
                done.given_back.append(journal.before[table, key].line)
    if lines:
        bindings.run(lines)
    done.unbound = len(lines)


def _key_of(line: str) -> str | None:
    """The key in a printed binding, or None."""
    words = line.split()
    at = words.index("-T") + 2 if "-T" in words else len(words)
    return words[at].removeprefix("\\") if at < len(words) else None


def _lock(fleet: Fleet) -> Lock:
    path = os.path.join(fleet.layout.run, "locks", "keys.lock")
    return Lock(path, LOCK_SECONDS, sleep=fleet.clock.sleep, monotonic=fleet.clock.monotonic)


def check_key(key: str) -> str:
    """
    A key that the user named.

    Raises:
        UsageError: it cannot be one; whether tmux knows it is asked when it is bound.
    """
    if not key or key != key.strip() or not key.isprintable() or " " in key or key.startswith("--"):
        raise UsageError(f"{key!r} is no key", hint="as in tmux.conf: F, C-f, M-f, F5, Space")
    return key
