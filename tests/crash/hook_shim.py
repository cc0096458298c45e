"""`hooks/on_event.py` with its effects named and a kill at one of them, as the plan beside the fleet home says.

The plan is `hook-plan.json` in the folder above the home; it holds for one event, from the moment it is written.
"""

import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)

if __name__ == "__main__":
    path = os.path.join(os.path.dirname(os.environ["FLEET_HOME"]), "hook-plan.json")
    try:
        with open(path, encoding="utf-8") as f:
            plan = json.load(f)
    except FileNotFoundError:
        plan = {}
    if plan.get("event") == sys.argv[2]:
        from tests.crash.effects import Effects

        Effects(plan).install()
    from fleet.hooks.entry import main

    sys.exit(main(sys.argv[1:]))
