"""Keys pressed by a person in a real client, and what is then to be seen."""

import json
import time

import pytest

from fleet.tmux import keymap

TEXTS = [
    "it's \"quoted\"; all 'of' it",
    "#{session_name} #(touch pwned) ## #[fg=red]",
    "%1 %2 %% %%% %1%2 100%",
    "a\\b \\; \\\\ \\n end\\",
    "-t leading dash",
    "$(touch pwned) `touch pwned` $HOME ~ !!",
    "~root",
    "a;",
    "{ b } }",
    "é ✓ 日本語 𝄞 e\u0301",
    "' ; kill-server ; '",
    '" ; kill-server ; "',
    "} ; kill-server ; {",
    "%2",
    "%2 ' \" ; kill-server",
]


@pytest.fixture
def ready(desk):
    desk.fleet("keys", "install")
    return desk


def bodies(desk, agent):
    found = [json.loads(p.read_text()) for p in sorted((desk.fleet_home / "inbox" / agent["id"]).glob("*.json"))]
    return [one["body"] for one in found]


def test_the_menu_has_those_that_wait_first(ready):
    """With state and context; the choice goes there."""
    ready.agent_of("works", state="working", context=12.0)
    waits = ready.agent_of("waits", state="waiting", context=61.4)
    ready.agent_of("idles", state="idle")
    terminal = ready.sit()

    ready.fleet_key(terminal, "m")
    screen = terminal.shows("go to")

    lines = [line.strip("│ ") for line in screen.splitlines() if "│" in line]
    assert ["waits", "idles", "works"] == [line.split()[0] for line in lines]
    assert "waiting (limit)" in lines[0]
    assert "61%" in lines[0]
    ready.press(terminal, "1")
    ready.until(lambda: ready.client_session() == waits["tmux_session"], "the client is there")
    assert [] == ready.modes()


def test_a_read_only_client_presses_nothing(ready):
    """tmux says so, whatever the key; the next press of another client works as ever."""
    ready.agent_of("waits", state="waiting")
    ready.tmux("set-option", "-g", "display-time", "4000")
    onlooker = ready.sit(ready.binary, "-u", "-S", ready.socket, "attach", "-r", "-t", "=mine")
    ready.until(lambda: ready.client_session() == "mine", "it is attached")

    for key in ("m", "n", "s"):
        ready.fleet_key(onlooker, key)
        onlooker.shows("lient is read-only")
        ready.tmux("display-message", "-c", onlooker_name(ready), "-d", "1", "gone")
        onlooker.until(lambda screen: "read-only" not in screen, "the message is gone")
    assert ("mine", []) == (ready.client_session(), ready.modes())

    terminal = ready.sit()
    ready.fleet_key(terminal, "n")
    ready.until(
        lambda: (
            [row[0] for row in ready.tmux("list-clients", "-t", "=mine", "-F", "#{client_readonly}").split()] == ["1"]
        ),
        "the other one went, and only that one",
    )


def onlooker_name(desk):
    """The read-only client."""
    rows = desk.tmux("list-clients", "-F", "#{client_readonly} #{client_name}").splitlines()
    return next(row[2:] for row in rows if row.startswith("1"))


def test_next_goes_round_and_previous_goes_back(ready):
    """From the oldest that waits to the youngest and to the oldest again."""
    one, two = ready.agent_of("one", state="waiting"), ready.agent_of("two", state="waiting")
    ready.agent_of("three", state="idle")
    terminal = ready.sit()

    for expected in (one, two, one):
        ready.fleet_key(terminal, "n")
        ready.until(lambda e=expected: ready.client_session() == e["tmux_session"], expected["task_id"])
    ready.fleet_key(terminal, "p")
    ready.until(lambda: ready.client_session() == two["tmux_session"], "back at the one before")
    assert [] == ready.modes()


def test_nobody_waits(ready):
    """It is said on the client's message line, and nothing moves."""
    ready.agent_of("idles", state="idle")
    terminal = ready.sit()

    ready.fleet_key(terminal, "n")

    terminal.shows("nobody waits for you")
    assert "mine" == ready.client_session()
    assert [] == ready.modes()


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_passes_untouched(ready, text):
    """Typed at the prompt in the agent's session, it is in the spool as it was typed; no shell and no format saw it."""
    agent = ready.agent_of("listens", state="working")
    terminal = ready.sit()
    ready.go(agent)
    ready.fleet_key(terminal, "s")
    terminal.shows("message to listens")

    terminal.keys(text)
    terminal.until(lambda s: text.split()[-1][-3:] in s or not text.isascii(), "the text stands there")
    time.sleep(0.2)
    terminal.keys("\r")

    assert [text] == ready.until(lambda: bodies(ready, agent), "the message is spooled")
    terminal.shows("queued for listens")
    assert not list(ready.root.rglob("pwned"))
    assert "fleet-" not in ready.tmux("list-buffers")
    assert [] == ready.modes()


def test_elsewhere_send_asks_to_whom(ready):
    """A menu first, then the prompt; an empty text is none."""
    ready.agent_of("one", state="idle")
    two = ready.agent_of("two", state="working")
    terminal = ready.sit()

    ready.fleet_key(terminal, "s")
    terminal.shows("send to")
    ready.press(terminal, "2")
    terminal.shows("message to two")
    ready.press(terminal, "h", "i", "\r")

    assert ["hi"] == ready.until(lambda: bodies(ready, two), "the message is spooled")
    ready.fleet_key(terminal, "s")
    terminal.shows("send to")
    ready.press(terminal, "2")
    terminal.shows("message to two")
    ready.press(terminal, "\r")
    terminal.shows("nothing was sent")
    assert ["hi"] == bodies(ready, two)


def test_peek_and_list_are_popups(ready):
    """A live view over what is there, scrolled by some keys, closed by any other, which reaches nobody else."""
    agent = ready.agent_of("seen", state="idle")
    ready.tmux("send-keys", "-t", agent["pane_id"], "hello there", "Enter")
    terminal = ready.sit()

    ready.fleet_key(terminal, "k")
    terminal.shows("look at")
    ready.press(terminal, "1")
    terminal.shows("any key closes this")
    terminal.shows("hello there")
    ready.tmux("send-keys", "-t", agent["pane_id"], "and more", "Enter")
    terminal.shows("and more")
    ready.tmux("send-keys", "-t", agent["pane_id"], *["line", "Enter"] * 20)
    terminal.until(lambda s: "hello there" not in s, "it has scrolled out of the popup")
    ready.press(terminal, "g")
    terminal.shows("hello there")
    ready.press(terminal, "\x1b[6~")
    terminal.until(lambda s: "hello there" not in s, "a page further down")
    ready.press(terminal, "x")
    terminal.until(lambda s: "any other key closes this" not in s, "the popup is closed")

    ready.fleet_key(terminal, "l")
    terminal.shows("HANDOFFS")
    ready.press(terminal, "x")
    terminal.until(lambda s: "HANDOFFS" not in s, "the popup is closed")
    assert "x" not in ready.tmux("capture-pane", "-p", "-t", "=mine:")


def test_a_handoff_is_confirmed_first(ready):
    """n leaves everything as it is, y orders it."""
    ready.fleet("drain", "--detach")
    agent = ready.agent_of("old", state="idle", context=44.0)
    terminal = ready.sit()
    ready.go(agent)

    ready.fleet_key(terminal, "h")
    terminal.shows("replace old (44% of its context used)")
    ready.press(terminal, "n")
    terminal.until(lambda s: "replace old" not in s, "the question is gone")
    ready.fleet_key(terminal, "h")
    terminal.shows("replace old (44% of its context used)")
    assert [] == ready.events(agent["id"], "HandoffProduced")
    ready.press(terminal, "y")

    ready.until(lambda: any(a["predecessor_id"] == agent["id"] for a in ready.agents("old")), "the successor is made")


def test_help_names_the_keys(ready):
    """And each of them works from there."""
    terminal = ready.sit()

    ready.fleet_key(terminal, "?")
    screen = terminal.shows("go to the next agent that waits")

    assert all(f"({key})" in screen for key, action, _ in keymap.ACTIONS if action != "help")
    ready.press(terminal, "n")
    terminal.shows("nobody waits for you")


def test_a_menu_fits_its_client(ready):
    """A small terminal gets what fits, and the way to the rest; tmux shows no menu that is too large."""
    for number in range(7):
        ready.agent_of(f"a-rather-long-name-of-a-task-{number}", state="idle")
    terminal = ready.sit(width=46, height=10)

    ready.fleet_key(terminal, "m")

    terminal.shows("more")
    ready.press(terminal, "l")
    terminal.shows("any other key closes")


def test_no_agents(ready):
    """Every key says so."""
    terminal = ready.sit()
    for key in "mskh":
        ready.fleet_key(terminal, key)
        terminal.shows("no agents")
        ready.press(terminal, "x")
        terminal.until(lambda s: "no agents" not in s, "the message is gone")
    assert [] == ready.modes()


def test_an_agent_that_has_gone_is_said(ready):
    """Between the menu and the choice."""
    agent = ready.agent_of("leaves", state="idle")
    terminal = ready.sit()
    ready.fleet_key(terminal, "m")
    terminal.shows("leaves")

    ready.tmux("kill-session", "-t", f"={agent['tmux_session']}")
    ready.press(terminal, "1")

    terminal.shows("leaves has no session any more")
    assert [] == ready.modes()


def test_two_clients_each_get_their_own(ready):
    """What one presses moves only that one."""
    agent = ready.agent_of("waits", state="waiting")
    left, right = ready.sit(), ready.sit()

    ready.fleet_key(right, "n")

    ready.until(
        lambda: (
            sorted(ready.tmux("list-clients", "-F", "#{session_name}").split())
            == sorted(["mine", agent["tmux_session"]])
        ),
        "one moved",
    )
    assert "waits" not in left.screen()


def test_an_agent_on_another_server_comes_in_a_popup(ready):
    """tmux cannot switch a client to another server; the popup is a client of that one, and detaching closes it."""
    import subprocess

    other = str(ready.root / "o")
    ready.env["FLEET_TMUX_SOCKET"] = other
    try:
        ready.agent_of("abroad", state="waiting")
        terminal = ready.sit()

        ready.fleet_key(terminal, "n")

        ready.until(
            lambda: subprocess.run([ready.binary, "-S", other, "list-clients"], capture_output=True).stdout,
            "attached there",
        )
        ready.press(terminal, ready.prefix, "d")
        ready.until(
            lambda: not subprocess.run([ready.binary, "-S", other, "list-clients"], capture_output=True).stdout,
            "detached",
        )
        assert "mine" == ready.client_session()
        assert not terminal.dead()
    finally:
        subprocess.run([ready.binary, "-S", other, "kill-server"], capture_output=True)


def test_under_a_hostile_configuration(hostile):
    """Other prefixes, other shells, no status line, panes that remain: the same keys, the same answers."""
    hostile.fleet("keys", "install", "--prefix", "F")
    agent = hostile.agent_of("waits", state="waiting")
    terminal = hostile.sit()
    hostile.tmux("send-keys", "-t", "=mine:", "-X", "cancel")  # tmux's own complaint about the configuration
    hostile.until(lambda: hostile.modes() == [], "no mode")

    hostile.fleet_key(terminal, "m")
    terminal.shows("waits")
    hostile.press(terminal, "1")
    hostile.until(lambda: hostile.client_session() == agent["tmux_session"], "the client is there")
    hostile.fleet_key(terminal, "s")
    terminal.shows("message to waits")
    terminal.keys("it's %2; $HOME \\ ok")
    time.sleep(0.3)
    terminal.keys("\r")
    assert ["it's %2; $HOME \\ ok"] == hostile.until(lambda: bodies(hostile, agent), "the message is spooled")
    hostile.press(terminal, b"\x00", "F", "k")  # the second prefix
    terminal.shows("any key closes this")
    hostile.press(terminal, "q")
    hostile.fleet_key(terminal, "p")
    hostile.until(lambda: hostile.client_session() == "mine", "back")
    assert [] == hostile.modes()


def test_odd_paths(desk):
    """A fleet home with a space, quotes and what tmux and shells expand."""
    desk.env["FLEET_HOME"] = str(desk.root / 'h o\'me "#{pid}"; $X %1 x')
    desk.fleet_home = desk.root / 'h o\'me "#{pid}"; $X %1 x'
    before = desk.bindings()
    desk.fleet("keys", "install")
    agent = desk.agent_of("waits", state="waiting")
    terminal = desk.sit()

    desk.fleet_key(terminal, "n")
    desk.until(lambda: desk.client_session() == agent["tmux_session"], "the client is there")
    desk.fleet_key(terminal, "k")
    terminal.shows("any key closes this")
    desk.press(terminal, "q")
    desk.fleet("keys", "uninstall")
    assert before == desk.bindings()
