"""What Claude Code runs for its status line; its settings name it with an absolute interpreter and -I -S.

See fleet/hooks/status_line.py. For a session that fleet does not know, the user's own command runs as if alone.
"""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
up = os.path.dirname(here)
sys.path.insert(0, up if os.path.isdir(os.path.join(up, "fleet")) else os.path.dirname(os.path.dirname(up)))
from fleet.hooks.status_line import main  # noqa: E402  # the path stands only now

sys.exit(main(sys.argv[1:]))
