"""A drain tells what is new: once, redacted, to what the settings name, and nothing at all by default."""

import stat


def stand_in(world):
    """A `notify-send` that writes down what it was given."""
    out = world.root / "told"
    program = world.bin / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s|%s\\n" "$3" "$4" >>{out}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return lambda: out.read_text().splitlines() if out.exists() else []


def test_a_question_a_hold_and_an_end_are_told_once(world):
    """A drain that comes again does not tell the same twice; a stop that you ordered is no news."""
    told = stand_in(world)
    world.config("notify: {desktop: true, debounce_seconds: 0}\nscanner: {enabled: false}\n")
    world.rules(
        {"match": "ask", "do": "STUB: bash=touch x\nSTUB: say=done"},
        {"match": "much", "do": "STUB: error=429\nSTUB: errmsg=key sk-ant-api03-abcdefghijklmnop1234567890"},
        {"match": ".", "do": "STUB: say=fine"},
    )
    first = world.start("drain")
    asking = world.dispatch("asks", "ask me", wait="accepted")
    world.until(lambda: any(line.startswith("asks asks for permission|") for line in told()), "the question is told")
    world.fleet("drain", "--stop")
    first.wait(30)
    second = world.start("drain")
    world.dispatch("limited", "too much", "--env", "CLAUDE_CODE_MAX_RETRIES=0", wait="accepted")
    world.until(lambda: any("is on hold|" in line for line in told()), "the hold is told")
    world.fleet("hold", "clear", "--all")
    crashing = world.dispatch("crashing", "x")
    world.tmux("send-keys", "-t", crashing["pane_id"], "C-c", "C-c")
    world.until(lambda: any(line.startswith("crashing has ended|") for line in told()), "the end is told")
    world.fleet("stop", asking["id"])
    world.fleet("drain", "--stop")
    second.wait(30)

    titles = [line.partition("|")[0] for line in told()]
    assert 1 == titles.count("asks asks for permission")
    assert 1 == titles.count("crashing has ended")
    assert "asks has ended" not in titles
    assert not any("abcdefghijklmnop" in line for line in told())


def test_by_default_nothing_is_told(world):
    """No program is run, nothing is remembered."""
    told = stand_in(world)
    drain = world.start("drain")
    world.rules({"match": "ask", "do": "STUB: bash=touch x\nSTUB: say=done"})
    world.dispatch("asks", "ask me", wait="accepted")
    world.state("asks", "waiting", "permission")
    world.fleet("drain", "--stop")
    drain.wait(30)

    assert [] == told()
    assert not (world.fleet_home / "run" / "notified.json").exists()
