"""Going to an agent, from wherever a person may be, in a real terminal that is whole again afterwards."""

import subprocess
import sys

import pytest

from tests.keys.terminal import Terminal

FLEET = (sys.executable, "-m", "fleet")
WHOLE = "0 1 0 0"  #: no alternate screen, a cursor, no mouse and keypad modes


def size(desk, agent):
    return desk.tmux("display-message", "-p", "-t", agent["pane_id"], "#{window_width}x#{window_height}").strip()


def shell(desk, *words, **options):
    """A terminal with a shell that runs fleet and stays."""
    line = " ".join(words)
    return desk.sit("sh", "-c", f"{FLEET[0]} -m fleet {line}; echo status=$?; exec cat", **options)


def test_outside_tmux_one_attaches(desk):
    """And is back in a terminal that is as it was."""
    agent = desk.agent_of("there", state="idle")
    terminal = shell(desk, "attach there")

    desk.until(lambda: desk.client_session() == agent["tmux_session"], "attached")
    desk.press(terminal, desk.prefix, "d")

    terminal.shows("status=0")
    assert WHOLE == terminal.mode()


def test_inside_tmux_one_switches(desk):
    """Typed in a pane: that client goes, others stay."""
    agent = desk.agent_of("there", state="idle")
    desk.tmux("new-session", "-d", "-s", "second", "cat")
    terminal, other = desk.sit(), desk.sit(desk.binary, "-u", "-S", desk.socket, "attach", "-t", "=second")
    desk.until(lambda: len(desk.tmux("list-clients").splitlines()) == 2, "both are there")
    line = f"env TMUX={desk.socket},1,0 {FLEET[0]} -m fleet attach there"
    desk.tmux("respawn-pane", "-k", "-t", "=mine:", "sh", "-c", f"cd {desk.project}; {line}; exec cat")

    desk.until(
        lambda: (
            sorted(desk.tmux("list-clients", "-F", "#{session_name}").split())
            == sorted([agent["tmux_session"], "second"])
        ),
        "one went",
    )
    assert not terminal.dead()
    assert not other.dead()


def test_who_only_looks_on_is_not_moved(desk):
    """Typed in a pane that a read-only client looks at as well, even when that was used last: it stays where it is."""
    agent = desk.agent_of("there", state="idle")
    typist = desk.sit()
    onlooker = desk.sit(desk.binary, "-u", "-S", desk.socket, "attach", "-r", "-t", "=mine")
    desk.until(lambda: len(desk.tmux("list-clients").splitlines()) == 2, "both are there")
    seen = desk.tmux("list-clients", "-F", "#{client_readonly} #{client_activity}")
    desk.until(lambda: desk.press(onlooker, "x") or desk.tmux("list-clients", "-F", "#{client_readonly} #{client_activity}") != seen, "used last")  # fmt: skip

    line = f"env TMUX={desk.socket},1,0 {FLEET[0]} -m fleet attach there"
    desk.tmux("respawn-pane", "-k", "-t", "=mine:", "sh", "-c", f"cd {desk.project}; {line}; echo status=$?; exec cat")

    onlooker.shows("status=0")
    where = desk.tmux("list-clients", "-F", "#{client_readonly} #{session_name}").splitlines()
    assert ["0 " + agent["tmux_session"], "1 mine"] == sorted(where)
    assert not typist.dead()


def test_next_and_previous_inside(desk):
    """`--next` to those that wait, round and round; `--previous` back."""
    one, two = desk.agent_of("one", state="waiting"), desk.agent_of("two", state="waiting")
    desk.sit()

    def go(*words):
        pane = desk.tmux("list-clients", "-F", "#{pane_id}").strip()
        session = desk.tmux("list-clients", "-F", "#{session_id}").strip()
        env = {**desk.env, "TMUX": f"{desk.socket},1,{session[1:]}", "TMUX_PANE": pane}
        return subprocess.run([*FLEET, "attach", *words], env=env, cwd=desk.project, capture_output=True, timeout=30)

    for expected in (one, two, one):
        assert expected["id"] in go("--next", "--json").stdout.decode()
        assert 0 == go("--next").returncode
        assert expected["tmux_session"] == desk.client_session()
    assert two["tmux_session"] in go("--previous", "--json").stdout.decode()
    assert 0 == go("--previous").returncode
    assert two["tmux_session"] == desk.client_session()


def test_another_server_is_refused_inside(desk):
    """tmux in tmux fights over keys; the way is named. Nothing of either server changes."""
    desk.agent_of("there", state="idle")
    other = str(desk.root / "o")
    subprocess.run([desk.binary, "-S", other, "-f", "/dev/null", "new-session", "-d", "cat"], env=desk.env, check=True)
    try:
        desk.env["TMUX"] = f"{other},1,0"
        done = desk.run("attach", "there")
        assert (1, True) == (done.returncode, b"another tmux server" in done.stderr)
        assert b"env -u TMUX" in done.stderr
    finally:
        subprocess.run([desk.binary, "-S", other, "kill-server"], capture_output=True)


def test_a_tmux_that_is_no_more_is_outside(desk):
    """A TMUX variable that outlived its server does not keep anybody from attaching."""
    agent = desk.agent_of("there", state="idle")
    terminal = shell(desk, "attach there", env={"X": "1"})
    desk.until(lambda: desk.client_session() == agent["tmux_session"], "attached")
    terminal.close()
    desk.env["TMUX"] = f"{desk.root}/nowhere,1,0"
    line = f"env TMUX={desk.root}/nowhere,1,0 TMUX_PANE=%0 {FLEET[0]} -m fleet attach there"
    again = desk.sit("sh", "-c", f"{line}; exec cat")

    desk.until(lambda: desk.client_session() == agent["tmux_session"], "attached")
    assert not again.dead()


def test_without_a_terminal_it_is_said(desk):
    """Status 5 and the command for a terminal; also when only the output is none."""
    desk.agent_of("there", state="idle")

    done = desk.run("attach", "there")

    assert (5, b"") == (done.returncode, done.stdout)
    assert b"no terminal" in done.stderr
    piped = shell(desk, "attach there | cat")
    piped.shows("no terminal")


def test_inside_where_nobody_looks(desk):
    """From a detached session no client can be switched; nothing is attached in itself."""
    desk.agent_of("there", state="idle")
    desk.env["TMUX"] = f"{desk.socket},1,0"

    done = desk.run("attach", "there")

    assert (1, True) == (done.returncode, b"no client looks" in done.stderr)
    assert None is desk.client_session()


def test_an_ended_engine_can_be_looked_at(desk):
    """The pane is dead and says so; detaching gives the terminal back."""
    desk.fleet("dispatch", "brief", "--engine", "command", "--", "sh", "-c", "echo last words; exit 3")
    desk.until(
        lambda: desk.agent("brief")["state"] == "exited" and "dead" in desk.screen(desk.agent("brief")), "it ended"
    )
    terminal = shell(desk, "attach brief")

    terminal.shows("Pane is dead")  # what stood above has scrolled out of sight in a smaller client; `peek` has it
    assert "last words" in desk.fleet("peek", "brief")
    desk.press(terminal, desk.prefix, "d")

    terminal.shows("status=0")
    terminal.shows("has ended")
    assert WHOLE == terminal.mode()


def test_a_session_has_the_size_of_the_last_client(hostile):
    """220x50 until somebody attaches, whatever the user's window-size is; then as large as the one who typed last."""
    agent = hostile.agent_of("sized", state="idle")
    assert "220x50" == size(hostile, agent)
    attach = (hostile.binary, "-u", "-S", hostile.socket, "attach", "-t", agent["tmux_session"])

    small = hostile.sit(*attach, width=60, height=15)
    hostile.until(lambda: size(hostile, agent) == "60x15", "as the small one")
    large = hostile.sit(*attach, width=130, height=45)
    hostile.until(lambda: size(hostile, agent) == "130x45", "as the large one")
    hostile.press(small, "x")
    hostile.until(lambda: size(hostile, agent) == "60x15", "as the one that typed")
    large.close()
    hostile.press(small, hostile.prefix, "d")
    hostile.until(lambda: hostile.client_session() is None, "nobody is attached")

    assert "60x15" == size(hostile, agent)
    assert "smallest" == hostile.tmux("show-options", "-gwv", "window-size").strip()
    assert hostile.agents("sized")


def test_an_engine_survives_a_tiny_client(desk):
    """It is resized, goes on, and takes its next turn."""
    agent = desk.dispatch("tiny", "x\nSTUB: say=ok")
    terminal = desk.sit(desk.binary, "-S", desk.socket, "attach", "-t", agent["tmux_session"], width=20, height=6)
    desk.until(lambda: size(desk, agent).startswith("20x"), "as small as the client")
    desk.press(terminal, desk.prefix, "d")
    desk.until(lambda: desk.client_session() is None, "nobody is attached")

    sent = desk.json("send", "tiny", "go on", "--wait", "30")

    assert "delivered" == sent["result"]
    assert "idle" == desk.state("tiny", "idle")["state"]


@pytest.mark.parametrize(("words", "code", "said"), [
    (["there", "--next"], 2, b"exclude each other"), (["there", "--previous"], 2, b"exclude each other"),
    (["--next", "--previous"], 2, b"not allowed with"), (["--previous"], 1, b"only inside tmux"),
    (["--next"], 1, b"nobody waits"), (["nobody"], 4, b"no agent"), (["--nex"], 2, b"unrecognized"),
])  # fmt: skip
def test_wrong_words(words, code, said):
    """Each is one line and its status, and no client is made."""
    from tests.keys.conftest import Desk

    desk = Desk()
    try:
        desk.agent_of("there", state="idle")
        done = desk.run("attach", *words)
        assert (code, True, b"") == (done.returncode, said in done.stderr, done.stdout)
    finally:
        desk.close()


def test_the_terminal_of_the_tests_is_faithful():
    """What a broken terminal would show is seen: a program that leaves the alternate screen on."""
    terminal = Terminal(("sh", "-c", "printf '\\033[?1049h\\033[?25l'; exec cat"))
    try:
        terminal.until(lambda _: terminal.mode() == "1 0 0 0", "the modes are seen")
    finally:
        terminal.close()
