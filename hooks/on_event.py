"""What an engine runs at each of its events; the engine's settings name it with an absolute interpreter and -I -S.

Kept this small because a script is compiled on every run, an imported module is not.
"""

import os
import sys

if os.environ.get("FLEET_AGENT_ID"):
    here = os.path.dirname(os.path.abspath(__file__))
    up = os.path.dirname(here)
    sys.path.insert(0, up if os.path.isdir(os.path.join(up, "fleet")) else os.path.dirname(os.path.dirname(up)))
    from fleet.hooks.entry import main

    sys.exit(main(sys.argv[1:]))
