"""What fleet wants in a settings file, for the tests and the processes that they kill."""

from fleet.settings import tags
from fleet.settings.merge import Wanted

ENGINE = "claude-code"


def wanted(place="/here", events=("Stop", "PreCompact")):
    """An installation of fleet at *place*."""
    command = {e: tags.hook_command("/py", f"{place}/hooks/on_event.py", ENGINE, e) for e in events}
    return Wanted(engine=ENGINE, hooks=command, timeouts=dict.fromkeys(events, 10), python="/py")
