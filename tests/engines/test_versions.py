"""Which version an installed engine has: its package says it, or it is asked, once."""

import json

from fleet.engines.versions import installed


def program(path, says):
    """An executable that prints *says* and counts how often it was run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho x >> {path}.asked\n{says}\n")
    path.chmod(0o755)
    return str(path)


def asked(path):
    """How often it was run."""
    try:
        with open(path + ".asked") as f:
            return len(f.readlines())
    except FileNotFoundError:
        return 0


def test_a_package_is_not_run(tmp_path):
    """What npm installed tells its version, scoped or not, through the link on PATH; the platform is no part of it."""
    for name, version, told in (
        ("opencode-x", "1.18.33", "1.18.33"),
        ("@openai/codex", "0.171.0-linux-x64", "0.171.0"),
    ):
        package = tmp_path / "node_modules" / name
        path = program(package / "vendor" / "bin" / "it", "echo 9.9.9")
        (package / "package.json").write_text(json.dumps({"version": version}))
        (tmp_path / version).symlink_to(path)

        assert told == installed(str(tmp_path / version), {}, str(tmp_path / "memory"))
        assert 0 == asked(path)


def test_any_other_program_is_asked_once(tmp_path):
    """Until it is another file: a client that updates itself is asked anew."""
    path, memory = program(tmp_path / "it", "echo '2.1.197 (Claude Code)'"), str(tmp_path / "memory")

    assert ["2.1.197"] * 3 == [installed(path, {}, memory) for _ in range(3)]
    assert 1 == asked(path)
    program(tmp_path / "it", "echo '2.2.0 (Claude Code), a later one'")
    assert "2.2.0" == installed(path, {}, memory)


def test_what_tells_nothing_is_unknown(tmp_path):
    """A program that fails, or prints no version; and a memory that cannot be read is made anew."""
    memory = tmp_path / "memory"
    memory.write_text("{")

    assert installed(program(tmp_path / "fails", "echo 1.2.3; exit 3"), {}, str(memory)) is None
    assert installed(program(tmp_path / "mute", "echo hello"), {}, str(memory)) is None
    assert installed(str(tmp_path / "missing"), {}, str(memory)) is None
    assert "1.2" == installed(program(tmp_path / "tells", "echo 1.2"), {}, str(memory))
