"""Operator messages: delivered once, in order, and never said to be delivered when nobody can know."""

import json
import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from fleet.formats.texts import WAKE_LINE

BODIES = {"1 line": "use the other branch;", "9 kB": "line of nine\n" * 692, "11 kB": "eleven kB; " * 1000,
          "100 kB": "a hundred\n" * 10_000}  # fmt: skip
#: A status line takes the place of "esc to interrupt" in Claude Code.
RUNNING = re.compile(r"esc to interrupt|^[·✢✳✶✻✽*∗] .*…", re.MULTILINE)
CALM = {"match": "Operator message", "do": "STUB: say=understood"}


def archived(world, message_id):
    """The message's file once it is settled, or None."""
    for path in (world.fleet_home / "inbox" / "archive").rglob(f"*{message_id}.json"):
        return json.loads(path.read_text())
    return None


def settled(world, message_id):
    """Wait until the message is settled; its state."""
    return world.until(lambda: archived(world, message_id), "the message is settled")["state"]


def check_arrived(world, body, message_id):
    """The model got exactly that text, or the name of a file that holds it; once."""
    path = world.fleet_home / "inbox" / "bodies" / f"{message_id}.md"
    if len("[OPERATOR] " + body) <= 9000:
        assert times(world, f"[OPERATOR] {body.strip()}")
    else:
        assert body == path.read_text()
        assert 1 <= world.model_saw(str(path))
    offers = [e for e in all_events(world) if message_id in e.get("offered", ())]
    assert 1 == len(offers)


def times(world, text):
    """The model saw it once. Only a real request tells: the fake's transcript also holds what it was spared."""
    count = sum(text in one for one in world.model_texts())
    return count >= 1 if world.engine == "fake" else count == 1


def all_events(world):
    """The events of every agent, live or ended."""
    lines = [line for f in world.fleet_home.glob("events/**/*.jsonl") for line in f.read_text().splitlines()]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("size", BODIES)
def test_to_an_idle_agent(world, size):
    """It is woken by the fixed line; the hook injects the text; the answer delivers it."""
    world.rules(CALM)
    world.dispatch("idle", "hi\nSTUB: say=ok\nSTUB: usage=9000")

    sent = world.json("send", "idle", "-", "--wait", "30", stdin=BODIES[size])

    assert "delivered" == sent["result"]
    check_arrived(world, BODIES[size], sent["message_id"])
    assert BODIES[size][:40] not in world.screen(world.agent("idle"))


@pytest.mark.parametrize("size", BODIES)
def test_to_a_busy_agent(world, size):
    """It waits for the end of the turn and goes on with it; nothing is typed."""
    world.rules({"match": "OPERATOR", "do": "STUB: say=understood"})
    go = world.root / "go"
    agent = world.dispatch("busy", f"hi\nSTUB: after={go}\nSTUB: say=ok\nSTUB: usage=9000", wait="accepted")

    sent = world.json("send", "busy", "-", stdin=BODIES[size])
    go.touch()

    assert "delivered" == settled(world, sent["message_id"])
    check_arrived(world, BODIES[size], sent["message_id"])
    assert [] == world.events(agent["id"], "Wake")


def test_the_answer_to_one_message_delivers_no_other_with_the_same_words(world):
    """The engine dies before it answers to the second: that one goes on to the successor."""
    world.rules({"match": "OPERATOR|Operator message", "do": "STUB: bash=sleep 3\nSTUB: say=understood"})
    agent = world.dispatch("same", "hi\nSTUB: bash=sleep 2\nSTUB: say=ok\nSTUB: usage=9000", wait="accepted")
    assert "delivered" == world.json("send", "same", "continue", "--wait", "60")["result"]
    world.rules({"match": "handoff document", "do": "STUB: say=resumed"}, {"match": "OPERATOR|Operator message", "do": "STUB: delay=60\nSTUB: say=late"})
    again = world.json("send", "same", "continue")["message_id"]
    world.until(lambda: again in offers(world, agent["id"]), "the second is handed over")
    os.kill(agent["pid"], signal.SIGKILL)
    world.rules({"match": "handoff document", "do": "STUB: say=resumed"}, {"match": "OPERATOR|Operator message", "do": "STUB: say=understood"})

    assert 0 == world.run("handoff", "same", "--timeout", "60").returncode

    assert "delivered" == settled(world, again)
    assert again in offers(world, world.agent("same")["id"])


def offers(world, agent_id):
    """The messages that an agent's hooks have handed over, each as often as it was."""
    return [one for event in world.events(agent_id) for one in event.get("offered", ())]


KILLS = {
    "at once": lambda world, agent, sent: True,
    "typed": lambda world, agent, sent: WAKE_LINE in world.screen(agent) or sent in offers(world, agent["id"]),
    "handed over": lambda world, agent, sent: sent in offers(world, agent["id"]),
    "answered": lambda world, agent, sent: archived(world, sent),
}


def test_the_same_words_arrive_as_often_as_they_were_sent_whenever_a_drain_is_killed(world):
    """Each message is handed over once, whatever its drain was at when it was killed. Of a block, Claude Code puts its
    own account before its words into the requests of later turns: that is no second message."""
    world.rules({"match": "OPERATOR|Operator message", "do": "STUB: say=understood"})
    agent = world.dispatch("same", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    sent = []
    for killed in KILLS.values():
        drain = world.start("drain")
        sent.append(world.json("send", "same", "continue")["message_id"])
        world.until(lambda killed=killed: killed(world, agent, sent[-1]), "the drain is at it")
        drain.kill()
        drain.wait()
    world.run("drain", "--detach")  # unless one runs that a hook has started

    assert ["delivered"] * len(sent) == [settled(world, one) for one in sent]
    assert sent == offers(world, agent["id"])
    if world.engine != "fake":  # its transcripts hold every account
        said = [text for text in world.model_texts() if "Stop hook blocking error" not in text]
        assert len(sent) == sum(text.count("[OPERATOR] continue") for text in said)


def test_the_same_op_id_delivers_once(world):
    """A repeated send with the same op-id is the same message; with another text it is refused."""
    world.rules(CALM)
    world.dispatch("op", "hi\nSTUB: say=ok\nSTUB: usage=9000")

    first = world.json("send", "op", "do it once", "--op-id", "k1", "--wait", "30")
    second = world.json("send", "op", "do it once", "--op-id", "k1", "--wait", "30")
    world.fleet("send", "op", "do something else", "--op-id", "k1", code=1)

    assert ("delivered", first["message_id"]) == (second["result"], second["message_id"])
    check_arrived(world, "do it once", first["message_id"])


def test_many_messages_arrive_in_order(world):
    """Ten messages sent at once are one conversation, oldest first."""
    world.rules({"match": "OPERATOR|Operator message", "do": "STUB: say=understood"})
    world.dispatch("many", "hi\nSTUB: say=ok\nSTUB: usage=9000")

    sent = [world.json("send", "many", f"number {n:02d}") for n in range(10)]

    assert ["delivered"] * 10 == [settled(world, one["message_id"]) for one in sent]
    whole = "\n".join(world.model_texts())
    places = [whole.index(f"[OPERATOR] number {n:02d}") for n in range(10)]
    assert sorted(places) == places


def offered(world, agent, message_id):
    return [e for e in world.events(agent["id"]) if message_id in e.get("offered", ())]


def cancelled_early(world, task):
    """An agent whose prompt with a message was cancelled before the first token; the agent, the message's id, and the
    file after which the model answers to a prompt with the same words."""
    go = world.root / "go"
    world.rules({"match": "Operator message", "times": 1, "do": f"STUB: after={go}\nSTUB: say=seen"}, CALM)
    agent = world.dispatch(task, "hi\nSTUB: say=ok\nSTUB: usage=9000")
    sent = world.json("send", task, "despite the Esc")
    world.until(lambda: offered(world, agent, sent["message_id"]), "it is offered")
    world.until(lambda: RUNNING.search(world.screen(agent)), "the turn runs")
    world.keys(agent, "Escape")
    return agent, sent["message_id"], go


def test_escape_before_the_first_token(world):
    """Claude Code drops what the prompt carried; the message goes out again with the next one, and arrives once."""
    agent, message_id, go = cancelled_early(world, "esc")
    world.until(lambda: len(world.events(agent["id"], "UserPromptSubmit")) == 3, "the wake line goes out again")
    go.touch()

    assert "delivered" == settled(world, message_id)
    assert times(world, "[OPERATOR] despite the Esc")


test_escape_before_the_first_token.engines = ("fake", "claude-code")


def test_escape_before_the_first_token_in_codex(world):
    """Codex keeps what the prompt carried and sends it with the next one: it is not offered again, and arrives once."""
    agent, message_id, _ = cancelled_early(world, "esc")
    world.until(lambda: world.events(agent["id"], "Interrupt"), "Codex reports the Esc")
    assert ("idle", "interrupted") == ((view := world.agent("esc"))["state"], view["reason"])

    world.rules({"match": "next", "do": "STUB: say=next"})
    world.type(agent, "next thing")

    assert "delivered" == settled(world, message_id)
    assert 1 == len(offered(world, agent, message_id))
    assert times(world, "[OPERATOR] despite the Esc")


test_escape_before_the_first_token_in_codex.engines = ("codex",)


def test_escape_in_the_stream(world):
    """The model has begun to answer: it had the message, and it is not sent again."""
    world.rules({"match": "Operator message", "do": "STUB: chunk=0.4\nSTUB: say=" + "word " * 200})
    agent = world.dispatch("cut", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    sent = world.json("send", "cut", "seen and cut")
    world.until(lambda: "word word" in world.screen(agent), "the answer streams")

    world.keys(agent, "Escape")
    world.state("cut", "idle", "interrupted")
    world.rules({"match": "next", "do": "STUB: say=next"})
    world.type(agent, "next thing")

    assert settled(world, sent["message_id"]) in ("delivered", "unconfirmed")
    assert 1 == len(offered(world, agent, sent["message_id"]))


def test_prompts_that_were_queued_carry_a_message_once(world):
    """Prompts typed into a busy Claude Code fire one UserPromptSubmit each and become one turn: no second offer."""
    world.rules({"match": "second queued", "do": "STUB: say=both\nSTUB: usage=9000"})
    go = world.root / "go"
    agent = world.dispatch("queued", f"hi\nSTUB: after={go}\nSTUB: say=ok\nSTUB: usage=9000", wait="accepted")
    config = world.fleet_home / "run" / "hook-config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"stop_blocks_in_a_row": 0}))
    log = Path(world.events(agent["id"], "UserPromptSubmit")[0]["transcript_path"])
    for count, prompt in enumerate(("first queued", "second queued"), 1):  # a paste right behind Enter may be lost
        world.type(agent, prompt)
        world.until(lambda count=count: log.read_text().count('"enqueue"') == count, "it waits in the client")
    (world.fleet_home / "inbox" / f"{agent['id']}.md").write_text("with the queue")
    go.touch()

    world.until(lambda: len(world.events(agent["id"], "Stop")) == 2, "the queued turn ends")

    assert 3 == len(world.events(agent["id"], "UserPromptSubmit"))
    (path,) = world.until(lambda: list((world.fleet_home / "inbox" / "archive").rglob("*.json")), "it is settled")
    message = json.loads(path.read_text())
    assert "delivered" == message["state"]
    assert 1 == len(offered(world, agent, message["message_id"]))
    assert times(world, "[OPERATOR] with the queue")


test_prompts_that_were_queued_carry_a_message_once.engines = ("fake", "claude-code")


class HookKiller(threading.Thread):
    """Kills hooks of one event as soon as they show themselves, until it has got one in the act."""

    def __init__(self, event, world):
        super().__init__(daemon=True)
        self.event = event.encode()
        self.home = f"FLEET_HOME={world.fleet_home}".encode()
        self.killed = []
        self.stopped = False
        self.older = {name for name in os.listdir("/proc") if name.isdigit()}  # a hook is gone after some milliseconds

    def run(self):
        while not self.stopped and not self.killed:
            for name in os.listdir("/proc"):
                if not name.isdigit() or name in self.older:
                    continue
                proc = Path("/proc", name)
                try:
                    argv = (proc / "cmdline").read_bytes().split(b"\0")
                    if self.event not in argv or not any(a.endswith(b"on_event.py") for a in argv):
                        continue
                    if self.home in (proc / "environ").read_bytes().split(b"\0"):
                        os.kill(int(proc.name), signal.SIGKILL)
                        self.killed.append(proc.name)
                except (OSError, ProcessLookupError):
                    continue


def test_a_killed_hook_loses_nothing(world):
    """Whenever the hook that carries a message is killed: it arrives once with a later turn, or it is unconfirmed."""
    world.rules(CALM)
    world.dispatch("killed", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    killer = HookKiller("UserPromptSubmit", world)
    killer.start()

    texts = []
    while not killer.killed:  # one that came through before the killer saw its hook proves nothing
        texts.append(f"through the kill {len(texts)}")
        sent = world.json("send", "killed", texts[-1])
        assert "delivered" == settled(world, sent["message_id"])
        assert len(texts) < 20

    assert all(times(world, f"[OPERATOR] {text}") for text in texts)


def test_an_open_permission_dialog_gets_no_key(world):
    """Paste and Enter into it would approve the tool: nothing is typed until a person has answered."""
    world.config(
        "engines: {codex: {args: ['-c', 'sandbox_mode=\"read-only\"', '-c', 'approval_policy=\"on-request\"']}}\n"
    )
    target = world.project / "touched"
    ask = (
        'STUB: tool=exec_command {"cmd":"touch touched","sandbox_permissions":"require_escalated","justification":"why"}'
        if world.engine == "codex"
        else f"STUB: bash=touch {target}"
    )
    world.rules({"match": "OPERATOR|Operator message", "do": "STUB: say=understood"})
    agent = world.dispatch("dialog", f"hi\n{ask}\nSTUB: say=ok\nSTUB: usage=9000", wait="accepted")
    world.state("dialog", "waiting", "permission")
    sent = world.json("send", "dialog", "not as an answer", "--wait", "4")

    assert "queued" == sent["result"]
    assert "it is waiting (permission)" in sent["error"]
    assert not target.exists()
    world.until(lambda: "Yes" in world.screen(agent), "the dialog is still open")
    world.keys(agent, "Enter")
    assert "delivered" == settled(world, sent["message_id"])
    assert target.exists()


def test_a_message_that_led_to_a_question_is_no_longer_waiting(world):
    """The model asked for a tool after it: delivered, and the list shows no mail while the question stands."""
    world.rules({"match": "OPERATOR|Operator message", "do": f"STUB: bash=touch {world.project / 'x'}\nSTUB: say=over"})
    world.dispatch("ask", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    sent = world.json("send", "ask", "do it", "--wait", "30")

    assert "delivered" == sent["result"]
    world.state("ask", "waiting", "permission")
    world.until(lambda: not world.agent("ask")["inbox_pending"], "no mail")


test_a_message_that_led_to_a_question_is_no_longer_waiting.engines = ("fake", "claude-code")


def test_a_dialog_that_opens_between_look_and_enter_gets_no_enter(world):
    """A background task starts a turn of its own, which asks for permission, while our line is in the composer."""
    target = world.project / "touched"
    world.config("engines: {claude-code: {enter_gap_seconds: 6}}\n")
    world.rules(
        {"match": "task-notification", "do": f"STUB: bash=touch {target}\nSTUB: say=over"},
        {"match": "OPERATOR|Operator message", "do": "STUB: say=understood"},
    )
    start = 'hi\nSTUB: tool=Bash {"command":"sleep 3","run_in_background":true,"description":"wait"}\nSTUB: say=started\nSTUB: usage=9000'
    agent = world.dispatch("race", start)
    sent = world.json("send", "race", "mind the dialog")
    world.until(lambda: "[fleet] Operator message" in world.screen(agent), "our line is pasted")
    world.state("race", "waiting", "permission")
    wakes = world.until(lambda: world.events(agent["id"], "Wake"), "the drain has looked again")

    assert "dialog" == wakes[-1]["result"]
    assert not target.exists()
    world.keys(agent, "Escape")
    assert "delivered" == settled(world, sent["message_id"])
    assert not target.exists()


test_a_dialog_that_opens_between_look_and_enter_gets_no_enter.engines = ("claude-code",)


def test_a_dialog_that_a_person_opens_between_look_and_enter_gets_no_enter(world):
    """Somebody takes our line away and starts a turn of their own, which asks for permission, before we press Enter."""
    target = world.project / "touched"
    world.config(
        "engines: {codex: {enter_gap_seconds: 8, "
        "args: ['-c', 'sandbox_mode=\"read-only\"', '-c', 'approval_policy=\"on-request\"']}}\n"
    )
    ask = 'STUB: tool=exec_command {"cmd":"touch touched","sandbox_permissions":"require_escalated","justification":"why"}'
    world.rules(
        {"match": "touch it", "do": f"{ask}\nSTUB: say=over"},
        {"match": "OPERATOR|Operator message", "do": "STUB: say=understood"},
    )
    agent = world.dispatch("race", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    sent = world.json("send", "race", "mind the dialog")
    world.until(lambda: "[fleet] Operator message" in world.screen(agent), "our line is pasted")
    world.keys(agent, "C-u")
    world.until(lambda: "[fleet] Operator message" not in world.screen(agent), "our line is gone")
    world.type(agent, "touch it")
    world.until(lambda: "Yes" in world.screen(agent), "the dialog is open")
    wakes = world.until(lambda: world.events(agent["id"], "Wake"), "the drain has looked again")

    assert "dialog" == wakes[-1]["result"]
    assert not target.exists()
    world.keys(agent, "Escape")
    assert "delivered" == settled(world, sent["message_id"])
    assert not target.exists()


test_a_dialog_that_a_person_opens_between_look_and_enter_gets_no_enter.engines = ("codex",)


def test_copy_mode_loses_no_key(world):
    """A pane in copy mode takes the paste and the carriage return, and stays where its reader is."""
    world.rules(CALM)
    agent = world.dispatch("copy", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    world.tmux("copy-mode", "-t", agent["pane_id"])

    sent = world.json("send", "copy", "while reading", "--wait", "30")

    assert "delivered" == sent["result"]
    assert "1" == world.tmux("display-message", "-p", "-t", agent["pane_id"], "#{pane_in_mode}").strip()


def test_a_slow_screen_gets_one_paste(world):
    """A busy machine shows a paste late: it is waited for, and a second one never stands beside it."""
    world.rules(CALM)
    log, real = world.root / "pastes", shutil.which("tmux")
    (world.bin / "tmux").write_text(f"""#!/bin/bash
case " $* " in
  *" -S -p "*) exec {real} "$@" ;;
  *" paste-buffer "*) echo x >>{log}; args=("$@"); (sleep 1.5; {real} "${{args[@]}}") >/dev/null 2>&1 </dev/null & exit ;;
esac
exec {real} "$@"
""")
    (world.bin / "tmux").chmod(0o755)
    world.dispatch("slow", "hi\nSTUB: say=ok\nSTUB: usage=9000")

    sent = world.json("send", "slow", "take your time", "--wait", "30")

    assert "delivered" == sent["result"]
    assert "x\n" == log.read_text()


def test_a_half_typed_draft_is_left_alone(world):
    """Over a person's text nothing is typed; when it is gone the message arrives."""
    world.rules(CALM)
    world.config("messages: {wake_retry_seconds: 2}\n")
    agent = world.dispatch("draft", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    world.type(agent, "my half typed", enter=False)
    sent = world.json("send", "draft", "wait for me", "--wait", "3")

    assert "queued" == sent["result"]
    assert "somebody's text stands at its prompt" in sent["error"]
    assert "draft" == world.events(agent["id"], "Wake")[-1]["result"]
    bottom = world.screen(agent)
    assert "my half typed" in bottom
    assert "[fleet]" not in bottom
    world.keys(agent, "C-u")
    assert "delivered" == settled(world, sent["message_id"])


def test_a_wake_line_that_nobody_submitted_is_only_submitted(world):
    """Our own line found in the composer gets Enter and no second paste."""
    world.rules(CALM)
    agent = world.dispatch("left", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    world.type(agent, WAKE_LINE, enter=False)

    sent = world.json("send", "left", "after the crash", "--wait", "30")

    assert "delivered" == sent["result"]
    prompts = [e["prompt_head"] for e in world.events(agent["id"], "UserPromptSubmit")]
    assert WAKE_LINE == prompts[-1]
    assert WAKE_LINE.count("Operator") == prompts[-1].count("Operator")


def test_an_ended_agent_refuses(world):
    """A message to an agent that was stopped is refused, exit 1, and nothing is spooled."""
    agent = world.dispatch("over", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    world.fleet("stop", "over")

    world.fleet("send", agent["id"], "too late", code=1)

    assert not list((world.fleet_home / "inbox").glob(f"{agent['id']}/*"))


def test_an_ended_agent_is_no_unknown_one(world):
    """What acts on a living agent alone says by any of its names that it has ended; a name that nobody had is unknown."""
    agent = world.dispatch("over", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    world.fleet("stop", "over")

    for command, name in (("handoff", "over"), ("handoff", agent["id"]), ("stop", agent["id"][:5]), ("approve", "over")):
        said = world.run(command, name)
        assert (4, f"fleet: agent {agent['id']} has ended") == (said.returncode, said.stderr.decode().split("\n")[0])
    assert b"no agent 'nobody'" in world.run("handoff", "nobody").stderr


def test_the_one_slot_inbox_is_still_honoured(world):
    """A file inbox/<id>.md written by another tool is delivered like any message, and goes."""
    world.rules(CALM)
    agent = world.dispatch("slot", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    world.fleet("drain", "--detach")

    slot = world.fleet_home / "inbox" / f"{agent['id']}.md"
    slot.write_text("from the old slot\n")

    world.until(lambda: not slot.exists(), "the slot is emptied")
    (path,) = world.until(lambda: list((world.fleet_home / "inbox" / "archive").rglob("*.json")), "it is settled")
    assert "delivered" == json.loads(path.read_text())["state"]
    assert 1 <= world.model_saw("[OPERATOR] from the old slot")


def test_after_an_api_error_a_message_wakes_the_agent(world):
    """A failed turn sends no Stop, in Codex no event at all; the agent is idle, and a message starts the next turn."""
    world.rules({"match": "Operator message", "do": "STUB: say=understood"})
    env = ["--env", "CLAUDE_CODE_MAX_RETRIES=0"]
    world.dispatch("error", "hi\nSTUB: error=400\nSTUB: errors=1", *env, wait="accepted")
    world.state("error", "idle")

    sent = world.json("send", "error", "try again", "--wait", "30")

    assert "delivered" == sent["result"]


def test_clear_changes_the_conversation_and_not_the_agent(world):
    """/clear gives the engine a new conversation; the agent, its id and its messages stay."""
    world.rules(CALM)
    agent = world.dispatch("clear", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    world.type(agent, "/clear")
    view = world.until(
        lambda: (v := world.agent("clear"))["conversation_id"] != agent["conversation_id"] and v, "a new conversation"
    )

    assert (agent["id"], agent["pid"], "idle") == (view["id"], view["pid"], world.state("clear", "idle")["state"])
    assert "delivered" == world.json("send", "clear", "still you?", "--wait", "30")["result"]


test_clear_changes_the_conversation_and_not_the_agent.engines = ("fake", "claude-code")


@pytest.mark.parametrize("command", ["/new", "/clear"])
def test_a_new_conversation_in_codex_is_the_same_agent(world, command):
    """0.171 reports it with the next prompt only, as a start; the agent, its id and its messages stay."""
    world.rules(CALM)
    agent = world.dispatch("clear", "hi\nSTUB: say=ok\nSTUB: usage=9000")
    world.type(agent, command)
    world.until(lambda: "say=ok" not in world.screen(agent), "a new conversation")

    assert "delivered" == world.json("send", "clear", "still you?", "--wait", "30")["result"]
    view = world.until(
        lambda: (v := world.agent("clear"))["conversation_id"] != agent["conversation_id"] and v, "it is taken up"
    )
    assert (agent["id"], agent["pid"], "idle") == (view["id"], view["pid"], world.state("clear", "idle")["state"])


test_a_new_conversation_in_codex_is_the_same_agent.engines = ("codex",)


def test_a_nested_client_does_not_speak_for_the_agent(world):
    """A `claude -p` in the agent's own shell inherits FLEET_AGENT_ID and runs the same hooks: they write nothing."""
    marker = "nested turn"
    settings = f"{world.fleet_home}/launch/$FLEET_AGENT_ID.settings.json"
    world.rules({"match": marker, "do": "STUB: say=nested done\nSTUB: usage=190000"})
    world.config("engines: {claude-code: {bypass_permissions: true}}\n")
    agent = world.dispatch(
        "nest", f"hi\nSTUB: bash=claude -p --settings {settings} '{marker}' > out.txt\nSTUB: say=ok\nSTUB: usage=9000"
    )

    assert "nested done" in (world.project / "out.txt").read_text()
    sessions = {e["session_id"] for e in world.events(agent["id"]) if e.get("session_id")}
    assert 1 == len(sessions)
    assert [] == world.json("queue", "list")


test_a_nested_client_does_not_speak_for_the_agent.engines = ("claude-code",)


def test_hooks_of_the_user_leave_a_dispatched_agent_alone(world):
    """With user-level hooks installed beside ours, one of the two sets returns at once: no event counts twice."""
    from fleet import resources

    command = f"{os.path.realpath(os.sys.executable)} -I -S {resources.hook_launcher()} claude-code {{}} user"
    path = world.home / ".claude" / "settings.json"
    data = json.loads(path.read_text())
    events = ("SessionStart", "UserPromptSubmit", "Stop")
    data["hooks"] = {e: [{"hooks": [{"type": "command", "command": command.format(e)}]}] for e in events}
    path.write_text(json.dumps(data))

    agent = world.dispatch("both", "hi\nSTUB: say=ok\nSTUB: usage=9000")

    assert [1, 1, 1] == [len(world.events(agent["id"], name)) for name in events]


test_hooks_of_the_user_leave_a_dispatched_agent_alone.engines = ("claude-code",)
