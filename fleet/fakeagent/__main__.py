"""`python -m fleet.fakeagent` is `fleet fake-agent`."""

import sys

from fleet.fakeagent.cli import main

sys.exit(main(sys.argv[1:]))
