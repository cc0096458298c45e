"""
A scriptable model endpoint on loopback, for end-to-end tests of real terminal coding agents.

    POST /v1/messages (stream and not), /v1/messages/count_tokens                   Anthropic (Claude Code, opencode)
    POST /v1/responses                                                              OpenAI (Codex)
    POST /v1/chat/completions                                                       OpenAI (aider, opencode)
    POST /v1beta/models/<m>:generateContent | :streamGenerateContent | :countTokens Gemini
    GET  /v1/models, HEAD or GET / and every other path                             small answers, all logged

In a test: `with StubServer() as stub:` and `stub.port`. By hand: `python -m tests.stub.server --port 0`
prints one line, `PORT=<n> PID=<pid>`, and serves until it is killed. It listens on 127.0.0.1 only.

What it answers is written in the language of `fleet.fakeagent.directives`: in the prompt itself, in a
queue (`POST /stub/queue` with a list), in rules (`POST /stub/rules`), with defaults (`POST
/stub/defaults`); `in` of a rule is searched in the whole request. `GET /stub/log?since=N` is what was
asked, `GET /stub/state` the counters, `POST /stub/reset` forgets everything.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any, Self
from urllib.parse import parse_qs, urlparse

from fleet.fakeagent.directives import Playbook, read_defaults, read_queue, read_rules
from fleet.fakeagent.errors import BadScript

from tests.stub import answering, reading
from tests.stub.planning import CHARACTERS_PER_TOKEN, Plan, Planner

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
KINDS = {
    "/messages": "anthropic",
    "/responses": "responses",
    "enerateContent": "gemini",
    "/chat/completions": "chat",
}
BACKLOG = 256  # many panes may start at once
POLL_SECONDS = 0.02  # between two looks for a file that an answer waits for


class Stub:
    """What the server knows, shared by its threads."""

    def __init__(self, log: IO[str] | None = None) -> None:
        self._lock = threading.Lock()
        self._log_file = log
        self._planner = Planner(Playbook())
        self._log: list[dict[str, Any]] = []
        self.headers: dict[
            str, str
        ] = {}  #: sent with every answer and error of the model, such as limits of an account

    def plan(self, request: reading.Request) -> Plan:
        """Decide an answer."""
        with self._lock:
            return self._planner.plan(request)

    def record(self, entry: dict[str, Any]) -> None:
        """Remember a request."""
        with self._lock:
            entry["i"] = len(self._log)
            self._log.append(entry)
            if self._log_file is not None:
                self._log_file.write(json.dumps(entry) + "\n")
                self._log_file.flush()

    def log(self, since: int = 0) -> list[dict[str, Any]]:
        """The requests so far."""
        with self._lock:
            return self._log[since:]

    def reset(self) -> None:
        """Forget everything but how many requests there were."""
        with self._lock:
            self._planner.playbook = Playbook()
            self._log = []
            self.headers = {}

    def queue(self, scripts: object) -> None:
        """Prepare the next turns, one script each."""
        read = read_queue(scripts if isinstance(scripts, list) else [scripts])
        with self._lock:
            self._planner.playbook.queue += read

    def rules(self, rules: object) -> None:
        """Replace the rules."""
        read = read_rules(rules)
        with self._lock:
            self._planner.playbook.follow(read)

    def defaults(self, defaults: object) -> None:
        """Replace the defaults."""
        read = read_defaults(defaults)
        with self._lock:
            self._planner.playbook.defaults = read

    def state(self) -> dict[str, int]:
        """Counters."""
        with self._lock:
            playbook = self._planner.playbook
            counts = {"queue": len(playbook.queue), "rules": len(playbook.rules), "log": len(self._log)}
            return {"requests": self._planner.requests} | counts


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "stub"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Requests are recorded by `Stub.record`."""

    def reply(self, status: int, value: object) -> None:
        """Answer in one piece."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self._further_headers()
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def start_events(self) -> None:
        """Begin a stream of server-sent events."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("request-id", answering.new_id("req_"))
        self.send_header("transfer-encoding", "chunked")
        self._further_headers()
        self.end_headers()

    def _further_headers(self) -> None:
        for name, value in self.server.stub.headers.items():
            self.send_header(name, value)

    def event(self, name: str | None, value: object) -> None:
        """One event."""
        data = value if isinstance(value, str) else json.dumps(value)
        raw = ((f"event: {name}\n" if name else "") + f"data: {data}\n\n").encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def end_events(self) -> None:
        """End the stream."""
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _serve(self) -> None:
        try:
            self._dispatch()
        except (
            BrokenPipeError,
            ConnectionResetError,
        ):  # the client interrupted the turn, or we hang up on purpose
            self.close_connection = True

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = _serve

    def _dispatch(self) -> None:
        url = urlparse(self.path)
        body = self._body() if self.command in ("POST", "PUT") else None
        kind = next((kind for end, kind in KINDS.items() if url.path.endswith(end)), None)
        if url.path.startswith("/stub/"):
            self._control(url.path.removeprefix("/stub/"), parse_qs(url.query), body)
        elif kind is None or not isinstance(body, dict):
            self._record(body)
            self._small(url.path, body)
        else:
            self._model(kind, body, url.path)

    def _model(self, kind: str, body: dict[str, Any], path: str) -> None:
        request = reading.read(kind, body)
        plan = self.server.stub.plan(request)
        self._record(body, kind=kind, prompt=request.prompt, plan=plan._asdict())
        time.sleep(plan.delay_seconds)
        while plan.after and not os.path.exists(plan.after) and self.server.fileno() >= 0:  # -1: the stub has ended
            time.sleep(POLL_SECONDS)
        if plan.error:
            kind_of_error = ERROR_TYPES.get(plan.error, "api_error")
            error = {"type": kind_of_error, "message": plan.error_text}
            if plan.error_text.startswith("{"):  # the whole error as it shall be, such as that of a usage limit
                error = json.loads(plan.error_text)
            self.reply(plan.error, {"type": "error", "error": error})
        elif plan.hang_seconds:
            self.start_events()
            time.sleep(plan.hang_seconds)
            raise ConnectionResetError
        elif kind == "gemini":
            answering.gemini(self, plan, stream="stream" in path)
        elif kind == "chat":
            answering.chat(self, body, plan)
        elif kind == "responses":
            answering.responses(self, body, plan)
        else:
            answering.anthropic(self, body, plan)

    def _small(self, path: str, body: object) -> None:
        if path.endswith(("/count_tokens", ":countTokens")):
            name = "totalTokens" if ":" in path else "input_tokens"
            self.reply(200, {name: len(json.dumps(body)) // CHARACTERS_PER_TOKEN})
        elif path.rstrip("/").endswith("/models"):
            self.reply(200, {"object": "list", "data": [], "models": [], "has_more": False})
        elif path == "/" or self.command == "HEAD":
            self.reply(200, {"ok": True})
        else:
            self.reply(404, {"type": "error", "error": {"type": "not_found_error", "message": path}})

    def _control(self, verb: str, query: dict[str, list[str]], body: object) -> None:
        stub = self.server.stub
        if verb == "log":
            self.reply(200, stub.log(int(query.get("since", ["0"])[0])))
            return
        try:
            if verb == "reset":
                stub.reset()
            elif verb in ("queue", "rules", "defaults"):
                getattr(stub, verb)(body)
        except BadScript as error:
            self.reply(400, {"error": str(error)})
            return
        self.reply(200, stub.state())

    def _record(self, body: object, **fields: object) -> None:
        asked = {"method": self.command, "path": self.path, "agent": self.headers.get("user-agent", "")}
        self.server.stub.record({"t": time.time(), "body": body, **asked, **fields})

    def _body(self) -> Any:
        raw = self._chunked() if "chunked" in (self.headers.get("transfer-encoding") or "") else self._sized()
        try:
            return json.loads(raw) if raw else None
        except ValueError:
            return {"_raw": raw.decode("utf-8", "replace")[:10000]}

    def _sized(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _chunked(self) -> bytes:
        raw = b""
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            raw += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return raw


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = BACKLOG

    def __init__(self, port: int, stub: Stub) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.stub = stub

    def handle_error(self, *_: object) -> None:
        """A client that goes away in mid-sentence is nothing to report."""


class StubServer:
    """A stub in a thread of this process, for as long as the `with` lasts."""

    def __init__(self, port: int = 0) -> None:
        self.stub = Stub()
        self._server = _Server(port, self.stub)
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def main(argv: list[str]) -> int:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description="A scriptable model server on 127.0.0.1.")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free port (default)")
    parser.add_argument("--log", help="append every request as a JSON line to this file")
    parser.add_argument("--rules", help="JSON file with a list of rules")
    parser.add_argument("--port-file", help="write the port here once listening")
    arguments = parser.parse_args(argv)
    stub = Stub(open(arguments.log, "a", encoding="utf-8") if arguments.log else None)
    if arguments.rules:
        with open(arguments.rules, encoding="utf-8") as file:
            stub.rules(json.load(file))
    server = _Server(arguments.port, stub)
    if arguments.port_file:
        with open(arguments.port_file, "w", encoding="utf-8") as file:
            file.write(str(server.server_port))
    print(f"PORT={server.server_port} PID={os.getpid()}", flush=True)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
