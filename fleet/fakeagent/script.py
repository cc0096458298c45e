"""
The script file: what the model says and how the client behaves.

    {"rules": [...], "queue": [...], "defaults": {...}, "client": {...}}

Every key may be absent. A key that is not known is an error and not a warning: a scenario with a
misspelt key would test something else than it says. For the same reason the rules of a script that
was replaced hold from the next turn on, as those of a model server do; the rest is read once.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from fleet.fakeagent.directives import Playbook, Rule, read_defaults, read_queue, read_rules
from fleet.fakeagent.errors import BadScript

if TYPE_CHECKING:
    from collections.abc import Callable

POINTS = ("boot", "first_prompt", "after_accept")
CHOICES = {"trust_default": ("yes", "no"), "early_keys": ("left", "swallowed", "mangled")}


class Client(NamedTuple):
    """How the client itself behaves."""

    boot_seconds: float = 0.0  #: From the start until it takes keys and fires SessionStart.
    early_keys: str = (
        "left"  #: What becomes of keys typed before that: left in the box, swallowed, or mangled and sent.
    )
    swallow_gap_seconds: float = 0.05  #: An Enter this soon after a paste is lost ...
    swallow_window_seconds: float = 1.0  #: ... within this time after the boot.
    swallow_enter: int = 0  #: This many Enters after a paste are lost, whenever they come.
    title: str = "Fake session"  #: The generated title, from the first prompt on.
    placeholder: str = 'Try "fix lint errors"'  #: Dim text in the empty composer; "" for none.
    trust_dialog: bool = False  #: Ask whether the folder is trusted, before SessionStart.
    trust_default: str = "yes"  #: The highlighted answer there.
    bypass_dialog: bool = False  #: Warn about bypassed permissions; the highlighted answer ends the client.
    auto_compact_tokens: int = 0  #: Compact before a request when the last usage reached this; 0 is never.
    transcript_lag_seconds: float = 0.1  #: From a record to its line in the transcript, at most.
    api_retries: int = -1  #: Retries after 401, 429 and 5xx; -1 asks CLAUDE_CODE_MAX_RETRIES, else 2.
    retry_seconds: float = 0.5  #: Before the first retry; doubles each time.
    login_required: bool = False  #: Every prompt ends with authentication_failed.
    rate_limited: bool = False  #: Every prompt ends with rate_limit.
    permission_notice_seconds: float = 6.0  #: Notification(permission_prompt) after a dialog opened.
    idle_notice_seconds: float = 60.0  #: Notification(idle_prompt) after a Stop.
    ignore_sigterm: bool = False
    refuse_exit: bool = False  #: /exit, Ctrl-C and Ctrl-D do nothing.
    crash_at: str = ""  #: boot, first_prompt, after_accept or "turn N": end there at once, with no hook.
    crash_status: int = 1
    hang_at: str = ""  #: As crash_at: take no key and answer nothing from there on.


class Script(NamedTuple):
    """A script file, checked."""

    playbook: Playbook
    client: Client


def load(path: str | None) -> Script:
    """
    Read the script at *path*; without one, everything is at its default.

    Raises:
        BadScript: The file cannot be read, or something in it is not as documented.
    """
    if path is None:
        return Script(Playbook(), Client())
    try:
        with open(path, encoding="utf-8") as file:
            stamp = _stamp(os.fstat(file.fileno()))
            value = json.load(file)
        return read(value, _Renewal(path, stamp).rules)
    except OSError as error:
        raise BadScript(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise BadScript(f"{path}: not JSON: {error}") from None
    except BadScript as error:
        raise BadScript(f"{path}: {error}") from None


class _Renewal:
    """Whether a script was replaced since it was last read."""

    def __init__(self, path: str, stamp: tuple[int, ...]) -> None:
        self._path, self._stamp = path, stamp

    def rules(self) -> list[Rule] | None:
        """
        The rules that a replaced script holds; None while it is the one that was read, and when it is gone.

        Raises:
            BadScript: as `load`.
        """
        try:
            stamp = _stamp(os.stat(self._path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadScript(f"{self._path}: {error.strerror}") from None
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        return load(self._path).playbook.rules


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def read(value: object, renewed: Callable[[], list[Rule] | None] = lambda: None) -> Script:
    """As `load`, for a value that was read already; *renewed* tells its rules when it is replaced."""
    if not isinstance(value, dict):
        raise BadScript("expected an object")
    unknown = sorted(set(value) - {"rules", "queue", "defaults", "client"})
    if unknown:
        raise BadScript(f"unknown key {unknown[0]!r}")
    playbook = Playbook(
        read_rules(value.get("rules", [])),
        read_queue(value.get("queue", [])),
        read_defaults(value.get("defaults", {})),
        renewed,
    )
    return Script(playbook, _client(value.get("client", {})))


def _client(value: object) -> Client:
    if not isinstance(value, dict):
        raise BadScript("client: expected an object")
    known = Client()._asdict()
    for name, setting in value.items():
        if name not in known:
            raise BadScript(f"client: unknown key {name!r}")
        _check(name, setting, known[name])
    return Client(**value)


def _check(name: str, setting: Any, default: Any) -> None:
    wanted: tuple[type, ...] = (int, float) if isinstance(default, float) else (type(default),)
    if not isinstance(setting, wanted) or isinstance(setting, bool) != isinstance(default, bool):
        raise BadScript(f"client: {name} must be a {_name(default)}")
    if name in CHOICES and setting not in CHOICES[name]:
        raise BadScript(f"client: {name} must be one of {', '.join(CHOICES[name])}")
    if name in ("crash_at", "hang_at") and not _is_point(str(setting)):
        raise BadScript(f"client: {name} must be one of {', '.join(POINTS)} or 'turn N'")


def _name(default: object) -> str:
    return {bool: "boolean", int: "whole number", float: "number", str: "string"}[type(default)]


def _is_point(setting: str) -> bool:
    word, _, number = setting.partition(" ")
    return setting in ("", *POINTS) or (word == "turn" and number.isdecimal() and int(number) > 0)
