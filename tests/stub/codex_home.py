"""
A Codex home in which the client opens no dialog and starts no daemon.

Checked with 0.171.0. `daemon_auto_start = false` keeps hooks in the pane's process: the daemon would
run them with the environment of the first client it served and outlive the pane. Hooks are trusted by a
hash per hook; without it "Hooks need review" covers the composer about three seconds after the start,
so start the client with `--dangerously-bypass-hook-trust`, which is right for a home that holds only
our own hooks.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

KEY_VARIABLE = "STUB_KEY"
CONFIG = """\
model = "gpt-5.2-codex"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.stub]
name = "stub"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "STUB_KEY"

[analytics]
enabled = false

[features]
daemon_auto_start = false
"""


def seed(home: Path, port: int, projects: list[Path], *, hooks: dict[str, Any] | None = None) -> dict[str, str]:
    """
    Write `<home>/.codex` and return the whole environment of the client; start it with `env -i`.

    Args:
        home: The HOME of the client.

        port: Where the stub listens on 127.0.0.1.

        projects: Folders to trust.

        hooks: The content of hooks.json, as in Claude Code's settings: {"hooks": {"Stop": [...]}}.
    """
    config = home / ".codex"
    config.mkdir(mode=0o700, parents=True, exist_ok=True)
    trusted = "".join(f'\n[projects."{os.path.realpath(each)}"]\ntrust_level = "trusted"\n' for each in projects)
    (config / "config.toml").write_text(CONFIG.format(port=port) + trusted)
    if hooks is not None:
        (config / "hooks.json").write_text(json.dumps(hooks))
    return {
        "HOME": str(home),
        "CODEX_HOME": str(config),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        KEY_VARIABLE: "sk-dummy",
    }
