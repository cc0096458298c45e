"""The skills that travel with fleet name only what is there."""

import json
import re
from pathlib import Path

import pytest

from fleet.cli.parsers import module_of, parser_of
from fleet.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
SKILLS = sorted((ROOT / "skills").glob("*/SKILL.md"))
NAMED = [
    (path.parent.name, words) for path in SKILLS for words in re.findall(r"`fleet ([a-z][^`]*)`", path.read_text())
]


@pytest.mark.parametrize(("skill", "words"), NAMED)
def test_every_command_of_a_skill_is_there(skill, words):
    """The command, and each option that stands with it."""
    name, *rest = words.split()
    assert name in COMMANDS, skill
    known = parser_of(name, module_of(name)).format_help()
    for option in (word for word in rest if word.startswith("-")):
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known), (skill, words)


def test_each_skill_belongs_to_one_plugin_and_the_supervisors_to_its_own():
    """What every agent gets does not hold what only a supervisor is to know."""
    every = json.loads((ROOT / "skills" / ".claude-plugin" / "plugin.json").read_text())
    own = json.loads((ROOT / "skills" / "fleet-supervision" / ".claude-plugin" / "plugin.json").read_text())

    assert ["./fleet-guard"] == every["skills"]
    assert ["./"] == own["skills"]
    assert every["name"] != own["name"]
    for path in SKILLS:
        head = path.read_text().split("---")[1]
        assert f"name: {path.parent.name}\n" in head
