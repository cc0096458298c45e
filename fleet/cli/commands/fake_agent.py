"""The bundled fake coding agent; its own --help tells its options."""

from __future__ import annotations


def main(argv: list[str]) -> int:
    """Run it."""
    from fleet.fakeagent.cli import main as run  # noqa: PLC0415  # paid only where it is used

    return run(argv)
