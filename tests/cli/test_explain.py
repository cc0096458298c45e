"""`fleet explain`: the verdict, every source's word, and what would change it."""

import pytest

from fleet.formats.states import Existence, Reason, Turn
from fleet.model.state import Facts, State
from fleet.model.opinions import changes, mail_stays, opinions, words
from fleet.model.judge import judge
from fleet.model.screen import Screen

PROMPT = {"source": "hook", "event": "UserPromptSubmit", "ts": "2026-11-30T13:00:00Z"}


def said(**known):
    """Each source with its word."""
    return {one.source: one.says for one in opinions(Facts(**{"pane": Existence.ALIVE, "running": True, **known}))}


def test_every_source_speaks_for_itself():
    """Also where another outranks it."""
    screen = Screen(looked_at=1.0, turn="waiting", reason="permission", rule="x/y")

    assert {
        "queue": "waiting (handoff)", "pane": "there", "process": "running", "hook": "working",
        "log": "last entry: tool", "screen": "waiting (permission)",
    } == said(events=[PROMPT], queued=True, last_said="tool", screen=screen)  # fmt: skip


def test_who_could_not_look_says_so():
    """And says nothing of what is there."""
    assert {
        "pane": "could not look", "process": "could not look", "hook": "nothing", "screen": "not looked at",
    } == said(pane=Existence.UNKNOWN, running=None, reports=False)  # fmt: skip


def test_background_work_is_part_of_the_verdict():
    """As `fleet list` has it; its end is one of the things that change the state."""
    idle = State(turn=Turn.IDLE, source="hook", background=2)

    assert "idle +2" == words(idle)
    assert "background" in changes(idle)
    assert {"hook": "idle +1"}.items() <= said(events=[{**PROMPT, "event": "Stop", "background": 1}]).items()


@pytest.mark.parametrize(
    ("why", "known"),
    [
        ("its pane is gone", {"pane": Existence.GONE, "running": False}),
        ("its program has ended", {"pane_dead": True, "running": False}),
        ("tmux could not be asked", {"pane": Existence.UNKNOWN}),
        ("no scanner runs", {}),
    ],
)
def test_why_there_is_no_screen(why, known):
    """A scanner looks at no pane that is gone or dead, however well it runs."""
    screen = opinions(Facts(**{"pane": Existence.ALIVE, "running": True, **known}))[-1]

    assert ("screen", True) == (screen.source, why in screen.evidence)


def test_why_a_message_stays_is_said():
    """Nothing is typed into a screen that shows no composer: an editor that a person opened from there."""
    stop = [{**PROMPT, "event": "Stop"}]
    editor = Facts(pane=Existence.ALIVE, running=True, events=stop, mail=True, screen=Screen(looked_at=1.0))

    assert "not recognised" in mail_stays(editor, judge(editor))
    for other in (editor._replace(mail=False), editor._replace(screen=None), editor._replace(events=[PROMPT])):
        assert mail_stays(other, judge(other)) is None


def test_a_name_is_not_said_to_be_nobodys_when_a_record_could_not_be_read(bare):
    """It may be that one's: the file is named."""
    (bare.home / "agents").mkdir(parents=True)
    (bare.home / "agents" / "a1b2c3d4.json").write_text("{")

    code, _, err = bare("explain", "fix-login")

    assert (4, True) == (code, "a1b2c3d4.json cannot be read" in " ".join(err.split()))


@pytest.mark.parametrize("turn", [*Turn])
@pytest.mark.parametrize("reason", [None, *Reason])
def test_every_state_has_a_way_out(turn, reason):
    """Whatever the verdict, there is a word of what would change it."""
    assert changes(State(turn=turn, source="hook", reason=reason))
