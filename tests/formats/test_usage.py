"""How full a context is, from real logs, and what is no evidence of it."""

import json
import os

import pytest

from fleet.formats import usage

WINDOWS = {"claude-sonnet-4-5": 200_000, "claude-opus-4-8": 1_000_000}


def assistant(tokens, model="claude-sonnet-4-5", **more):
    used = {
        "input_tokens": tokens,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "output_tokens": 999,
    }
    return {"type": "assistant", "message": {"model": model, "usage": used, "content": []}, **more}


def user(text="go on"):
    return {"type": "user", "message": {"role": "user", "content": text}}


BOUNDARY = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}


@pytest.fixture
def log(tmp_path):
    """Writes a transcript of these lines and returns its path."""

    def write(*lines, torn=b""):
        path = tmp_path / "transcript.jsonl"
        path.write_bytes(b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines) + torn)
        return str(path)

    return write


def told(engine, path, windows=WINDOWS):
    found = usage.read(engine, path, windows)
    return found and (found.tokens, found.model, found.percent)


@pytest.mark.parametrize(
    ("name", "tokens", "percent"),
    [
        ("transcript-multiturn.jsonl", 95_000, 47.5),
        ("transcript-after-compact.jsonl", 22_000, 11.0),
        ("transcript-interrupted-and-error.jsonl", 25_000, 12.5),
        ("transcript-subagents.jsonl", 40_000, 20.0),
    ],
)
def test_real_transcripts_of_claude_code_give_these_figures(real, name, tokens, percent):
    """Input, cache reads and cache writes of the last main-chain answer; not its output, not its subagents'."""
    assert (tokens, "claude-sonnet-4-5", percent) == told("claude-code", real(name))


def turns(path):
    """The lines of a real log that end with an answer or a request, as growing beginnings of the file."""
    with open(path, "rb") as f:
        lines = f.readlines()
    return [b"".join(lines[: n + 1]) for n in range(len(lines))]


def test_a_real_transcript_is_right_at_every_length(real, tmp_path):
    """As the file grew line by line, each figure was that of the last answer then in it; after compaction: none."""
    seen = []
    for beginning in turns(real("transcript-after-compact.jsonl")):
        path = tmp_path / "t.jsonl"
        path.write_bytes(beginning)
        found = usage.claude(str(path), WINDOWS)
        figure = found and found.tokens
        if not seen or seen[-1] != figure:
            seen.append(figure)
    assert [None, 80_000, 160_000, None, 22_000] == seen


def test_a_real_rollout_of_codex_is_right_at_every_length(real, tmp_path):
    """The input of the last request over the window that Codex names; nothing after a compaction."""
    seen = []
    for beginning in turns(real("codex-rollout.jsonl")):
        path = tmp_path / "r.jsonl"
        path.write_bytes(beginning)
        found = usage.codex(str(path), {})
        figure = found and (found.tokens, found.percent)
        if not seen or seen[-1] != figure:
            seen.append(figure)
    expected = [
        None, (100_000, 38.7), (12_829, 4.96), (12_940, 5.01), (13_294, 5.14), (13_445, 5.2), (7_024, 2.72), None,
    ]  # fmt: skip
    assert expected == seen


def test_codexs_window_can_be_set(real, tmp_path):
    """A window of our own for codex outranks the one in its log."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(turns(real("codex-rollout.jsonl"))[13])
    assert 50.0 == usage.codex(str(path), {"codex": 200_000}).percent


def test_one_answer_in_many_lines_counts_once(log):
    """Claude Code repeats an answer's usage on each of its tool calls."""
    assert (30_000, "claude-sonnet-4-5", 15.0) == told("claude-code", log(*[assistant(30_000)] * 4))


@pytest.mark.parametrize(
    "line",
    [
        assistant(0, "<synthetic>"),
        assistant(170_000, "<synthetic>"),
        assistant(170_000, isSidechain=True),
        assistant(0),
        user('"usage" and compact_boundary'),
        {"type": "system", "subtype": "turn_duration", "usage": 1},
        {"type": "assistant", "message": {"model": "m", "usage": None}},
        {"type": "assistant", "message": {"model": "m", "usage": {"input_tokens": "many"}}},
        {"type": "assistant", "message": {"model": "m", "usage": {"input_tokens": True}}},
        {"type": "assistant", "message": {"model": "m", "usage": {"input_tokens": 1e999}}},
        {"type": "assistant", "message": "usage"},
        {"type": "assistant", "usage": {"input_tokens": 9}},
        {**BOUNDARY, "isSidechain": True},
        ["usage"],
    ],
)
def test_a_line_that_says_nothing_of_the_context_is_passed_over(log, line):
    """API errors, subagents, tool results and garbage leave the last real answer in force."""
    assert (30_000, "claude-sonnet-4-5", 15.0) == told("claude-code", log(assistant(30_000), line))


def test_a_figure_that_is_null_is_zero(log):
    """Some gateways send null for a cache that was not used."""
    line = assistant(30_000)
    line["message"]["usage"]["cache_read_input_tokens"] = None
    assert (30_000, "claude-sonnet-4-5", 15.0) == told("claude-code", log(assistant(10_000), line))


def test_a_torn_last_line_is_passed_over(log):
    """A client killed in mid-write costs only that line."""
    torn = json.dumps(assistant(190_000)).encode()[:-9]
    assert (30_000, "claude-sonnet-4-5", 15.0) == told("claude-code", log(assistant(30_000), torn=torn))


def test_after_a_compaction_nothing_is_known(log):
    """The old figure is void, and the new one comes with the next answer."""
    assert told("claude-code", log(assistant(190_000), BOUNDARY, user("summary"))) is None
    assert (9_000, "claude-sonnet-4-5", 4.5) == told(
        "claude-code", log(assistant(190_000), BOUNDARY, user("summary"), assistant(9_000))
    )


@pytest.mark.parametrize("engine", ["claude-code", "codex", "fake", "opencode", "command"])
def test_no_log_gives_no_figure(tmp_path, engine):
    """A path that is missing, empty, no text or no file at all is no evidence."""
    (tmp_path / "empty").touch()
    for path in (str(tmp_path / "missing"), str(tmp_path / "empty"), str(tmp_path), "", None, 7, ["x"]):
        assert usage.read(engine, path, WINDOWS) is None


def test_an_engine_whose_log_is_not_read_has_no_figure(real):
    """Nobody guesses from a log in another form."""
    assert usage.read("opencode", real("transcript-multiturn.jsonl"), WINDOWS) is None
    assert usage.codex(real("transcript-multiturn.jsonl"), WINDOWS) is None
    assert usage.claude(real("codex-rollout.jsonl"), WINDOWS) is None


@pytest.mark.parametrize(
    ("window", "model"),
    [
        (200_000, "claude-sonnet-4-5"),
        (200_000, "claude-sonnet-4-5-20250929"),
        (200_000, "claude-sonnet-4-5-latest"),
        (200_000, "claude-sonnet-4-5@20250929"),
        (200_000, "anthropic/claude-sonnet-4-5"),
        (200_000, "anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (200_000, "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (200_000, "us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (200_000, "global.anthropic.claude-sonnet-4-5-v1:0"),
        (200_000, "eu.anthropic.claude-sonnet-4-5-v1"),
        (1_000_000, "claude-sonnet-4-5[1m]"),
        (1_000_000, "claude-sonnet-4-5-20250929[1m]"),
        (2_000_000, "something-new[2m]"),
        (200_000, "claude-opus-4-8[200k]"),
        (1_000_000, "claude-opus-4-8"),
        (None, "claude-opus-4-9"),
        (None, "claude-sonnet-4-50"),
        (None, "claude-sonnet-4"),
        (None, "gpt-5.2-codex"),
        (None, "claude-sonnet-4-5-2025"),
        (None, "claude-sonnet-4-5[xm]"),
        (None, ""),
        (None, None),
    ],
)
def test_a_models_window(window, model):
    """A suffix names it; dates, versions and cloud prefixes do not matter; an unknown model has none, never a guess."""
    assert window == usage.window_of(model, WINDOWS)


def test_a_window_of_that_very_name_outranks_the_rules():
    """Who writes a model's full name into the configuration means it."""
    assert 7 == usage.window_of("claude-sonnet-4-5[1m]", {"claude-sonnet-4-5[1m]": 7})


def test_an_unknown_model_has_tokens_and_no_percentage(log):
    """So a threshold in tokens still works."""
    assert (30_000, "claude-next", None) == told("claude-code", log(assistant(30_000, "claude-next")))


def test_the_cost_does_not_grow_with_the_log(log, monkeypatch):
    """As many bytes are read of a log of 50 MB as of one of 80 kB: those at its end."""
    read = []
    real_pread = os.pread

    def pread(fd, size, position):
        data = real_pread(fd, size, position)
        read.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", pread)
    costs = []
    for size in (80_000, 50_000_000):
        read.clear()
        path = log(user("x" * size), assistant(30_000))
        assert size < os.path.getsize(path)
        assert (30_000, "claude-sonnet-4-5", 15.0) == told("claude-code", path)
        costs.append(sum(read))
    assert costs[0] == costs[1] <= 64 * 1024


def test_the_search_ends_after_some_megabytes(log, monkeypatch):
    """An answer further back than that is no answer: the hook stops looking."""
    monkeypatch.setattr(usage, "LOOK_BACK_BYTES", 1000)
    assert told("claude-code", log(assistant(30_000), user("x" * 2000))) is None


def test_a_real_gemini_log(real):
    """The prompt tokens of the last answer, cache included, over the client's own window; a message comes again, longer."""
    found = usage.read("gemini", real("gemini-session.jsonl"), {})

    assert found is not None
    assert found.window == usage.GEMINI_WINDOW
    assert found.model.startswith("gemini-")
    assert found.tokens > 0


def test_what_our_plugin_writes_for_opencode(tmp_path):
    """The last measured answer over opencode's own window; nothing is known after a compaction."""
    log = tmp_path / "log.jsonl"
    lines = [
        {"kind": "prompt", "text": "x"},
        {"kind": "assistant", "text": "y", "tokens": 50_000, "window": 200_000, "model": "m"},
        {"kind": "ended", "text": ""},
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert 25.0 == usage.read("opencode", str(log), {}).percent

    with log.open("a") as f:
        f.write(json.dumps({"kind": "compacted", "text": ""}) + "\n")
    assert None is usage.read("opencode", str(log), {})
