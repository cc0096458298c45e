"""Answering a dialog: which row is meant, and that nothing is pressed but on the row that was looked at."""

import pytest

from fleet.engines.answers import Answers, Dialog, Verdict, answers_of, chosen, dialog_on, fingerprint, name_of, shows_call
from fleet.engines.dialog import LIST, marked, options_of
from fleet.engines.screen import cells, plain
from fleet.errors import Ambiguous, NotFound, Refused, TimedOut, Unreachable
from fleet.formats.layout import Layout
from fleet.operate.approving import REDRAWN_LOOKS, _Hand
from tests.conftest import FakeClock
from tests.screens.test_rules import SCREENS, rules

#: Claude Code itself draws some of them over each other at 60 columns.
ASKED = [
    s for s in SCREENS
    if s.truth.get("reason") == "permission" and (s.width >= 80 or s.engine in ("gemini", "opencode"))
]  # fmt: skip
ANSWERS = Answers(("Yes",), ("No",))
LABELS = ("Yes", "Yes, always", "No", "No, and say why")
AGENT = "a" * 8
DIALOG = Dialog("f" * 12, "ask", "Do it?", "$ make\nDo it?", LABELS, 0)


def shipped(engine):
    """What the shipped configuration says of an engine's dialogs."""
    import yaml

    from fleet import resources

    with open(resources.config_file("engines", f"{engine}.yaml"), encoding="utf-8") as f:
        return answers_of(yaml.safe_load(f)["screen"])


@pytest.mark.parametrize("one", ASKED, ids=str)
def test_every_recorded_permission_can_be_answered(one):
    """Read whole, one row marked, one plain yes and one plain no; what the client shows a part of is told."""
    found = dialog_on(rules(one.engine), one.lines)
    answers = shipped(one.engine)[found.rule]

    assert bool(one.truth.get("cut")) != answers.can_read(found)
    if found.form.presses:  # each has its own key, and none of them says yes
        assert (None, "enter confirm") == tuple(answers.default(v, found.labels) for v in Verdict)
        return
    assert ("second" in one.case) == (found.marked == 1)
    yes, no = (answers.default(v, found.labels) for v in (Verdict.APPROVE, Verdict.DENY))
    assert (0, len(found.labels) - 1) == (found.labels.index(yes), found.labels.index(no))


def test_a_plan_is_part_of_its_dialog():
    """Another plan is another dialog, and one whose beginning has scrolled away is not answered."""
    (one,) = [s for s in SCREENS if (s.engine, s.case, s.width) == ("claude-code", "plan-approval", 100)]
    whole = dialog_on(rules("claude-code"), one.text)
    begin = next(i for i, line in enumerate(one.text) if "Ready to code?" in line)

    assert whole.is_whole and "2. Mend it" in whole.detail
    assert whole.print != dialog_on(rules("claude-code"), [t.replace("Mend it", "Remove it") for t in one.text]).print
    assert not dialog_on(rules("claude-code"), one.text[begin:]).is_whole


COMMAND = """\
 Bash command · from the general-purpose agent

   rm -rf ./build && make
   all # twice
   make it

 Do you want to proceed?"""


@pytest.mark.parametrize(
    ("tool", "given", "shown"),
    [
        ("Bash", {"command": "rm -rf ./build && make all # twice", "description": "make it"}, True),
        ("Bash", {"command": "rm -rf ./build && make\n  all # twice\nmake it"}, True),
        ("Bash", {"command": "rm -rf . /build && make all # twice", "description": "make it"}, False),
        ("Bash", {"command": "rm -rf ./build", "description": "make it"}, False),
        ("Bash", {"command": "make all # twice", "description": "make it"}, False),
        ("Bash", {"command": "rm -rf ./build && make all # twice; reboot", "description": "make it"}, False),
        ("Bash", {}, False),
        ("Write", {"file_path": "build", "content": "all"}, False),
        ("", {}, False),
    ],
)
def test_a_call_is_shown_by_a_dialog_that_has_all_of_its_command(tool, given, shown):
    """Not by one that has it among others, or a part of it, or that shows how it would look."""
    dialog = DIALOG._replace(question="Do you want to proceed?", detail=COMMAND)

    assert shown == shows_call(dialog, tool, given)


def test_a_plan_has_a_plain_yes_and_a_plain_no():
    """The yes lets every edit be asked about; the no leaves the client in its plan mode."""
    (one,) = [s for s in SCREENS if (s.engine, s.case, s.width) == ("claude-code", "plan-approval", 100)]
    found = dialog_on(rules("claude-code"), one.lines)
    answers = shipped("claude-code")[found.rule]

    said = [found.labels[chosen(found, answers, verdict, None)] for verdict in Verdict]
    assert ["Yes, manually approve edits", "Tell Claude what to change"] == said


@pytest.mark.parametrize("width", [100, 220])
def test_a_plan_is_shown_by_the_dialog_that_has_all_of_it(width):
    """However its client draws Markdown."""
    (one,) = [s for s in SCREENS if (s.engine, s.case, s.width) == ("claude-code", "plan-approval", width)]
    dialog = dialog_on(rules("claude-code"), one.lines)

    for plan, shown in (
        ("# Plan\n\n1. **Read** the parser\n2. `Mend` it\n3. Test it", True),
        ("# Plan\n\n1. Read the parser\n2. Mend it", False), ("# Another plan", False), ("", False),
    ):  # fmt: skip
        assert shown == shows_call(dialog, "ExitPlanMode", {"plan": plan}), plan


def test_a_command_that_looks_like_a_question_hides_nothing():
    """Codex draws no edge: where a second line asks, it is not known where the dialog begins, and it is not answered."""
    (one,) = [s for s in SCREENS if (s.engine, s.case, s.width) == ("codex", "approval-exec", 100)]
    forged = "\n".join(one.text).replace("$ touch", "$ rm -rf ~\n  Would you like to run this?\n\n  $ touch")

    assert dialog_on(rules("codex"), one.text).is_whole
    assert not dialog_on(rules("codex"), forged.split("\n")).is_whole


def test_a_fingerprint_is_of_every_blank():
    """`rm -rf ./x` is not `rm -rf . /x`, nor `a─b` `ab`; which row a word stands in counts. What stands behind a line does
    not: one look has it and another has not."""
    one = fingerprint("Do it?", "$ rm ./x\n Do it?", ("Yes", "No"))

    assert one == fingerprint("Do it?", "$ rm ./x  \n Do it? ", ("Yes", "No"))
    others = [("$ rm . /x\n Do it?", ("Yes", "No")), ("$ rm .\n/x\n Do it?", ("Yes", "No")),
              ("$ rm .─/x\n Do it?", ("Yes", "No")), ("$ rm ./x\n Do it?", ("No", "Yes")),
              ("$ rm ./x\n Do it?", ("YesNo",))]  # fmt: skip
    assert 6 == len({one, *(fingerprint("Do it?", text, labels) for text, labels in others)})


def test_what_is_listed_is_what_is_answered():
    """The scanner reads a plain look, the hand a styled one: the same dialog has the same fingerprint in both."""
    count = 0
    for one in SCREENS:
        found = dialog_on(rules(one.engine), one.lines)
        if found is not None:
            listed = rules(one.engine).read("\n".join(plain(row) for row in cells(list(one.lines))))
            assert found.print == fingerprint(listed.question, listed.detail, listed.options), one
            count += 1
    assert count > 100


@pytest.mark.parametrize(
    ("engine", "case"),
    [("opencode", "permission-shell"), ("opencode", "permission-always"), ("gemini", "permission-shell"),
     ("gemini", "permission-write"), ("codex", "approval-exec")],
)  # fmt: skip
def test_a_dialog_says_the_same_at_every_width(engine, case):
    """What stands beside it, as opencode's side bar, and the frames around it are no part of it."""
    found = [dialog_on(rules(engine), s.lines) for s in SCREENS if (s.engine, s.case) == (engine, case)]

    assert 3 == len(found)
    assert 1 == len({("".join(one.detail.split()), one.labels) for one in found})
    assert not [line for one in found for line in one.detail.splitlines() if set(line) & set("│┃╭╰")]


@pytest.mark.parametrize(
    ("wanted", "verdict", "row"),
    [(None, "approve", 0), (None, "deny", 2), ("yes", "approve", 0), ("yes, a", "deny", 1), ("No, and", "deny", 3)],
)
def test_a_label_or_a_unique_beginning(wanted, verdict, row):
    """The whole label wins over those that begin with it."""
    assert row == chosen(DIALOG, ANSWERS, Verdict(verdict), wanted)


@pytest.mark.parametrize(
    ("wanted", "answers", "error"),
    [("y", ANSWERS, Ambiguous), ("Perhaps", ANSWERS, NotFound), ("", ANSWERS, NotFound), ("1", ANSWERS, NotFound),
     (None, Answers(("Fine",)), Refused), (None, Answers(("Yes", "No")), Refused)],
)  # fmt: skip
def test_what_no_row_says_is_not_guessed(wanted, answers, error):
    """Neither a number nor a beginning of several; nothing is yes by its place."""
    with pytest.raises(error):
        chosen(DIALOG, answers, Verdict.APPROVE, wanted)


#: Codex 0.171.0 at 80x24, asked to run `rm -rf dangerous` and 70 lines more.
CUT = """
  Would you like to run the following command?

  Environment: local

  $ rm -rf dangerous
  echo line 0
  [… 77 lines] ^a view all
› 1. Yes, proceed (y)
  2. Yes, and don't ask again for commands that start with `rm -rf dangerous`
     (p)
  Press enter to confirm or esc to cancel
"""


def test_what_the_client_left_out_is_not_answered():
    """A command that has no room in the window is cut by Codex, which says so: the rest may be anything."""
    answers = shipped("codex")["permission"]
    found = dialog_on(rules("codex"), CUT.split("\n"))
    whole = dialog_on(rules("codex"), CUT.replace("[… 77 lines] ^a view all", "echo line 1").split("\n"))

    assert ("permission", 0) == (found.rule, found.marked)
    full = CUT.replace("`\n     (p)", " and whatever is put behind it in any way `")
    assert "Press enter" not in "".join(dialog_on(rules("codex"), full.split("\n")).labels)
    assert (False, True) == (answers.can_read(found), answers.can_read(whole))


class Client:
    """A client's dialog under the hand: `script` may change it at the n-th look."""

    engine = "claude-code"

    def __init__(self, labels=LABELS, *, script=None, moves=True, columns=120):
        self.watched = False
        self.labels, self.cursor, self.open, self.text = list(labels), 0, True, "$ make"
        self.script, self.moves, self.columns = script or {}, moves, columns
        self.looks, self.enters, self.stays, self.last_look = 0, [], False, 0

    def look(self):
        self.looks += 1
        if self.looks in self.script:
            self.script[self.looks](self)
        if not self.open:
            return ["all is quiet", "> "]
        rows = [f"{'❯' if n == self.cursor else ' '} {n + 1}. {label}" for n, label in enumerate(self.labels)]
        return ["─" * 20, f" {self.text}", " Do you want to proceed?", *rows, "", "Esc to cancel"]

    def press(self, key):
        if self.moves:
            self.cursor = max(0, min(len(self.labels) - 1, self.cursor + (1 if key == "Down" else -1)))

    def enter(self):
        self.last_look = self.looks
        self.enters.append(self.labels[self.cursor])
        self.open = self.stays

    def size(self):
        return self.columns, 50

    def make_room(self, *, full=False):
        return False


class Beside(Client):
    """The same where the options lie side by side and the marked one has a background of its own, as in opencode."""

    engine = "opencode"

    def __init__(self, **more):
        super().__init__(("Allow once", "Allow always", "Reject"), **more)
        self.presses, self.hint, self.body = [], "", ["  # Shell command", "", "$ make"]

    def look(self):
        lines = super().look()
        if not self.open:
            return lines
        grounds = ("\x1b[48;5;215m" if n == self.cursor else "" for n in range(len(self.labels)))
        row = " ".join(f"{ground} {one} \x1b[48;5;234m" for ground, one in zip(grounds, self.labels, strict=True))
        text = ["△ Permission required", *self.body, *self.text.removeprefix("$ make").split(), "", ""]
        frame = "\x1b[49m  ┃\x1b[48;5;234m  "
        return [
            *(frame + line for line in text),
            f"{frame}{row}      {self.hint}  ⇆ select  enter confirm\x1b[49m",
            frame,
        ]

    def press(self, key):
        self.presses.append(key)
        self.hint = "" if key == "C-f" else self.hint
        if key != "C-f":
            super().press({"Right": "Down", "Left": "Up"}[key])


class Journal:
    def __init__(self):
        self.events = []

    @property
    def told(self):
        return [event["result"] for event in self.events if "result" in event]

    def tell(self, agent_id, event, **fields):
        self.events.append({"event": event, "ts": str(len(self.events)), **fields})

    def newest_first(self, agent_id, limit_bytes):
        return reversed(self.events)


def answer(client, *, option=None, verdict="approve", dialog=None, journal=None):
    """Let the hand answer; what was written down."""
    layout = Layout("/nowhere")
    fleet = type("Fleet", (), {"clock": FakeClock(), "journal": journal or Journal(), "layout": layout})()
    agent = type("Agent", (), {"id": AGENT, "engine": client.engine})()
    hand = _Hand(fleet, agent, client, rules(client.engine), None, is_watched=client.watched)
    known = {"permission": ANSWERS} if type(client) is Client else shipped(client.engine)
    try:
        hand.answer(known, Verdict(verdict), option, dialog)
    finally:
        client.told = fleet.journal.told
    return fleet.journal.told


@pytest.mark.parametrize(
    ("form", "option", "at"),
    [("Client", "Yes", 3), ("Client", "No", 0), ("Client", "Yes, always", 2), ("Client", "No, and", 1),
     ("Beside", "Allow once", 2), ("Beside", "Reject", 0), ("Beside", "Allow a", 1)],
)  # fmt: skip
def test_the_mark_is_brought_to_the_label(form, option, at):
    """From wherever a person left it, by the keys of that form; one press, on that row; told before and after."""
    client = {"Client": Client, "Beside": Beside}[form]()
    client.cursor = at

    assert ["about to press Enter", "went"] == answer(client, option=option)
    assert 1 == len(client.enters)
    assert client.enters[0].startswith(option)


@pytest.mark.parametrize("look", range(3, 8))
@pytest.mark.parametrize("kind", [Client, Beside])
@pytest.mark.parametrize(
    "change",
    [lambda c: setattr(c, "text", "$ rm -rf /"), lambda c: setattr(c, "open", False),
     lambda c: setattr(c, "labels", ["No", "Yes, always", "Yes", "x"])],
)  # fmt: skip
def test_a_dialog_that_changes_before_enter_is_not_answered(look, change, kind):
    """At whichever look it is seen: no Enter, and it is said."""
    client = kind(script={look + (REDRAWN_LOOKS if kind is Beside else 0): change})

    with pytest.raises(Refused):
        answer(client, option="No, and" if kind is Client else "Reject")
    assert [] == client.enters


def test_two_marked_options_beside_each_other_are_none():
    """Nor is a row in which none stands out, or one that is half drawn."""
    client = Beside()
    whole = client.look()
    double = [line.replace(" Allow always", "\x1b[48;5;215m Allow always") for line in whole]
    half = [line.replace("Allow once", "Allow\x1b[48;5;234m once") for line in whole]
    none = [line.replace("\x1b[48;5;215m", "") for line in whole]

    assert [0, None, None, None] == [
        dialog_on(rules("opencode"), screen).marked for screen in (whole, double, half, none)
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (["  # Shell command", "", *["$ x"] * 6], True),
        (["  # Shell command", "", *["$ x"] * 7], False),
        (["  # Shell command", "", "$ x", *[""] * 6], False),  # the rest of it may follow
        (["  → Edit x", "", "  1 + one", *[""] * 6], True),
        (["  → Edit x", "", *[f"  {n} + one" for n in range(7)]], False),
        (["  → Edit x", "", "  1 + one", "and what follows", *[""] * 5], False),
        (["  → Edit x", *[""] * 8], False),  # the client has not drawn it yet
        (["  → Edit x", ""], False),
        (["  # Shell command", ""], False),
        (["  ◇ WebFetch https://example.com", ""], True),
        (["  # Shell command", "", "$ x", "  → Edit x", "  1 + y", *[""] * 4], False),
    ],
)
def test_what_fills_the_clients_window_may_go_on(text, shown):
    """opencode shows twelve lines and does not say that there are more; only of lines with numbers the end is seen."""
    client = Beside()
    client.body = text

    assert shown == shipped("opencode")["permission"].can_read(dialog_on(rules("opencode"), client.look()))


def test_a_dialog_that_its_client_can_draw_larger_is_drawn_larger():
    """Where nobody looks at it, by the key that stands there; it is not answered before it was looked at anew."""
    client = Beside()
    client.body, client.hint = ["  # Shell command", "", *["$ x"] * 7], "ctrl+f fullscreen"

    client.watched = True
    with pytest.raises(Refused, match="cannot be read whole"):
        answer(client)
    assert [] == client.presses
    client.watched = False
    with pytest.raises(Refused, match="it is drawn larger now"):
        answer(client)
    with pytest.raises(Refused, match="cannot be read whole"):
        answer(client)
    assert (["C-f"], []) == (client.presses, client.enters)


def test_under_one_name_nothing_is_pressed_twice():
    """A question that reads alike has another name once one was answered, also if that answer did not show."""
    journal = Journal()
    client = Client()
    dialog = dialog_on(rules("claude-code"), client.look())
    name = name_of(AGENT, dialog.print, ())

    answer(client, dialog=name, journal=journal)
    client.open = True
    with pytest.raises(Refused, match="another dialog is open now"):
        answer(client, dialog=name, journal=journal)
    assert ["Yes"] == client.enters

    later = name_of(AGENT, dialog.print, journal.newest_first(AGENT, None))
    client.stays = True
    with pytest.raises(TimedOut):
        answer(client, dialog=later, journal=journal)
    with pytest.raises(Refused, match="another dialog is open now"):
        answer(client, dialog=later, journal=journal)
    assert ["Yes", "Yes"] == client.enters
    with pytest.raises(Refused, match="it was answered before and is still there"):  # nor under its new one, or none
        answer(client, journal=journal)
    journal.tell(AGENT, "Notification", source="hook")
    with pytest.raises(Refused, match="it was answered before and is still there"):
        answer(client, journal=journal)
    journal.tell(AGENT, "PermissionRequest", source="hook")  # it has gone on, and asks the same again
    client.stays = False
    answer(client, journal=journal)
    assert ["Yes", "Yes", "Yes"] == client.enters
    assert 3 == len({name, later, name_of("b" * 8, dialog.print, ())})  # another agent's is another one


def test_an_option_with_a_key_of_its_own_is_pressed():
    """Where none is marked: opencode asks for a word about a rejection, and Enter leaves it out."""
    (one,) = [s for s in SCREENS if (s.engine, s.case, s.width) == ("opencode", "permission-rejected", 220)]
    client = Beside()
    client.look = lambda: one.lines if client.open else ["> "]
    client.press = lambda key: (client.presses.append(key), setattr(client, "open", False))

    assert ["about to press Enter", "went"] == answer(client, verdict="deny")
    assert (["Enter"], []) == (client.presses, client.enters)
    with pytest.raises(Refused, match="simply means approve"):
        client.open = True
        answer(client)


@pytest.mark.parametrize(
    ("engine", "case"), [("claude-code", "question"), ("codex", "question"), ("claude-code", "question-two"),
                         ("claude-code", "question-many")],
)  # fmt: skip
def test_a_question_has_answers_and_no_yes(engine, case):
    """One is named; what asks for a text is none, and there is no denying it. Several at once are answered in the pane."""
    (one,) = [s for s in SCREENS if (s.engine, s.case, s.width) == (engine, case, 100)]
    found = dialog_on(rules(engine), one.lines)
    answers = shipped(engine)[found.rule]

    if case != "question":
        assert answers.pane
        return
    assert answers.can_read(found)
    assert 1 == chosen(found, answers, Verdict.APPROVE, "sqlite")
    for verdict, wanted, words in (
        ("approve", None, "simply means"), ("deny", None, "not denied"), ("deny", "SQLite", "not denied"),
    ):  # fmt: skip
        with pytest.raises(Refused, match=words) as refused:
            chosen(found, answers, Verdict(verdict), wanted)
        assert "PostgreSQL; SQLite" in refused.value.hint
        assert "Type" not in refused.value.hint
    if engine == "claude-code":
        with pytest.raises(Refused, match="asks for a text"):
            chosen(found, answers, Verdict.APPROVE, "Chat")


def test_a_person_who_moves_the_cursor_at_the_last_moment_wins():
    """The last look decides."""
    last = Client()
    answer(last, option="Yes")
    client = Client(script={last.last_look: lambda c: setattr(c, "cursor", 2)})

    with pytest.raises(Refused, match="somebody else"):
        answer(client, option="Yes")
    assert [] == client.enters


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (Client(moves=False), "the cursor does not get to"),
        (Client(columns=60), "less than 80 columns"),
        (Client(("Yes", "Yes", "No")), "cannot be read whole"),
        (Client(script={1: lambda c: setattr(c, "open", False)}), "no dialog is open"),
    ],
)
def test_what_is_not_certain_is_refused(client, words):
    """No key that answers was pressed."""
    with pytest.raises(Refused, match=words):
        answer(client, option="No")
    assert [] == client.enters


def test_two_marked_rows_are_none():
    """A frame that is half drawn, or a command that looks like a row: which one Enter takes is not known."""

    def row(*lines):
        return marked(LIST, options_of(LIST, lines), cells(list(lines)))

    assert row("❯ 1. Yes", "❯ 2. No") is None
    assert 1 == row("  1. Yes", "❯ 2. No")
    assert row("  1. Yes", "  2. No") is None


def test_a_part_that_has_no_room_is_shown_before_it_is_answered():
    """Where nobody looks the pane grows, and whoever asked is sent to look again: they have not seen all of it."""
    client = Client()
    client.text, grown = "", []
    client.make_room = lambda *, full: grown.append(full) or True

    with pytest.raises(Refused, match="it is drawn larger now"):
        answer(client, option="Yes")
    assert ([], [True]) == (client.enters, grown)


def test_another_dialog_than_the_one_that_was_meant():
    """The fingerprint of the list decides."""
    client = Client()

    with pytest.raises(Refused, match="another dialog is open now"):
        answer(client, dialog="0" * 12)
    assert [] == client.enters


def test_a_press_that_does_not_show_is_unconfirmed_and_not_repeated():
    """The dialog may stand there because the client is slow, or because it asks the same again."""
    client = Client()
    client.stays = True

    with pytest.raises(TimedOut):
        answer(client)
    assert ["Yes"] == client.enters
    assert ["about to press Enter", "unconfirmed"] == client.told


def test_a_server_that_does_not_answer_is_no_answer():
    """What could not be looked at is not taken for a dialog that went."""
    client = Client()

    def gone(_):
        raise Unreachable("no answer")

    client.script = {4: gone}
    with pytest.raises(Unreachable):
        answer(client)
    assert [] == client.enters
