"""Recorded shapes of transcript records, one for every sort the fake agent writes."""

import json

from tests.fakeagent.bench import ROOT, kind

MEASURED = ROOT / "tests" / "fixtures" / "measured" / "records.jsonl"


def measured():
    """Recorded records of Claude Code 2.1.197, by sort."""
    entries = [json.loads(line) for line in MEASURED.read_text().splitlines()]
    return {entry["kind"]: entry["record"] for entry in entries}


def sort_of(record):
    """The sort of a record, finer than its type where one type has several shapes."""
    if record["type"] == "user":
        return _user_sort(record)
    if record["type"] == "assistant":
        return "assistant+synthetic" if record.get("isApiErrorMessage") else "assistant"
    sort = kind(record)
    if sort == "system:stop_hook_summary":
        return sort + ("+block" if record["hookErrors"] else "+plain")
    if sort == "system:informational":
        return sort + ("+prevent" if "preventContinuation" in record else "+plain")
    return sort


def _user_sort(record):
    content, result = str(record["message"]["content"]), record.get("toolUseResult")
    if record.get("isCompactSummary"):
        return "user+summary"
    if record.get("isMeta"):
        return "user+feedback" if "Stop hook" in content else "user+caveat"
    if "toolUseResult" in record:
        if isinstance(result, str):
            return "user+result+error" + ("+rejected" if result == "User rejected tool use" else "")
        return f"user+result+{result.get('type', 'bash')}"
    if "Request interrupted" in content:
        tool = "+tool" if "tool use" in content else ""
        return f"user+interrupted{tool}" + ("+id" if "interruptedMessageId" in record else "")
    if "<command-name>" in content or "<local-command-stdout>" in content:
        return "user+command"
    return "user+notification" if "task-notification" in content else "user+prompt"


def shape(record):
    """The keys of a record and of the objects in it that a reader opens."""
    inner = {}
    for name in ("message", "attachment", "snapshot", "compactMetadata", "toolUseResult"):
        if isinstance(record.get(name), dict):
            inner[name] = set(record[name]) - {"backgroundTaskId"}
    usage = record.get("message", {}).get("usage")
    if usage:
        inner["usage"] = set(usage)
    return set(record) - {"slug"}, inner
