"""`hooks/on_event.py` with its effects named and a kill at one of them, as the plan beside the fleet home says.

The plan is `hook-plan.json` in the folder above the home: `event` and `nth` say for which call since it was written.
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
        from tests.crash.effects import Effects, later

        with open(path + ".calls", "ab") as f:
            f.write(b".")
        calls = os.path.getsize(path + ".calls")
        # records count in whole seconds: a second call within one would leave out an effect that another one has
        later(plan.get("later_seconds", 0) + calls - 1)
        if calls == plan["nth"]:
            Effects(plan).install()
    from fleet.hooks.entry import main

    sys.exit(main(sys.argv[1:]))
