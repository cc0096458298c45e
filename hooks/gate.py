"""What tmux runs in an agent's pane, with an absolute interpreter and -I -S: `gate.py LAUNCH_FILE NONCE`.

See fleet/gate.py. Kept this small because a script is compiled on every run, an imported module is not.
"""

import posix
import sys

up = __file__.rsplit("/", 2)[0]
try:
    posix.stat(up + "/fleet")
except OSError:
    up = up.rsplit("/", 2)[0]
sys.path.insert(0, up)
from fleet.gate import main  # noqa: E402  # the path stands only now

main()
