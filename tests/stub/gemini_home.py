"""A Gemini CLI home (0.61.0) in which the client opens no dialog and reaches nothing but the stub."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

SETTINGS: dict[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "ui": {"hideTips": True},
}


def seed(home: Path, port: int, projects: list[Path], *, settings: dict[str, Any] | None = None) -> dict[str, str]:
    """
    Write `<home>/.gemini` and return the whole environment of the client; start it with `env -i`.

    Args:
        projects: Folders to trust.
    """
    config = home / ".gemini"
    config.mkdir(mode=0o700, parents=True, exist_ok=True)
    (config / "settings.json").write_text(json.dumps(SETTINGS | (settings or {})))
    trusted = {os.path.realpath(each): "TRUST_FOLDER" for each in projects}
    (config / "trustedFolders.json").write_text(json.dumps(trusted))
    return {
        "HOME": str(home),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "GEMINI_API_KEY": "sk-dummy",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
    }
