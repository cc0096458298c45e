"""What tmux runs in the user's status line, with an absolute interpreter and -I -S: `tmux_segment.py [FLEET_HOME]`.

Kept this small because a script is compiled on every run, an imported module is not.
"""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
up = os.path.dirname(here)
sys.path.insert(0, up if os.path.isdir(os.path.join(up, "fleet")) else os.path.dirname(os.path.dirname(up)))
from fleet.status_line import main  # noqa: E402  # the path must be known first

sys.exit(main(sys.argv[1:]))
