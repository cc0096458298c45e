"""An opencode home (1.18.33) whose only provider is the stub, over the OpenAI chat protocol."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

WINDOW_TOKENS = 200_000


def seed(
    home: Path, port: int, *, config: dict[str, Any] | None = None, packages: Path | None = None
) -> dict[str, str]:
    """
    Write `<home>/.config/opencode` and return the whole environment of the client; start it with `env -i`.

    Args:
        packages: where the package for plugins lies that the client would install there at its first start.
    """
    folder = home / ".config" / "opencode"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if packages is not None and packages.is_dir():
        for name in ("package.json", "package-lock.json"):
            shutil.copy(packages / name, folder)
        (folder / "node_modules").symlink_to(packages / "node_modules")
    models = {"stub-model": {"limit": {"context": WINDOW_TOKENS, "output": 8192}}}
    options = {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "sk-dummy"}
    data: dict[str, Any] = {
        "$schema": "https://opencode.ai/config.json",  # the client writes it where it is missing
        "autoupdate": False,
        "share": "disabled",
        "model": "stub/stub-model",
        "small_model": "stub/stub-model",
        "enabled_providers": ["stub"],
        "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}},
    }
    (folder / "opencode.json").write_text(json.dumps(data | (config or {})))
    return {
        "HOME": str(home),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }
