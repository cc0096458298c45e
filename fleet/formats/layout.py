"""Where every file lives under FLEET_HOME.

agents/<id>.json                       record of a live agent       agents/archive/<id>.json  of an ended one
agents/.locks/<id>.lock                the record lock: read-modify-write only, never across a tmux call
queue/spawn-fresh-<old_id>.json        a handoff to be carried out; its removal is the commit point
queue/stop-<id>.json                   an operator's order to end an agent
queue/dispatch-<dispatch>.json         a dispatch that waits for its turn
queue/attempts/<old_id>.json           what the drain tried so far   queue/dead/  entries given up, for the operator
handoffs/<id>-<time>-<hex>[.draft].md  handoff documents             drafts/<id>.md  what the agent wrote of one
inbox/<id>/<seq>-<message>.json        messages not yet delivered    inbox/archive/<id>/  delivered or returned
inbox/<id>.md                          the one-slot inbox of fleet-guard, still honoured
inbox/bodies/<message>.md              bodies too long to inject     inbox/ops/<dispatch>/<sha256>.json  op-ids seen
events/<id>.jsonl (.1 after rotation)  what happened                 events/archive/
launch/<id>.home/                      a home of the engine's for this agent (Gemini CLI)
launch/<id>.conversation.jsonl         what was said, written by fleet's plugin (opencode)
launch/<id>.json, .settings.json, .prompt, .<nonce>.open, .<nonce>.started      how the agent is started (0600)
screens/<id>.txt                       the last screen of an ended agent
tasks/<dispatch>.md                    the first prompt of a dispatch, as it was given
worktrees/<repository>-<hash>/<branch> git worktrees of agents       trees/<hash>.json  what is known of each
rescues/<id>-<time>[.staged].patch     what agents had not committed
holds/<engine>-<account>.json          accounts that start and wake nobody, and the operator's own holds
consents/<hash>-<sha256>.json          set-up files of repositories that the operator has confirmed
logs/                                  fleet's own logs              run/  locks, the compiled hook configuration,
                                       status.json for status lines, keys/ for the tmux keys that were taken,
                                       watch.json and watch-envelope.json, what the watchdog remembers and learned
run/<id>.context.json                  the context figure that the engine gave its status line
imports/<dispatch>/                    histories of agents that were imported to be looked at, a home each
inspection.json                        only in such a home: when and from where; nothing is ever started there
"""

from __future__ import annotations

import os

from fleet.formats.atomic import ensure_dir

FOLDERS = (
    "agents", "agents/archive", "agents/.locks", "queue", "queue/attempts", "queue/dead", "handoffs", "drafts",
    "inbox", "inbox/archive", "inbox/bodies", "inbox/ops", "events", "events/archive", "launch", "screens",
    "tasks", "logs", "run", "run/keys", "worktrees", "trees", "consents", "rescues",
    "holds", "run/approvals",
)  # fmt: skip


class Layout:
    """Paths as functions of the fleet home. Ids must have been checked by the caller (`ids.is_id`)."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.agents = os.path.join(home, "agents")
        self.archive = os.path.join(home, "agents", "archive")
        self.queue = os.path.join(home, "queue")
        self.attempts = os.path.join(home, "queue", "attempts")
        self.dead = os.path.join(home, "queue", "dead")
        self.handoffs = os.path.join(home, "handoffs")
        self.drafts = os.path.join(home, "drafts")
        self.inbox = os.path.join(home, "inbox")
        self.inbox_archive = os.path.join(home, "inbox", "archive")
        self.bodies = os.path.join(home, "inbox", "bodies")
        self.events = os.path.join(home, "events")
        self.launch = os.path.join(home, "launch")
        self.screens = os.path.join(home, "screens")
        self.tasks = os.path.join(home, "tasks")
        self.logs = os.path.join(home, "logs")
        self.worktrees = os.path.join(home, "worktrees")
        self.trees = os.path.join(home, "trees")
        self.consents = os.path.join(home, "consents")
        self.rescues = os.path.join(home, "rescues")
        self.holds = os.path.join(home, "holds")
        self.run = os.path.join(home, "run")
        self.approvals = os.path.join(home, "run", "approvals")
        self.imports = os.path.join(home, "imports")
        self.inspection = os.path.join(home, "inspection.json")
        self.hook_config = os.path.join(home, "run", "hook-config.json")
        self.engine_versions = os.path.join(home, "run", "engine-versions.json")
        self.trust_lock = os.path.join(home, "run", "locks", "trust.lock")
        self.limit_lock = os.path.join(home, "run", "locks", "limit.lock")
        self.holds_lock = os.path.join(home, "run", "locks", "holds.lock")
        self.recover_lock = os.path.join(home, "run", "locks", "recover.lock")
        self.starts_lock = os.path.join(home, "run", "locks", "starts.lock")
        self.drain_lock = os.path.join(home, "run", "drain.lock")

    def make(self) -> None:
        """Make the folders, 0700. Safe to repeat."""
        for folder in FOLDERS:
            ensure_dir(os.path.join(self.home, folder))

    def record(self, agent_id: str) -> str:
        """The record of a live agent."""
        return os.path.join(self.agents, agent_id + ".json")

    def archived(self, agent_id: str) -> str:
        """The record of an ended agent."""
        return os.path.join(self.archive, agent_id + ".json")

    def record_lock(self, agent_id: str) -> str:
        """The lock of one agent's record and spool."""
        return os.path.join(self.agents, ".locks", agent_id + ".lock")

    def task_lock(self, project: str, task_id: str) -> str:
        """The lock under which a new dispatch of a task is journaled."""
        return os.path.join(self.run, "locks", f"task-{project}--{task_id}.lock")

    def entry(self, old_id: str) -> str:
        """The queue entry of a handoff."""
        return os.path.join(self.queue, f"spawn-fresh-{old_id}.json")

    def stop_order(self, agent_id: str) -> str:
        """The operator's order to end an agent."""
        return os.path.join(self.queue, f"stop-{agent_id}.json")

    def start_entry(self, dispatch_id: str) -> str:
        """A dispatch that waits for its turn."""
        return os.path.join(self.queue, f"dispatch-{dispatch_id}.json")

    def dead_start(self, dispatch_id: str) -> str:
        """A dispatch that could not be started."""
        return os.path.join(self.dead, f"dispatch-{dispatch_id}.json")

    def dead_entry(self, old_id: str) -> str:
        """A queue entry whose retries are used up."""
        return os.path.join(self.dead, f"spawn-fresh-{old_id}.json")

    def attempt(self, old_id: str) -> str:
        """What the drain has tried for an entry so far."""
        return os.path.join(self.attempts, old_id + ".json")

    def event_log(self, agent_id: str) -> str:
        """The agent's event lines."""
        return os.path.join(self.events, agent_id + ".jsonl")

    def draft(self, agent_id: str) -> str:
        """Where the agent is asked to write its handoff sections."""
        return os.path.join(self.drafts, agent_id + ".md")

    def spool(self, agent_id: str) -> str:
        """The folder of an agent's undelivered messages."""
        return os.path.join(self.inbox, agent_id)

    def slot(self, agent_id: str) -> str:
        """The one-slot inbox of fleet-guard."""
        return os.path.join(self.inbox, agent_id + ".md")

    def launch_file(self, agent_id: str) -> str:
        """How the agent's engine is started."""
        return os.path.join(self.launch, agent_id + ".json")

    def settings(self, agent_id: str) -> str:
        """The engine's settings file for this agent."""
        return os.path.join(self.launch, agent_id + ".settings.json")

    def engine_home(self, agent_id: str) -> str:
        """A home of the engine's own for this agent, where it takes hooks from nowhere else."""
        return os.path.join(self.launch, agent_id + ".home")

    def conversation(self, agent_id: str) -> str:
        """What was said, as our plugin writes it down for an engine whose own log cannot be read."""
        return os.path.join(self.launch, agent_id + ".conversation.jsonl")

    def prompt(self, agent_id: str) -> str:
        """The agent's first prompt."""
        return os.path.join(self.launch, agent_id + ".prompt")

    def gate(self, agent_id: str, nonce: str) -> str:
        """Exists as soon as the launch with that nonce may go on."""
        return os.path.join(self.launch, f"{agent_id}.{nonce}.open")

    def started(self, agent_id: str, nonce: str) -> str:
        """Exists as soon as the launcher is about to become the engine: the prompt has gone out."""
        return os.path.join(self.launch, f"{agent_id}.{nonce}.started")

    def figure(self, agent_id: str) -> str:
        """The context figure that the engine gave its status line."""
        return os.path.join(self.run, agent_id + ".context.json")

    def task(self, dispatch_id: str) -> str:
        """The first prompt of a dispatch: its successors may need it as long as there are documents."""
        return os.path.join(self.tasks, dispatch_id + ".md")

    def tree(self, key: str) -> str:
        """What fleet knows of the worktree with that key."""
        return os.path.join(self.trees, key + ".json")

    def repository_lock(self, key: str) -> str:
        """Held while it is decided what becomes of a repository's worktrees, and journaled."""
        return os.path.join(self.run, "locks", f"repository-{key}.lock")

    def consent(self, repository: str, digest: str) -> str:
        """Exists when the operator has confirmed a repository's set-up file with that digest."""
        return os.path.join(self.consents, f"{repository}-{digest}.json")

    def rescue(self, agent_id: str, time: str) -> str:
        """The patch of what an agent had not committed."""
        return os.path.join(self.rescues, f"{agent_id}-{time}.patch")

    def rescue_staged(self, agent_id: str, time: str) -> str:
        """The patch of its index, where that held something alone."""
        return os.path.join(self.rescues, f"{agent_id}-{time}.staged.patch")

    def rescue_lock(self, agent_id: str) -> str:
        """Held by the one rescue of an agent."""
        return os.path.join(self.run, "locks", f"rescue-{agent_id}.lock")

    def hold(self, key: str) -> str:
        """What keeps an account, or what the operator names, from starting and waking agents."""
        return os.path.join(self.holds, key + ".json")

    def setup_log(self, agent_id: str) -> str:
        """What the set-up command of an agent's worktree printed."""
        return os.path.join(self.logs, f"worktree-setup-{agent_id}.log")

    def screen(self, agent_id: str) -> str:
        """The last screen of an ended agent."""
        return os.path.join(self.screens, agent_id + ".txt")

    def keyboard_lock(self, pane_id: str) -> str:
        """Held for: look, paste, look, Enter."""
        return os.path.join(self.run, "locks", f"keyboard-{pane_id.lstrip('%')}.lock")
