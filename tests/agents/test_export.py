"""`fleet export` of an agent that a real client was, and a look at it somewhere else."""

import tarfile

ENGINES = ("claude-code",)
SECRET = "sk-ant-api03-" + "Zx9" * 12


def said(screen):
    """The lines of the conversation: hints of the client come and go beside them."""
    return [line for line in screen["lines"] if line.startswith(("❯", "●"))]


def test_a_real_agents_life_goes_out_and_can_be_looked_at(world):
    """Conversation, events and last screen are there; the client's key and what looks like one are not."""
    world.env["MY_API_TOKEN"] = SECRET
    world.dispatch("life", f"remember {SECRET}\nSTUB: say=the-first-answer")
    world.fleet("send", "life", "and-the-second-question", "--wait", "30")
    world.state("life", "idle")
    before = world.json("show", "life")
    seen = world.json("peek", "life")
    archive = world.root / "x.tar.gz"

    world.fleet("export", "life", "--to", str(archive))

    with tarfile.open(archive) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}
    everything = b"".join(files.values())
    (transcript,) = [text for name, text in files.items() if "transcripts/" in name and before["id"] in name]
    for words in (b"the-first-answer", b"and-the-second-question"):
        assert words in transcript, words
    assert SECRET.encode() not in everything
    assert world.env["ANTHROPIC_API_KEY"].encode() not in everything

    imported = world.json("import", str(archive))
    world.env["FLEET_HOME"] = imported["path"]
    try:
        shown = world.json("show", "life")
        assert [before[name] for name in ("id", "state", "context_pct", "conversation_id")] == [
            shown[name] for name in ("id", "state", "context_pct", "conversation_id")
        ]
        assert {"UserPromptSubmit", "Stop"} <= {event["event"] for event in world.json("events", "life")}
        assert [line.replace(SECRET, "[redacted]") for line in said(seen)] == said(world.json("peek", "life"))
    finally:
        world.env["FLEET_HOME"] = str(world.fleet_home)
