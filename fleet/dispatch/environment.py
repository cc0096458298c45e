"""The environment that an engine gets: the caller's, without the marks of whatever client or pane fleet runs in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.model.orders import Order

#: A client's own marks for its children; settings such as CLAUDE_CODE_USE_BEDROCK are the user's and stay.
SESSION_MARKS = frozenset({
    "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT", "CLAUDE_EFFORT", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CODEX_THREAD_ID",
    "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI", "TMUX", "TMUX_PANE", "PWD", "OLDPWD", "SHLVL",
    "_", "COLUMNS", "LINES",
})  # fmt: skip

#: What the session itself carries, so that a pane which a person opens beside the agent belongs to it.
SESSION_VARIABLES = (
    "FLEET_AGENT_ID", "FLEET_HOME", "FLEET_TMUX_SOCKET", "FLEET_DISPATCH_ID", "FLEET_GENERATION", "FLEET_PROJECT",
    "FLEET_TASK",
)  # fmt: skip


def for_engine(environ: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without session marks and FLEET_*, with the operator's `--env` over it."""
    kept = {k: v for k, v in environ.items() if k not in SESSION_MARKS and not k.startswith("FLEET_")}
    return {**kept, **extra}


def fleet_variables(order: Order, home: str, hook_config: str) -> dict[str, str]:
    """Fleet's own variables for an agent."""
    return {
        "FLEET_AGENT_ID": order.agent_id,
        "FLEET_HOME": home,
        "FLEET_TMUX_SOCKET": order.socket,
        "FLEET_DISPATCH_ID": order.dispatch_id,
        "FLEET_GENERATION": str(order.generation),
        "FLEET_PROJECT": order.project,
        "FLEET_TASK": order.task_id,
        "FLEET_HOOK_CONFIG": hook_config,
    }
