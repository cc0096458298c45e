"""The stub model server speaks four protocols and follows directives in all of them."""

import json
import threading
import time
import urllib.error
import urllib.request

import pytest

from tests.stub.server import StubServer

BASH = [{"name": "Bash"}]


@pytest.fixture
def server():
    with StubServer() as running:
        yield running


def call(server, path, body=None, method=None):
    """Status and answer of a request."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def ask(server, *texts, tools=(), **body):
    """One Anthropic request, not streamed; texts are user and assistant in turns."""
    messages = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    status, answer = call(server, "/v1/messages", {"messages": messages, "tools": list(tools)} | body)
    return status, json.loads(answer)


def said(server, *texts, **body):
    return ask(server, *texts, **body)[1]["content"][0]["text"]


def events(text):
    """The data of a stream of events."""
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


def test_it_listens_on_loopback_only(server):
    """Nobody else can reach it."""
    assert "127.0.0.1" == server._server.socket.getsockname()[0]


def test_the_prompt_says_what_to_answer(server):
    """Text, usage and stop reason come from the last user message."""
    text = "hi\nSTUB: say=an\\nanswer\nSTUB: usage=100\nSTUB: cache_read=60\nSTUB: output=3\nSTUB: stop=max_tokens"
    answer = ask(server, text)[1]

    assert "an\nanswer" == answer["content"][0]["text"]
    assert (40, 60, 3) == tuple(
        answer["usage"][name] for name in ("input_tokens", "cache_read_input_tokens", "output_tokens")
    )
    assert "max_tokens" == answer["stop_reason"]


def test_an_answer_can_be_streamed(server):
    """In pieces of 40 characters, with the usage at both ends."""
    body = {"messages": [{"role": "user", "content": "STUB: say=" + "x" * 90}], "stream": True}
    stream = events(call(server, "/v1/messages", body)[1])

    pieces = [event["delta"]["text"] for event in stream if event["type"] == "content_block_delta"]
    assert [40, 40, 10] == [len(piece) for piece in pieces]
    assert ["message_start", "message_stop"] == [stream[0]["type"], stream[-1]["type"]]


def test_tools_are_called_one_step_at_a_time(server):
    """One answer per step, then the text; the tool result in between steers nothing."""
    prompt = {"role": "user", "content": "STUB: bash=one\nSTUB: bash+=two\nSTUB: bash=three\nSTUB: say=end"}
    result = {"role": "user", "content": [{"type": "tool_result", "content": "STUB: say=no"}]}
    used = {"role": "assistant", "content": [{"type": "tool_use"}]}

    def step(*messages):
        answer = json.loads(call(server, "/v1/messages", {"messages": list(messages), "tools": BASH})[1])
        return [part.get("text") or part["input"]["command"] for part in answer["content"]]

    assert ["one", "two"] == step(prompt)
    assert ["three"] == step(prompt, used, result)
    assert ["end"] == step(prompt, used, result, used, result)


def test_a_prompt_beside_a_tool_result_steers(server):
    """After an interrupt a client sends both in one message; directives in it are meant."""
    result = {"type": "tool_result", "content": "rejected"}
    used = {"role": "assistant", "content": [{"type": "tool_use"}]}
    both = {"role": "user", "content": [result, {"type": "text", "text": "STUB: say=new"}]}
    first = {"role": "user", "content": "STUB: say=old"}
    answer = call(server, "/v1/messages", {"messages": [first, used, both]})[1]

    assert "new" == json.loads(answer)["content"][0]["text"]


def test_only_the_last_text_block_is_the_prompt(server):
    """A client merges messages after an error; the old directive must not steer the new prompt."""
    blocks = [{"type": "text", "text": "STUB: say=old"}, {"type": "text", "text": "STUB: say=new"}]
    reminder = {"type": "text", "text": "<system-reminder>STUB: say=reminder</system-reminder>"}
    answer = call(server, "/v1/messages", {"messages": [{"role": "user", "content": [*blocks, reminder]}]})

    assert "new" == json.loads(answer[1])["content"][0]["text"]


@pytest.mark.parametrize(
    ("path", "body", "find"),
    [
        ("/v1/responses", {"input": "STUB: say=x"}, lambda a: a["output"][0]["content"][0]["text"]),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": "STUB: say=x"}]},
            lambda a: a["choices"][0]["message"]["content"],
        ),
        (
            "/v1beta/models/m:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": "STUB: say=x"}]}]},
            lambda a: a["candidates"][0]["content"]["parts"][0]["text"],
        ),
    ],
)
def test_every_protocol_answers(server, path, body, find):
    """The same directive, four envelopes."""
    assert "x" == find(json.loads(call(server, path, body)[1]))


@pytest.mark.parametrize(
    ("path", "body", "last"),
    [
        ("/v1/responses", {"input": "STUB: say=x", "stream": True}, "response.completed"),
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": "STUB: say=x"}], "stream": True},
            None,
        ),
        (
            "/v1beta/models/m:streamGenerateContent",
            {"contents": [{"role": "user", "parts": [{"text": "STUB: say=x"}]}]},
            None,
        ),
    ],
)
def test_every_protocol_streams(server, path, body, last):
    """And ends the way its clients wait for."""
    text = call(server, path, body)[1]

    assert last in (None, events(text)[-1].get("type"))
    assert '"x"' in text


def test_a_write_becomes_a_shell_command_where_there_is_no_tool_for_it(server):
    """Codex has only a shell."""
    body = {"input": "STUB: write=/tmp/a|one\\ntwo", "tools": [{"name": "exec_command"}]}
    call_item = json.loads(call(server, "/v1/responses", body)[1])["output"][0]

    command = json.loads(call_item["arguments"])["cmd"]
    assert "cat > /tmp/a <<'STUB_EOF'\none\ntwo\nSTUB_EOF" == command


def test_a_failure_has_the_status_and_the_message(server):
    """error= is the HTTP status, errmsg= its words."""
    status, answer = ask(server, "STUB: error=529\nSTUB: errmsg=busy")

    assert (529, "overloaded_error", "busy") == (status, answer["error"]["type"], answer["error"]["message"])


def test_failures_are_counted_through_a_compaction(server):
    """errors=1 fails one request of a prompt, also when everything before it has changed; then begins anew."""
    prompt = "STUB: error=400\nSTUB: errors=1\nSTUB: say=done"

    assert [400, 200] == [ask(server, "hi", "hello", prompt)[0], ask(server, "a summary", "ok", prompt)[0]]
    assert 400 == ask(server, prompt)[0]


def test_queue_rules_and_defaults_steer_other_peoples_prompts(server):
    """All three can be posted, and a rule fills in its groups."""
    call(server, "/stub/queue", ["STUB: say=queued"])
    call(server, "/stub/rules", [{"match": r"draft to (\S+)", "in": "project-x", "do": "STUB: say=wrote \\1"}])
    call(server, "/stub/defaults", {"usage": 77})

    assert "queued" == said(server, "hello")
    assert "wrote /a.md" == said(server, "draft to /a.md", system="cwd project-x")
    assert said(server, "draft to /a.md", metadata="other").startswith("stub reply")
    assert 77 == ask(server, "anything")[1]["usage"]["input_tokens"]


def test_a_broken_rule_is_refused(server):
    """The answer says what is wrong."""
    status, answer = call(server, "/stub/rules", [{"match": "("}])

    assert 400 == status
    assert "rule 1" in answer


def test_titles_and_summaries_use_up_nothing(server):
    """Requests of the client's own do not take what a test prepared for the turn."""
    server.stub.queue(["STUB: say=for the turn"])
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    ask(server, "name this: hello", output_config={"format": {"schema": schema}})
    compaction = "Your task is to create a detailed summary of the conversation so far"
    summary = said(server, compaction, tools=BASH)

    assert summary.startswith("<analysis>")
    assert "for the turn" == said(server, "hello", tools=BASH)


def test_a_structured_answer_fits_its_schema(server):
    """A small value of the right shape."""
    schema = {"properties": {"title": {"type": "string"}, "n": {"type": "integer"}, "kind": {"enum": ["a", "b"]}}}

    assert {"title": "Stub", "n": 1, "kind": "a"} == json.loads(
        said(server, "hello", output_config={"format": {"schema": schema}})
    )


def test_everything_is_logged_until_it_is_forgotten(server):
    """The log holds bodies and plans; a reset empties it and the queue."""
    call(server, "/", method="HEAD")
    ask(server, "one\nSTUB: say=1")
    log = json.loads(call(server, "/stub/log?since=1")[1])
    assert [("/v1/messages", "one\nSTUB: say=1")] == [(entry["path"], entry["prompt"]) for entry in log]
    call(server, "/stub/queue", ["x"])
    call(server, "/stub/reset", {})

    assert (0, 0) == (len(server.stub.log()), server.stub.state()["queue"])


def test_a_hang_ends_with_a_broken_stream(server):
    """Headers come at once, then nothing, then the connection closes."""
    body = {"messages": [{"role": "user", "content": "STUB: hang=0.1"}], "stream": True}
    with pytest.raises(Exception, match="Incomplete|closed|reset"):
        call(server, "/v1/messages", body)


def test_a_slow_answer_holds_up_nobody_else(server):
    """Each request has a thread of its own."""
    slow = threading.Thread(target=ask, args=(server, "STUB: delay=1"))
    slow.start()
    started = time.monotonic()

    assert "quick" == said(server, "STUB: say=quick")
    assert time.monotonic() - started < 1
    assert slow.is_alive()
    slow.join()


def test_an_answer_can_wait_for_a_file(server, tmp_path):
    """What has to happen first happens first, however long it takes."""
    answers = []
    prompt = f"STUB: after={tmp_path / 'go'}\nSTUB: say=gone"
    held = threading.Thread(target=lambda: answers.append(said(server, prompt)))
    held.start()

    assert "quick" == said(server, "STUB: say=quick")
    assert [] == answers
    (tmp_path / "go").touch()
    held.join(10)
    assert ["gone"] == answers


@pytest.mark.parametrize(
    ("path", "status"),
    [("/v1/models", 200), ("/", 200), ("/elsewhere", 404), ("/v1/messages/count_tokens", 200)],
)
def test_small_requests_get_small_answers(server, path, status):
    """Whatever else a client asks."""
    assert status == call(server, path, {} if "count" in path else None)[0]
