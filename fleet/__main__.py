"""`python -m fleet` is `fleet`."""

from fleet.cli.main import entry

entry()
