"""What `Panes` promises, on the double and on real tmux: 3.3a, 3.5a, 3.8, and with a hostile configuration."""

import os
import re
import sys

import pytest

from fleet.errors import Unreachable
from fleet.formats.states import Existence
from fleet.model.panes import Duplicate

A, B = "aaaa1111", "bbbb2222"
READER = ("import os, sys, tty; f = open(sys.argv[1], 'wb', 0); tty.setraw(0); sys.stdout.write('ready\\r\\n'); "
          "sys.stdout.flush()\nwhile True: f.write(os.read(0, 4096))")  # fmt: skip


def test_no_server_is_certainly_nothing(bench):
    """Before anything was opened there are no sessions of ours, and that is known."""
    snapshot = bench.panes.snapshot()

    assert None is snapshot.error
    assert None is snapshot.of_agent(A)
    assert Existence.GONE == bench.panes.existence(f"fleet-{A}")


def test_a_session_is_ours_from_its_first_moment(bench):
    """What open returns is what the next look sees: name, mark, home and a pane with a living process."""
    pane = bench.open(A, "sleep", "60")

    seen = bench.pane(A)
    assert (f"fleet-{A}", A, str(bench.folder / "home"), False) == (seen.session, seen.mark, seen.home, seen.dead)
    assert (pane.pane_id, pane.pid, pane.server_pid) == (seen.pane_id, seen.pid, seen.server_pid)
    os.kill(seen.pid, 0)


def test_no_shell_stands_between(bench):
    """The arguments arrive as given, whatever they hold and whatever the user's shell is."""
    nasty = ["a b", "$HOME", "`id`", "x;y", "'q'", '"', "*", "\\", "#{pid}", "x;", ";", "\\;", "", "x;"]
    out = bench.folder / "argv"
    code = "import sys, os; open(sys.argv[1], 'w').write('\\0'.join(sys.argv[2:])); os.execlp('sleep', 'sleep', '60')"

    bench.open(A, sys.executable, "-c", code, str(out), *nasty)

    bench.until(lambda: out.exists() and out.read_text())
    assert nasty == out.read_text().split("\0")


def test_the_program_runs_in_its_directory_with_its_environment(bench):
    """cwd and the session's variables reach the program."""
    place = bench.folder / "a place;"
    place.mkdir()
    out = bench.folder / "out"
    code = "import os, sys; open(sys.argv[1], 'w').write(os.getcwd() + '|' + os.environ['FLEET_TASK'])"

    bench.open(A, sys.executable, "-c", code, str(out), cwd=place, FLEET_TASK="x;y z;")

    bench.until(lambda: out.exists() and out.read_text())
    assert f"{place}|x;y z;" == out.read_text()


def test_a_second_session_of_the_same_name_is_refused(bench):
    """Duplicate, and the first is as it was."""
    first = bench.open(A, "sleep", "60")

    with pytest.raises(Duplicate):
        bench.open(A, "sleep", "60")

    assert first.pid == bench.pane(A).pid


@pytest.mark.parametrize(
    ("program", "status", "number"), [("exit 7", 7, None), ("exit 0", 0, None), ("kill -9 $$", None, 9)]
)
def test_a_pane_outlives_its_program_and_keeps_how_it_ended(bench, program, status, number):
    """Even a program that ends at once leaves its pane with the exit status or the signal."""
    bench.open(A, "sh", "-c", program)

    def ended():
        pane = bench.pane(A)
        if pane and pane.dead and (pane.dead_status, pane.dead_signal) == (None, None):
            bench.panes.collect()  # 3.3a may miss it
            return None
        return pane if pane and pane.dead else None

    pane = bench.until(ended)
    assert (status, number) == (pane.dead_status, pane.dead_signal)


def test_names_are_exact(bench):
    """A name that is only the beginning of another is not that session."""
    bench.open(A, "sleep", "60")

    assert Existence.ALIVE == bench.panes.existence(f"fleet-{A}")
    assert Existence.GONE == bench.panes.existence(f"fleet-{A[:4]}")
    assert Existence.GONE == bench.panes.existence("fleet-")


def test_ending_takes_only_its_own_session_and_can_be_repeated(bench):
    """The neighbour stays; a session that is not there is fine."""
    bench.open(A, "sleep", "60")
    bench.open(B, "sleep", "60")

    bench.panes.end(A)
    bench.panes.end(A)

    assert None is bench.pane(A)
    assert bench.pane(B) and not bench.pane(B).dead


def test_closing_takes_the_agents_pane_and_can_be_repeated(bench):
    """With nothing else in it the session goes too; the neighbour stays."""
    pane = bench.open(A, "sleep", "60")
    bench.open(B, "sleep", "60")

    bench.panes.close(pane)
    bench.panes.close(pane)

    assert None is bench.pane(A)
    assert bench.pane(B) and not bench.pane(B).dead


def test_closing_the_last_pane_of_a_server(bench):
    """It is gone; while the server goes away with it that may not be known yet, and is never wrong."""
    pane = bench.open(A, "sleep", "60")

    bench.panes.close(pane)

    seen = set()
    bench.until(lambda: seen.add(one := bench.panes.existence(f"fleet-{A}")) or one == Existence.GONE)
    assert Existence.ALIVE not in seen


def test_a_new_session_right_after_the_last_one_ended(bench):
    """A server that is just going away with its last session does not break the next start."""
    for _ in range(3):
        bench.open(A, "sleep", "60")
        bench.panes.end(A)

    assert bench.open(A, "sleep", "60").pid


def test_the_screen_is_what_the_program_printed(bench):
    """Captured top first, without the empty lines at its end."""
    pane = bench.open(A, sys.executable, "-c", "print('one'); print('zwei \u6f22'); import time; time.sleep(60)")

    lines = bench.until(lambda: (found := bench.panes.capture(pane.pane_id)) and len(found) >= 2 and found)
    assert ["one", "zwei \u6f22"] == lines


def test_a_pane_that_is_not_there_cannot_be_looked_at(bench):
    """Capture raises Unreachable: no screen is not an empty screen."""
    bench.open(A, "sleep", "60")

    with pytest.raises(Unreachable):
        bench.panes.capture("%9999")


def test_a_paste_arrives_byte_for_byte(bench):
    """Trailing semicolons, control characters, 100 kB: everything, in order."""
    data = ("; x;\n\ttab \x1b[31m esc é 漢 \U0001f600 " + "y" * 50 + ";\n").encode() * 1200 + b"end;"
    out = bench.folder / "raw"
    pane = bench.open(A, sys.executable, "-c", READER, str(out))
    bench.until(lambda: "ready" in "".join(bench.panes.capture(pane.pane_id)))

    bench.panes.paste(pane.pane_id, data)

    bench.until(lambda: len(out.read_bytes()) >= len(data))
    assert data == out.read_bytes()


def test_the_longest_line_that_arrives_whole(bench):
    """A program that lets the terminal assemble its lines gets as much as is told, and never more."""
    code = "import sys; print('ready'); [print('got', len(input())) for _ in range(2)]; input()"
    pane = bench.open(A, sys.executable, "-uc", code)
    bench.until(lambda: "ready" in "".join(bench.panes.capture(pane.pane_id)))
    limit = bench.panes.terminal(pane.pane_id).line_bytes

    def heard():
        return re.findall(r"got (\d+)", "\n".join(bench.panes.capture(pane.pane_id)))

    for number, size in enumerate((limit, limit + 1), 1):
        bench.panes.paste(pane.pane_id, b"x" * size)
        bench.panes.enter(pane.pane_id)
        bench.until(lambda number=number: len(heard()) == number)

    assert [str(limit)] * 2 == heard()


def test_a_program_that_takes_every_key_has_no_longest_line(bench):
    """Nothing is held back from it."""
    pane = bench.open(A, sys.executable, "-c", READER, str(bench.folder / "raw"))
    bench.until(lambda: "ready" in "".join(bench.panes.capture(pane.pane_id)))

    assert (None, False) == bench.panes.terminal(pane.pane_id)


def test_what_a_password_prompt_hides_is_told(bench):
    """It is read as a line and not shown."""
    pane = bench.open(A, sys.executable, "-c", "import getpass; getpass.getpass('Password: ')")
    bench.until(lambda: "Password" in "".join(bench.panes.capture(pane.pane_id)))

    bench.until(lambda: bench.panes.terminal(pane.pane_id).hides)


@pytest.mark.parametrize("asked", [True, False])
def test_whether_a_paste_is_bracketed_is_told_or_unknown(bench, asked):
    """What is told is what happens to a paste; tmux before 3.8 tells nothing."""
    out = bench.folder / "raw"
    code = ("sys.stdout.write('\\x1b[?2004h'); " if asked else "") + READER.partition("; ")[2]
    pane = bench.open(A, sys.executable, "-c", "import os, sys, tty; " + code, str(out))
    bench.until(lambda: "ready" in "".join(bench.panes.capture(pane.pane_id)))

    told = bench.panes.bracketed(pane.pane_id)
    bench.panes.paste(pane.pane_id, b"a\nb")

    assert told in (asked, None)
    assert told is asked or pane.version != "3.8"
    bench.until(lambda: b"b" in out.read_bytes())
    assert out.read_bytes().startswith(b"\x1b[200~") is asked


def test_enter_is_a_carriage_return(bench):
    """What Enter sends is what a terminal sends."""
    out = bench.folder / "raw"
    pane = bench.open(A, sys.executable, "-c", READER, str(out))
    bench.until(lambda: "ready" in "".join(bench.panes.capture(pane.pane_id)))

    bench.panes.enter(pane.pane_id)

    bench.until(lambda: out.read_bytes())
    assert b"\r" == out.read_bytes()


def test_an_arrow_key_is_what_a_terminal_sends(bench):
    """In the mode of cursor keys in which the program is."""
    out = bench.folder / "raw"
    pane = bench.open(A, sys.executable, "-c", READER, str(out))
    bench.until(lambda: "ready" in "".join(bench.panes.capture(pane.pane_id)))

    bench.panes.press(pane.pane_id, "Down")
    bench.panes.press(pane.pane_id, "Up")

    bench.until(lambda: len(out.read_bytes()) >= 6)
    assert b"\x1b[B\x1b[A" == out.read_bytes()


def test_a_new_pane_has_the_first_size(bench):
    """As large as no client makes it."""
    pane = bench.open(A, "sleep", "60")

    assert (220, 50) == bench.panes.size(pane.pane_id)
    with pytest.raises(Unreachable):
        bench.panes.size("%9999")
