"""The situations of the corpus, per engine: how each is provoked, and what is true of it."""

import json
import re
import subprocess

CASES = {}

#: An answer that talks of everything a careless rule looks for.
TRICKY = (
    "The footer says esc to interrupt while a turn runs, and the dialog asks:\\n\\nDo you want to proceed?\\n\\n"
    "1. Yes\\n2. Yes, and don't ask again\\n3. No, and tell Claude what to do differently (esc)\\n\\n"
    "You've hit your limit · resets 5pm. Would you like to run the following command? Press enter to confirm or esc "
    "to cancel. Compacting conversation… API Error: 529 Overloaded. Do you trust the files in this folder?"
)
LONG = "\\n\\n".join(
    f"Line {n} of a long answer about parsers that goes on and on while it is streamed." for n in range(400)
)
PARAGRAPH = LONG.replace("\\n\\n", " ")
WIDE = "日本語のテキスト を入力 🙂🚀 naïve café 한국어"
WRAPPED = " ".join(f"word{n}" for n in range(1, 60))


def case(engine, name, turn, reason=None, **more):
    """Register a case; *more* goes into cases.yaml as it is."""

    def register(play):
        CASES.setdefault(engine, {})[name] = (play, {"turn": turn, "reason": reason, **more})
        return play

    return register


# Claude Code

CLAUDE = "claude-code"
COMMAND_OPTIONS = [
    "Yes",
    "Yes, and don't ask again for rm -rf build and make all commands in /tmp/screens-cl{width}/shop",
    "No",
]
EDIT_OPTIONS = ["Yes", "Yes, allow all edits during this session", "No"]
DATABASES = ["PostgreSQL", "SQLite", "None", "Type something.", "Chat about this"]


def claude_idle(s, *args, **more):
    s.launch(*args, **more)
    s.until("❯")
    s.still()


def claude_turn(s, script, *args, prompt="fix the parser please", **more):
    """The client with a first prompt, which the model answers so."""
    s.answer((prompt, script))
    s.launch("--model", "claude-sonnet-4-5", *args, "--", prompt=prompt, **more)


@case(CLAUDE, "idle-empty", "idle")
def _(s):
    claude_idle(s)


@case(CLAUDE, "idle-bypass", "idle")
def _(s):
    claude_idle(s, "--dangerously-skip-permissions")


@case(CLAUDE, "idle-plan-mode", "idle")
def _(s):
    claude_idle(s, "--permission-mode", "plan")


@case(CLAUDE, "idle-answer", "idle")
def _(s):
    claude_turn(s, f"STUB: say={TRICKY}")
    s.until("trust the")
    s.still()


@case(CLAUDE, "idle-after-tool", "idle")
def _(s):
    claude_turn(s, "STUB: bash=sleep 0.2\nSTUB: say=The parser is fixed.", "--dangerously-skip-permissions")
    s.until("is fixed")
    s.still()


@case(CLAUDE, "idle-status-line", "idle")
def _(s):
    s.edit_json(".claude/settings.json", statusLine={"type": "command", "command": "echo my own status line"})
    claude_turn(s, f"STUB: say={TRICKY}")
    s.until("my own status")
    s.until("trust the")
    s.still()


@case(CLAUDE, "draft", "waiting", "draft", draft="please look at the parser")
def _(s):
    claude_idle(s)
    s.type("please look at the parser")
    s.still()


@case(CLAUDE, "suspended", "waiting", "dialog")
def _(s):
    claude_turn(s, "STUB: say=The parser is fixed.")
    s.until("is fixed")
    s.still()
    s.keys("C-z")
    s.until("has been suspended")
    s.still()


@case(CLAUDE, "draft-wrapped", "waiting", "draft", draft=WRAPPED)
def _(s):
    claude_idle(s)
    s.type(WRAPPED)
    s.still()


@case(CLAUDE, "draft-lines", "waiting", "draft", draft="first line\nsecond; line\n  third")
def _(s):
    claude_idle(s)
    s.paste("first line\nsecond; line\n  third")
    s.still()


@case(CLAUDE, "draft-wide", "waiting", "draft", draft=WIDE)
def _(s):
    claude_idle(s)
    s.paste(WIDE)
    s.still()


@case(CLAUDE, "draft-pasted", "waiting", "draft", draft="[Pasted text #1 +39 lines]")
def _(s):
    claude_idle(s)
    s.paste("\n".join(f"line {n} of a long paste" for n in range(40)))
    s.still()


@case(CLAUDE, "draft-bash-mode", "waiting", "draft", draft="ls -la")
def _(s):
    claude_idle(s)
    s.type("!")
    s.type("ls -la")
    s.still()


@case(CLAUDE, "working", "working")
def _(s):
    claude_turn(s, "STUB: delay=20")
    s.asked()
    s.until("…")


@case(CLAUDE, "working-streaming", "working")
def _(s):
    claude_turn(s, f"STUB: chunk=0.1\nSTUB: say={LONG}")
    s.until("Line 6 ")


@case(CLAUDE, "working-prose", "working")
def _(s):
    claude_turn(s, f"STUB: bash=sleep 30\nSTUB: say={TRICKY}", "--dangerously-skip-permissions")
    s.until("sleep 30")
    s.until("Running")


@case(CLAUDE, "working-status-line", "working")
def _(s):
    s.edit_json(".claude/settings.json", statusLine={"type": "command", "command": "echo my own status line"})
    claude_turn(s, "STUB: delay=20")
    s.until("my own status")
    s.asked()
    s.until("…")


@case(CLAUDE, "working-long-tool", "working")
def _(s):
    claude_turn(s, "STUB: bash=for i in $(seq 60); do echo compiling part $i; sleep 0.3; done",
                "--dangerously-skip-permissions")  # fmt: skip
    s.until("compiling part 6")


@case(CLAUDE, "working-draft", "working", draft="and one more thing")
def _(s):
    claude_turn(s, "STUB: delay=20")
    s.asked()
    s.until("…")
    s.type("and one more thing")
    s.until("and one more thing")


@case(CLAUDE, "working-queued", "working")
def _(s):
    claude_turn(s, "STUB: delay=20")
    s.until("…")
    s.say("and one more thing")
    s.until("and one more thing")


@case(CLAUDE, "working-tasks", "working")
def _(s):
    tasks = "\n".join(
        f'STUB: tool=TaskCreate {{"subject":"Step {n} of the plan","description":"d","activeForm":"Doing step {n}"}}'
        for n in range(1, 6)
    )
    start = 'STUB: tool=TaskUpdate {"taskId":"1","status":"in_progress"}'
    claude_turn(s, f"{tasks}\n{start}\nSTUB: bash=sleep 30", "--dangerously-skip-permissions")
    s.until("Step 5")
    s.until("sleep 30")


@case(CLAUDE, "working-subagent", "working")
def _(s):
    claude_turn(s, "STUB: agent=look around\\nSTUB: bash=sleep 30", "--dangerously-skip-permissions")
    s.until("sleep 30")


@case(CLAUDE, "working-parallel-tools", "working")
def _(s):
    claude_turn(s, "STUB: bash=sleep 30\nSTUB: bash+=sleep 31", "--dangerously-skip-permissions")
    s.until("sleep 31")


@case(CLAUDE, "permission-bash", "waiting", "permission", question="Do you want to proceed?",
      options=COMMAND_OPTIONS)  # fmt: skip
def _(s):
    claude_turn(s, "STUB: bash=rm -rf build && make all")
    s.until("Do you want to proceed")
    s.still()


@case(
    CLAUDE,
    "permission-bash-long",
    "waiting",
    "permission",
    question="Do you want to proceed?",
    options=["Yes", "Yes, and always allow access to shop/ from this project", "No"],
    garbled=[60],
)
def _(s):
    lines = " && ".join(f"echo 'step {n} of a long command line'" for n in range(12))
    claude_turn(s, f"STUB: bash={lines} && touch done.txt")
    s.until("Do you want to proceed")
    s.still()


@case(
    CLAUDE,
    "permission-write",
    "waiting",
    "permission",
    question="Do you want to create notes.txt?",
    options=EDIT_OPTIONS,
)
def _(s):
    claude_turn(s, "STUB: write=notes.txt|first line\\nDo you want to proceed?\\n1. Yes\\n2. No\\nlast line")
    s.until("Do you want to create")
    s.still()


@case(
    CLAUDE,
    "permission-edit",
    "waiting",
    "permission",
    question="Do you want to make this edit to parser.py?",
    options=EDIT_OPTIONS,
)
def _(s):
    claude_turn(s, f'STUB: tool=Read {{"file_path":"{s.project}/parser.py"}}\n'
                   f'STUB: tool=Edit {{"file_path":"{s.project}/parser.py","old_string":"text.split()",'
                   '"new_string":"text.split(None, 1)"}')  # fmt: skip
    s.until("Do you want to make this edit")
    s.still()


@case(
    CLAUDE,
    "permission-fetch",
    "waiting",
    "permission",
    question="Do you want to allow Claude to fetch this content?",
    options=["Yes", "Yes, and don't ask again for example.com", "No, and tell Claude what to do differently"],
)
def _(s):
    claude_turn(s, 'STUB: tool=WebFetch {"url":"https://example.com/docs","prompt":"read it"}')
    s.until("Do you want")
    s.still()


@case(
    CLAUDE,
    "permission-second-option",
    "waiting",
    "permission",
    question="Do you want to proceed?",
    options=COMMAND_OPTIONS,
    garbled=[60],
)
def _(s):
    claude_turn(s, "STUB: bash=rm -rf build && make all")
    s.until("Do you want to proceed")
    s.still()
    s.keys("Down")
    s.still()


@case(CLAUDE, "plan-approval", "waiting", "question", question="Would you like to proceed?", options=[])
def _(s):
    claude_turn(s, "STUB: say=What shall it do?", "--permission-mode", "plan")
    s.until("What shall it")
    s.still()
    (path, *_) = re.findall(r"/[^\s\"]+/plans/[\w-]+\.md", json.dumps([entry["body"] for entry in s.model.log()]))
    plan = "# Plan\\n\\n1. Read the parser\\n2. Mend it\\n3. Test it"
    s.answer(("split at commas", f"STUB: write={path}|{plan}\nSTUB: tool=ExitPlanMode {{}}"))
    s.say("split at commas")
    s.until("(?i)would you like to proceed|exit plan mode")
    s.still()


@case(CLAUDE, "plan-empty", "waiting", "question", question="Exit plan mode?", options=["Yes", "No"])
def _(s):
    claude_turn(s, 'STUB: tool=ExitPlanMode {"plan":"# Plan\\n\\n1. Read the parser\\n2. Mend it\\n3. Test it"}',
                "--permission-mode", "plan")  # fmt: skip
    s.until("(?i)would you like to proceed|exit plan mode")
    s.still()


QUESTION = (
    'STUB: tool=AskUserQuestion {"questions":[{"question":"Which database should the shop use?","header":"Database",'
    '"multiSelect":%s,"options":[{"label":"PostgreSQL","description":"a server of its own"},{"label":"SQLite",'
    '"description":"one file, no server"},{"label":"None","description":"keep it in memory"}]}]}'
)


@case(CLAUDE, "question", "waiting", "question", question="Which database should the shop use?", options=DATABASES)
def _(s):
    claude_turn(s, QUESTION % "false")
    s.until("Which database")
    s.still()


@case(
    CLAUDE,
    "question-many",
    "waiting",
    "question",
    question="Which database should the shop use?",
    options=["PostgreSQL", "SQLite", "None", "Type something", "Chat about this"],
)
def _(s):
    claude_turn(s, QUESTION % "true")
    s.until("Which database")
    s.still()


@case(CLAUDE, "question-two", "waiting", "question", question="Which database should the shop use?", options=DATABASES)
def _(s):
    two = (QUESTION % "false")[:-2] + (
        ',{"question":"Which port?","header":"Port","multiSelect":false,"options":[{"label":"80","description":"plain"},'
        '{"label":"443","description":"with TLS"}]}]}'
    )
    claude_turn(s, two)
    s.until("Which database")
    s.still()


@case(
    CLAUDE,
    "trust",
    "waiting",
    "trust",
    question="Is this a project you created or one you trust?",
    options=["Yes, I trust this folder", "No, exit"],
)
def _(s):
    for path in (".claude/.claude.json", ".claude.json"):
        s.edit_json(path, projects={})
    s.launch()
    s.until("trust")
    s.still()


@case(
    CLAUDE,
    "custom-api-key",
    "waiting",
    "login",
    question="Do you want to use this API key?",
    options=["Yes", "No (recommended)"],
)
def _(s):
    for path in (".claude/.claude.json", ".claude.json"):
        s.edit_json(path, customApiKeyResponses={"approved": [], "rejected": []})
    s.launch()
    s.until("custom API key")
    s.still()


@case(CLAUDE, "bypass-warning", "waiting", "dialog", options=["No, exit", "Yes, I accept"])
def _(s):
    s.edit_json(".claude/settings.json", skipDangerousModePermissionPrompt=None)
    s.launch("--dangerously-skip-permissions")
    s.until("Bypass Permissions mode")
    s.still()


@case(CLAUDE, "onboarding", "waiting", "dialog", question="Choose the text style that looks best with your terminal",
      options=["Auto (match terminal)", "Dark mode ✔", "Light mode", "Dark mode (colorblind-friendly)",
               "Light mode (colorblind-friendly)", "Dark mode (ANSI colors only)",
               "Light mode (ANSI colors only)"])  # fmt: skip
def _(s):
    for path in (".claude/.claude.json", ".claude.json"):
        s.edit_json(path, hasCompletedOnboarding=None, theme=None)
    s.launch()
    s.until("(?i)welcome|text style|unable to connect")
    s.still()


@case(CLAUDE, "not-logged-in", "idle", account="login")
def _(s):
    claude_idle(s, env={"ANTHROPIC_API_KEY": None})


@case(CLAUDE, "not-logged-in-after-prompt", "waiting", "login")
def _(s):
    claude_turn(s, "STUB: say=hello", env={"ANTHROPIC_API_KEY": None})
    s.until("/login")
    s.still()


@case(CLAUDE, "login-method", "waiting", "login", question="Select login method:",
      options=["Claude account with subscription · Pro, Max, Team, or Enterprise",
               "Anthropic Console account · API usage billing",
               "3rd-party platform · Amazon Bedrock, Microsoft Foundry, or Vertex AI"])  # fmt: skip
def _(s):
    claude_idle(s, env={"ANTHROPIC_API_KEY": None})
    s.type("/login")
    s.keys("Enter")
    s.until("(?i)login method")
    s.still()


@case(CLAUDE, "error-529-retry", "working")
def _(s):
    claude_turn(s, "STUB: error=529\nSTUB: errmsg=Overloaded")
    s.until("(?i)attempt")


@case(CLAUDE, "error-529-given-up", "idle")
def _(s):
    claude_turn(s, "STUB: error=529\nSTUB: errmsg=Overloaded", env={"CLAUDE_CODE_MAX_RETRIES": "1"})
    s.until("API Error")
    s.still()


@case(CLAUDE, "error-429", "waiting", "limit")
def _(s):
    claude_turn(s, "STUB: error=429\nSTUB: errmsg=This request would exceed your account's rate limit.",
                env={"CLAUDE_CODE_MAX_RETRIES": "1"})  # fmt: skip
    s.until("API Error|429")
    s.still()


@case(CLAUDE, "error-429-retry", "working")
def _(s):
    claude_turn(s, "STUB: error=429\nSTUB: errmsg=This request would exceed your account's rate limit.")
    s.until("(?i)attempt")


@case(CLAUDE, "usage-limit", "waiting", "limit", question="What do you want to do?",
      options=["Stop and wait for limit to reset", "Upgrade your plan"])  # fmt: skip
def _(s):
    limited(s, "rejected")
    claude_turn(s, "STUB: error=429\nSTUB: errmsg=This request would exceed your account's rate limit.",
                env={"ANTHROPIC_API_KEY": None, "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy"})  # fmt: skip
    s.until("(?i)limit")
    s.still()


@case(CLAUDE, "usage-limit-near", "idle", account="near-limit")
def _(s):
    limited(s, "allowed_warning")
    claude_turn(s, "STUB: say=The parser is fixed.",
                env={"ANTHROPIC_API_KEY": None, "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy"})  # fmt: skip
    s.until("is fixed")
    s.still()


def limited(s, status):
    reset = "1800000000"
    s.model.headers = {
        "anthropic-ratelimit-unified-status": status,
        "anthropic-ratelimit-unified-reset": reset,
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": status,
        "anthropic-ratelimit-unified-5h-reset": reset,
        "anthropic-ratelimit-unified-5h-utilization": "0.95" if status != "rejected" else "1.0",
        "anthropic-ratelimit-unified-5h-surpassed-threshold": "0.9",
        "anthropic-ratelimit-unified-7d-status": "allowed",
        "anthropic-ratelimit-unified-7d-reset": reset,
        "anthropic-ratelimit-unified-7d-utilization": "0.4",
        "anthropic-ratelimit-unified-fallback-percentage": "0.5",
        "anthropic-ratelimit-unified-overage-status": "rejected",
    }


@case(CLAUDE, "error-401", "waiting", "login")
def _(s):
    claude_turn(s, "STUB: error=401\nSTUB: errmsg=invalid x-api-key", env={"CLAUDE_CODE_MAX_RETRIES": "1"})
    s.until("401|/login")
    s.still()


@case(CLAUDE, "error-400", "idle")
def _(s):
    claude_turn(s, "STUB: error=400\nSTUB: errmsg=Your credit balance is too low to access the Anthropic API.")
    s.until("(?i)credit|API Error")
    s.still()


@case(CLAUDE, "error-connection", "working")
def _(s):
    claude_turn(s, "", env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    s.until("(?i)attempt|retry|unable")


@case(CLAUDE, "compacting", "compacting")
def _(s):
    claude_turn(s, "STUB: say=The parser is fixed.")
    s.until("is fixed")
    s.still()
    s.say("and once more, fix the parser please")
    s.asked(3)
    s.still()
    s.model.defaults({"delay": 20})
    s.type("/compact")
    s.keys("Enter")
    s.until("Compacting")


@case(CLAUDE, "compacted", "idle")
def _(s):
    claude_turn(s, "STUB: say=The parser is fixed.")
    s.until("is fixed")
    s.still()
    s.say("and once more, fix the parser please")
    s.asked(3)
    s.still()
    s.type("/compact")
    s.keys("Enter")
    s.until("(?i)compacted")
    s.still()


@case(CLAUDE, "slash-menu", "waiting", "draft", draft="/")
def _(s):
    claude_idle(s)
    s.type("/")
    s.still()


@case(CLAUDE, "file-menu", "waiting", "draft", draft="look at @pars")
def _(s):
    claude_idle(s)
    s.type("look at @pars")
    s.until("parser.py")
    s.still()


@case(CLAUDE, "shortcuts", "idle")
def _(s):
    claude_idle(s)
    s.type("?")
    s.still()


def claude_command(name, command, pattern, turn="waiting", reason="dialog", **more):
    @case(CLAUDE, name, turn, reason, **more)
    def _(s):
        claude_idle(s)
        s.type(command)
        s.keys("Enter")
        s.until(pattern)
        s.still()


claude_command("model-picker", "/model", "(?i)select model", question="Select model")
claude_command("help", "/help", "(?i)for more help|shortcuts|general")
claude_command("config", "/config", "(?i)auto-compact|config")
claude_command("permissions", "/permissions", "(?i)allow")
claude_command("status", "/status", "(?i)version")
claude_command("theme", "/theme", "(?i)dark mode")
claude_command("mcp", "/mcp", "No MCP servers", turn="idle", reason=None)
claude_command("hooks", "/hooks", "(?i)hooks")
claude_command("agents", "/agents", "(?i)agents")


@case(CLAUDE, "rewind", "waiting", "dialog")
def _(s):
    claude_turn(s, "STUB: say=The parser is fixed.")
    s.until("is fixed")
    s.still()
    s.keys("Escape", "Escape")
    s.until("(?i)rewind|restore")
    s.still()


@case(CLAUDE, "transcript-view", "waiting", "dialog")
def _(s):
    claude_turn(s, "STUB: say=The parser is fixed.")
    s.until("is fixed")
    s.still()
    s.keys("C-o")
    s.until("(?i)transcript")
    s.still()


@case(CLAUDE, "interrupted", "idle", "interrupted")
def _(s):
    claude_turn(s, f"STUB: chunk=0.1\nSTUB: say={LONG}")
    s.until("Line 3 ")
    s.keys("Escape")
    s.until("Interrupted")
    s.still()


@case(CLAUDE, "interrupted-tool", "idle", "interrupted")
def _(s):
    claude_turn(s, "STUB: bash=sleep 30", "--dangerously-skip-permissions")
    s.until("Running")
    s.keys("Escape")
    s.until("(?i)interrupted")
    s.still()


@case(CLAUDE, "interrupted-permission", "idle", "interrupted")
def _(s):
    claude_turn(s, "STUB: bash=rm -rf build && make all")
    s.until("Do you want to proceed")
    s.still()
    s.keys("Escape")
    s.until("(?i)interrupted|rejected")
    s.still()


@case(CLAUDE, "interrupted-early", "idle", "interrupted", draft="fix the parser please")
def _(s):
    claude_turn(s, "STUB: delay=20")
    s.asked()
    s.until("…")
    s.keys("Escape")
    s.still()


@case(CLAUDE, "background-task", "idle", background=1)
def _(s):
    claude_turn(s, 'STUB: tool=Bash {"command":"sleep 60","description":"wait","run_in_background":true}\n'
                   "STUB: say=It runs in the background.", "--dangerously-skip-permissions")  # fmt: skip
    s.until("in the background")
    s.still()


@case(CLAUDE, "background-tasks-view", "waiting", "dialog", background=1)
def _(s):
    claude_turn(s, 'STUB: tool=Bash {"command":"sleep 60","description":"wait","run_in_background":true}\n'
                   "STUB: say=It runs in the background.", "--dangerously-skip-permissions")  # fmt: skip
    s.until("in the background")
    s.still()
    s.type("/tasks")
    s.keys("Enter")
    s.still()


@case(CLAUDE, "exit-hint", "idle")
def _(s):
    claude_idle(s)
    s.keys("C-c")
    s.until("again to exit")


@case(CLAUDE, "exited", "exited", status=0)
def _(s):
    claude_turn(s, "STUB: say=The parser is fixed.")
    s.until("is fixed")
    s.still()
    s.type("/exit")
    s.keys("Enter")
    s.until("Pane is dead")


@case(CLAUDE, "starting", "starting")
def _(s):
    s.launch()


# Codex

CODEX = "codex"


def codex_idle(s, *args, **more):
    s.launch(*args, **more)
    s.until("›")
    s.still(1.2)


def codex_turn(s, script, *args, prompt="fix the parser please", **more):
    s.answer((prompt, script))
    s.launch(*args, "--", prompt=prompt, **more)


ESCALATED = (
    'STUB: tool=exec_command {"cmd":"touch built.txt && make all","sandbox_permissions":"require_escalated",'
    '"justification":"Do you want to let me build the shop?"}'
)
EXEC_OPTIONS = [
    "Yes, proceed",
    "Yes, and don't ask again for commands that start with `touch built.txt`",
    "No, and tell Codex what to do differently",
]
FREE = ("--dangerously-bypass-approvals-and-sandbox",)


@case(CODEX, "idle-empty", "idle")
def _(s):
    codex_idle(s)


@case(CODEX, "idle-answer", "idle")
def _(s):
    codex_turn(s, f"STUB: say={TRICKY}")
    s.until("trust the")
    s.still(1.2)


@case(CODEX, "idle-after-tool", "idle")
def _(s):
    codex_turn(s, "STUB: bash=echo built\nSTUB: say=The parser is fixed.", *FREE)
    s.until("is fixed")
    s.still(1.2)


@case(CODEX, "draft", "waiting", "draft", draft="please look at the parser")
def _(s):
    codex_idle(s)
    s.paste("please look at the parser")
    s.still()


@case(CODEX, "draft-wrapped", "waiting", "draft", draft=WRAPPED)
def _(s):
    codex_idle(s)
    s.paste(WRAPPED)
    s.still()


@case(CODEX, "draft-lines", "waiting", "draft", draft="first line\nsecond; line\n  third")
def _(s):
    codex_idle(s)
    s.paste("first line\nsecond; line\n  third")
    s.still()


@case(CODEX, "draft-wide", "waiting", "draft", draft=WIDE)
def _(s):
    codex_idle(s)
    s.paste(WIDE)
    s.still()


@case(CODEX, "draft-pasted", "waiting", "draft", draft="[Pasted Content 1429 chars]")
def _(s):
    codex_idle(s)
    s.paste("\n".join(f"line {n} of a long paste" for n in range(60)))
    s.still()


@case(CODEX, "working", "working")
def _(s):
    codex_turn(s, "STUB: delay=20")
    s.until("esc to interrupt")


@case(CODEX, "working-streaming", "working")
def _(s):
    codex_turn(s, f"STUB: chunk=0.1\nSTUB: say={LONG}")
    s.until("Line 6 ")


@case(CODEX, "working-long-tool", "working")
def _(s):
    codex_turn(s, "STUB: bash=for i in $(seq 60); do echo compiling part $i; sleep 0.3; done", *FREE)
    s.until(r"Working \([3-9]s")


@case(CODEX, "working-draft", "working", draft="and one more thing")
def _(s):
    codex_turn(s, "STUB: delay=20")
    s.until("esc to interrupt")
    s.paste("and one more thing")
    s.until("and one more thing")


@case(CODEX, "working-queued", "working")
def _(s):
    codex_turn(s, "STUB: delay=20")
    s.until("esc to interrupt")
    s.say("and one more thing")
    s.until("and one more thing")


@case(CODEX, "working-paragraph", "working")
def _(s):
    codex_turn(s, f"STUB: chunk=0.1\nSTUB: say={PARAGRAPH}")
    s.until("Line 3 ")


@case(
    CODEX,
    "approval-exec",
    "waiting",
    "permission",
    question="Would you like to run the following command?",
    options=EXEC_OPTIONS,
)
def _(s):
    codex_turn(s, ESCALATED)
    s.until("Would you like")
    s.still()


@case(
    CODEX,
    "approval-exec-second",
    "waiting",
    "permission",
    question="Would you like to run the following command?",
    options=EXEC_OPTIONS,
)
def _(s):
    codex_turn(s, ESCALATED)
    s.until("Would you like")
    s.still()
    s.keys("Down")
    s.still()


@case(
    CODEX,
    "approval-exec-long",
    "waiting",
    "permission",
    question="Would you like to run the following command?",
    options=EXEC_OPTIONS,
)
def _(s):
    lines = " && ".join(f"echo step {n} of a long command line" for n in range(12))
    codex_turn(s, ESCALATED.replace("make all", lines))
    s.until("Would you like")
    s.still()


@case(
    CODEX,
    "approval-patch",
    "waiting",
    "permission",
    question="Would you like to make the following edits?",
    options=["Yes, proceed", "Yes, and don't ask again for these files", "No, and tell Codex what to do differently"],
    cut=True,
)
def _(s):
    patch = "*** Begin Patch\\n*** Add File: notes.txt\\n+first line\\n+1. Yes\\n*** End Patch"
    codex_turn(s, f'STUB: tool=exec_command {{"cmd":"apply_patch <<\'EOF\'\\n{patch}\\nEOF"}}')
    s.until("Would you like")
    s.still()


@case(
    CODEX,
    "question",
    "waiting",
    "question",
    question="Which database should the shop use?",
    options=["PostgreSQL", "SQLite", "None of the above"],
)
def _(s):
    s.answer(("plan the shop", 'STUB: tool=request_user_input {"questions":[{"id":"db","header":"Database","question":'
              '"Which database should the shop use?","options":[{"label":"PostgreSQL","description":"a server"},'
              '{"label":"SQLite","description":"one file"}]}]}'))  # fmt: skip
    codex_idle(s)
    s.keys("BTab")
    s.still()
    s.say("plan the shop")
    s.until("Which database")
    s.still()


@case(CODEX, "idle-plan-mode", "idle")
def _(s):
    codex_idle(s)
    s.keys("BTab")
    s.still()


@case(
    CODEX,
    "hooks-review",
    "waiting",
    "trust",
    question="Hooks need review",
    options=["Review hooks", "Trust all and continue", "Continue without trusting (hooks won't run)"],
)
def _(s):
    s.edit_json(".codex/hooks.json", hooks={"Stop": [{"hooks": [{"type": "command", "command": "/bin/true"}]}]})
    s.launch()
    s.until("(?i)hooks need review")
    s.still()


@case(
    CODEX,
    "trust",
    "waiting",
    "trust",
    question="Trust this folder?",
    options=["Trust and continue", "Back to Agent Command Center"],
)
def _(s):
    config = s.home / ".codex" / "config.toml"
    text = re.sub("(approval_policy|sandbox_mode) = .*", "", config.read_text().partition("[projects.")[0])
    config.write_text(text)
    subprocess.run(["git", "init", "-q", s.project], check=True)
    s.launch()
    s.until("(?i)trust")
    s.still()


@case(
    CODEX,
    "login",
    "waiting",
    "login",
    question="Choose how you want to use Codex.",
    options=["Sign in with ChatGPT", "Sign in with Device Code", "Sign in another way"],
)
def _(s):
    (s.home / ".codex" / "config.toml").write_text(
        "check_for_update_on_startup = false\n[features]\ndaemon_auto_start = false\n"
    )
    s.launch(env={"STUB_KEY": None})
    s.until("(?i)sign in")
    s.still(1.5)


@case(CODEX, "key-missing", "waiting", "login")
def _(s):
    codex_turn(s, "STUB: say=x", env={"STUB_KEY": None})
    s.until("(?i)STUB_KEY")
    s.still()


@case(CODEX, "error-529-retry", "working")
def _(s):
    codex_turn(s, "STUB: error=529\nSTUB: errmsg=Overloaded")
    s.until("(?i)reconnecting|retry")


@case(CODEX, "error-429", "waiting", "limit")
def _(s):
    codex_turn(s, "STUB: error=429\nSTUB: errmsg=Rate limit reached.")
    s.until("(?i)429|limit reached|exceeded retry")
    s.still(1.5)


@case(CODEX, "usage-limit", "waiting", "limit")
def _(s):
    codex_turn(s, 'STUB: error=429\nSTUB: errmsg={"type":"usage_limit_reached","message":"The usage limit has been reached",'
                  '"plan_type":"plus","resets_at":1800000000}')  # fmt: skip
    s.until("(?i)usage limit")
    s.still(1.5)


@case(CODEX, "error-401", "waiting", "login")
def _(s):
    codex_turn(s, "STUB: error=401\nSTUB: errmsg=Incorrect API key provided")
    s.until("401")
    s.still(1.5)


@case(CODEX, "error-400", "idle")
def _(s):
    codex_turn(s, "STUB: error=400\nSTUB: errmsg=The model does not exist.")
    s.until(r"does not\s+exist")
    s.still(1.5)


@case(CODEX, "interrupted", "idle", "interrupted")
def _(s):
    codex_turn(s, f"STUB: chunk=0.1\nSTUB: say={LONG}")
    s.until("Line 3 ")
    s.keys("Escape")
    s.until("(?i)interrupted")
    s.still(1.2)


@case(CODEX, "interrupted-approval", "idle", "interrupted")
def _(s):
    codex_turn(s, ESCALATED)
    s.until("Would you like")
    s.still()
    s.keys("Escape")
    s.until("(?i)interrupted|did not run|canceled")
    s.still(1.2)


@case(CODEX, "interrupted-early", "idle", "interrupted")
def _(s):
    codex_turn(s, "STUB: delay=20")
    s.until("esc to interrupt")
    s.keys("Escape")
    s.until("(?i)interrupted")
    s.still(1.2)


@case(CODEX, "compacting", "compacting")
def _(s):
    codex_turn(s, "STUB: say=The parser is fixed.")
    s.until("is fixed")
    s.still()
    s.model.defaults({"delay": 20})
    s.type("/compact")
    s.keys("Enter")
    s.until("(?i)compact.*\n(.*\n)*.*esc to interrupt|esc to interrupt")


@case(CODEX, "compacted", "idle")
def _(s):
    codex_turn(s, "STUB: say=The parser is fixed.")
    s.until("is fixed")
    s.still()
    s.type("/compact")
    s.keys("Enter")
    s.until("(?i)compacted")
    s.still()


@case(CODEX, "slash-menu", "waiting", "draft", draft="/")
def _(s):
    codex_idle(s)
    s.type("/")
    s.still()


def codex_command(name, command, pattern, **more):
    @case(CODEX, name, **{"turn": "waiting", "reason": "dialog", **more})
    def _(s):
        codex_idle(s)
        s.type(command)
        s.keys("Enter")
        s.until(pattern)
        s.still()


codex_command("model-picker", "/model", "(?i)select model", question="Select Model and Effort")
codex_command("approvals-picker", "/permissions", "(?i)update model permissions|read only|approval")
codex_command("resume-picker", "/resume", "(?i)resume")
codex_command("status", "/status", "(?i)directory", turn="idle", reason=None)


@case(CODEX, "exited", "exited", status=0)
def _(s):
    codex_turn(s, "STUB: say=The parser is fixed.")
    s.until("is fixed")
    s.still()
    s.type("/quit")
    s.keys("Enter")
    s.until("Pane is dead")


@case(CODEX, "background-terminal", "idle", background=1)
def _(s):
    codex_turn(s, 'STUB: tool=exec_command {"cmd":"sleep 60","yield_time_ms":500}\n'
                  "STUB: say=It runs in the background.", *FREE)  # fmt: skip
    s.until("in the background")
    s.still(1.2)


@case(CODEX, "exited-ctrl-c", "exited", status=0)
def _(s):
    codex_idle(s)
    s.keys("C-c")
    s.until("Pane is dead")


# Gemini CLI

GEMINI = "gemini"


def gemini_idle(s, *args, **more):
    s.launch(*args, **more)
    s.until("Type your message")
    s.still(1.5)


def gemini_turn(s, script, *args, prompt="fix the parser please", **more):
    s.answer((prompt, script))
    s.launch(*args, "-i", prompt=prompt, **more)


YOLO = ("--approval-mode", "yolo")


@case(GEMINI, "idle-empty", "idle")
def _(s):
    gemini_idle(s)


@case(GEMINI, "idle-yolo", "idle")
def _(s):
    gemini_idle(s, *YOLO)


@case(GEMINI, "idle-answer", "idle")
def _(s):
    gemini_turn(s, f"STUB: say={TRICKY}")
    s.until("trust the")
    s.still(1.5)


@case(GEMINI, "idle-after-tool", "idle")
def _(s):
    gemini_turn(s, "STUB: bash=echo built\nSTUB: say=The parser is fixed.", *YOLO)
    s.until("is fixed")
    s.still(1.5)


@case(GEMINI, "draft", "waiting", "draft", draft="please look at the parser")
def _(s):
    gemini_idle(s)
    s.paste("please look at the parser")
    s.still()


@case(GEMINI, "draft-wrapped", "waiting", "draft", draft=WRAPPED)
def _(s):
    gemini_idle(s)
    s.paste(WRAPPED)
    s.still()


@case(GEMINI, "draft-lines", "waiting", "draft", draft="first line\nsecond; line\n  third")
def _(s):
    gemini_idle(s)
    s.paste("first line\nsecond; line\n  third")
    s.still()


@case(GEMINI, "draft-wide", "waiting", "draft", draft=WIDE)
def _(s):
    gemini_idle(s)
    s.paste(WIDE)
    s.still()


@case(GEMINI, "draft-pasted", "waiting", "draft", draft="[Pasted Text: 60 lines]")
def _(s):
    gemini_idle(s)
    s.paste("\n".join(f"line {n} of a long paste" for n in range(60)))
    s.still()


@case(GEMINI, "working", "working")
def _(s):
    gemini_turn(s, "STUB: delay=20")
    s.until("esc to cancel")


@case(GEMINI, "working-long-tool", "working")
def _(s):
    gemini_turn(s, "STUB: bash=for i in 1 2 3 4 5 6 7 8 9; do echo compiling part $i; sleep 1; done", *YOLO)
    s.until("compiling part 3")


@case(GEMINI, "working-draft", "working", draft="and one more thing")
def _(s):
    gemini_turn(s, "STUB: delay=20")
    s.until("esc to cancel")
    s.paste("and one more thing")
    s.until("and one more thing")


@case(
    GEMINI,
    "permission-shell",
    "waiting",
    "permission",
    question="Allow execution of [Shell]?",
    options=["Allow once", "Allow for this session", "No, suggest changes"],
)
def _(s):
    gemini_turn(s, "STUB: bash=rm -rf build && make all")
    s.until("(?i)allow")
    s.still()


@case(
    GEMINI,
    "permission-write",
    "waiting",
    "permission",
    question="Apply this change?",
    options=["Allow once", "Allow for this session", "Modify with external editor", "No, suggest changes"],
)
def _(s):
    gemini_turn(s, "STUB: write=notes.txt|first line\\n1. Yes\\nlast line")
    s.until("(?i)apply this change|allow")
    s.still()


@case(
    GEMINI,
    "trust",
    "waiting",
    "trust",
    question="Do you trust the files in this folder?",
    options=["Trust folder (shop)", "Trust parent folder (screens-ge{width})", "Don't trust"],
)
def _(s):
    s.edit_json(".gemini/trustedFolders.json", **{str(s.project): None})
    s.launch()
    s.until("(?i)trust")
    s.still()


@case(
    GEMINI,
    "login",
    "waiting",
    "login",
    question="How would you like to authenticate for this project?",
    options=["Sign in with Google", "Use Gemini API Key", "Vertex AI"],
)
def _(s):
    s.edit_json(".gemini/settings.json", security=None)
    s.launch(env={"GEMINI_API_KEY": None})
    s.until("(?i)how would you like to authenticate|get started")
    s.still(1.5)


@case(
    GEMINI,
    "permission-long",
    "waiting",
    "permission",
    question="Allow execution of [Shell]?",
    options=["Allow once", "Allow for this session", "No, suggest changes"],
    cut=True,
)
def _(s):
    gemini_turn(s, "STUB: bash=" + "\\n".join(f"echo line {n}" for n in range(60)))
    s.until("Allow execution")
    s.still(1.5)


@case(GEMINI, "error-400", "idle")
def _(s):
    gemini_turn(s, "STUB: error=400\nSTUB: errmsg=The model does not exist.")
    s.until("(?i)error")
    s.still(2)


@case(GEMINI, "error-401", "waiting", "login")
def _(s):
    gemini_turn(s, "STUB: error=401\nSTUB: errmsg=API key not valid.")
    s.until("(?i)error|401|invalid")
    s.still(2)


@case(GEMINI, "error-503-silent", "working")
def _(s):
    gemini_turn(s, "STUB: error=503\nSTUB: errmsg=The model is overloaded.")
    s.until("esc to cancel, [5-9]s")


@case(GEMINI, "interrupted", "idle", "interrupted")
def _(s):
    gemini_turn(s, "STUB: bash=sleep 30", *YOLO)
    s.until("sleep 30")
    s.keys("Escape")
    s.until("(?i)cancelled")
    s.still(1.5)


@case(GEMINI, "interrupted-early", "idle", "interrupted")
def _(s):
    gemini_turn(s, "STUB: delay=20")
    s.until("esc to cancel")
    s.keys("Escape")
    s.until("(?i)cancelled")
    s.still(1.5)


@case(GEMINI, "slash-menu", "waiting", "draft", draft="/")
def _(s):
    gemini_idle(s)
    s.type("/")
    s.still(1.5)


@case(GEMINI, "model-picker", "waiting", "dialog")
def _(s):
    gemini_idle(s)
    s.type("/model")
    s.keys("Enter")
    s.until("(?i)select model")
    s.still()


@case(GEMINI, "exited", "exited", status=0)
def _(s):
    gemini_idle(s)
    s.type("/quit")
    s.keys("Enter")
    s.ended()


# opencode

OPENCODE = "opencode"
ALLOWED = {"permission": {"edit": "allow", "bash": "allow"}}


def opencode_idle(s, *args, **more):
    s.launch(*args, **more)
    s.until("ctrl.p|Ask anything", 60)
    s.still(1.5)


def opencode_turn(s, script, *args, prompt="fix the parser please", **more):
    s.answer((prompt, script))
    s.launch(*args, "--prompt", prompt=prompt, **more)


def opencode_allows(s):
    s.edit_json(".config/opencode/opencode.json", **ALLOWED)


@case(OPENCODE, "idle-empty", "idle")
def _(s):
    opencode_idle(s)


@case(OPENCODE, "idle-answer", "idle")
def _(s):
    opencode_turn(s, f"STUB: say={TRICKY}")
    s.until("trust the", 60)
    s.still(1.5)


@case(OPENCODE, "idle-after-tool", "idle")
def _(s):
    opencode_allows(s)
    opencode_turn(s, "STUB: bash=echo built\nSTUB: say=The parser is fixed.")
    s.until("is fixed", 60)
    s.still(1.5)


@case(OPENCODE, "draft", "waiting", "draft", draft="please look at the parser")
def _(s):
    opencode_idle(s)
    s.paste("please look at the parser")
    s.still()


@case(OPENCODE, "draft-wrapped", "waiting", "draft", draft="[Pasted ~1 lines]")
def _(s):
    opencode_idle(s)
    s.paste(WRAPPED)
    s.still()


@case(OPENCODE, "draft-lines", "waiting", "draft", draft="[Pasted ~3 lines]")
def _(s):
    opencode_idle(s)
    s.paste("first line\nsecond; line\n  third")
    s.still()


@case(OPENCODE, "draft-wide", "waiting", "draft", draft=WIDE)
def _(s):
    opencode_idle(s)
    s.paste(WIDE)
    s.still()


@case(OPENCODE, "working", "working")
def _(s):
    opencode_turn(s, "STUB: delay=20")
    s.until("esc interrupt", 60)


@case(OPENCODE, "working-streaming", "working")
def _(s):
    opencode_turn(s, f"STUB: chunk=0.1\nSTUB: say={LONG}")
    s.until("Line 2", 60)


@case(OPENCODE, "working-long-tool", "working")
def _(s):
    opencode_allows(s)
    opencode_turn(s, "STUB: bash=for i in $(seq 60); do echo compiling part $i; sleep 0.3; done")
    s.until("compiling part 6|for i in", 60)
    s.until("esc interrupt")


@case(OPENCODE, "working-draft", "working", draft="and one more thing")
def _(s):
    opencode_turn(s, "STUB: delay=20")
    s.until("esc interrupt", 60)
    s.paste("and one more thing")
    s.until("and one more thing")


@case(
    OPENCODE,
    "permission-shell",
    "waiting",
    "permission",
    question="Permission required",
    options=["Allow once", "Allow always", "Reject"],
)
def _(s):
    opencode_turn(s, "STUB: bash=rm -rf build && make all")
    s.until("(?i)permission required", 60)
    s.still()


@case(
    OPENCODE,
    "permission-write",
    "waiting",
    "permission",
    question="Permission required",
    options=["Allow once", "Allow always", "Reject"],
)
def _(s):
    opencode_turn(s, f"STUB: write={s.project}/notes.txt|first line\\n1. Yes\\nlast line")
    s.until("(?i)permission required", 60)
    s.still()


OPENCODE_ASKS = {"question": "Permission required", "options": ["Allow once", "Allow always", "Reject"]}


@case(OPENCODE, "permission-long", "waiting", "permission", cut=True, **OPENCODE_ASKS)
def _(s):
    opencode_turn(s, "STUB: bash=" + "\\n".join(f"echo line {n}" for n in range(40)))
    s.until("(?i)permission required", 60)
    s.still()


@case(OPENCODE, "permission-write-long", "waiting", "permission", cut=True, **OPENCODE_ASKS)
def _(s):
    opencode_turn(s, f"STUB: write={s.project}/notes.txt|" + "\\n".join(f"line {n}" for n in range(40)))
    s.until("(?i)permission required", 60)
    s.still()


@case(OPENCODE, "permission-always", "waiting", "permission", question="Always allow", options=["Confirm", "Cancel"])
def _(s):
    opencode_turn(s, "STUB: bash=touch built.txt")
    s.until("(?i)permission required", 60)
    s.still()
    s.keys("Right", "Enter")
    s.until("Always allow")
    s.still()


@case(
    OPENCODE,
    "permission-rejected",
    "waiting",
    "permission",
    question="Reject permission",
    options=["enter confirm", "esc cancel"],
)
def _(s):
    delegate = 'STUB: tool=task {"description":"sub","prompt":"be a helper","subagent_type":"general"}'
    s.model.rules([
        {"match": "be a helper", "do": "STUB: bash=touch built.txt"}, {"match": "fix the parser", "do": delegate},
    ])  # fmt: skip
    s.launch("--prompt", prompt="fix the parser please")
    s.until("(?i)permission required", 150)  # two turns long; and it never comes to rest: the subagent's spinner turns
    s.keys("Right", "Right", "Enter")
    s.until("Reject permission")


@case(
    OPENCODE,
    "question",
    "waiting",
    "question",
    question="Which database should the shop use?",
    options=["PostgreSQL", "SQLite", "Type your own answer"],
)
def _(s):
    opencode_turn(s, 'STUB: tool=question {"questions":[{"question":"Which database should the shop use?","header":'
                  '"Database","options":[{"label":"PostgreSQL","description":"a server"},{"label":"SQLite",'
                  '"description":"one file"}]}]}')  # fmt: skip
    s.until("Which database", 60)
    s.still()


@case(OPENCODE, "error-400", "idle")
def _(s):
    opencode_turn(s, "STUB: error=400\nSTUB: errmsg=The model does not exist.")
    s.until("does not exist", 60)
    s.still(1.5)


@case(OPENCODE, "error-401", "idle", account="login")
def _(s):
    opencode_turn(s, "STUB: error=401\nSTUB: errmsg=Incorrect API key provided")
    s.until("(?i)incorrect api key|unauthorized", 60)
    s.still(1.5)


@case(OPENCODE, "error-503-retry", "working")
def _(s):
    opencode_turn(s, "STUB: error=503\nSTUB: errmsg=Overloaded")
    s.until("(?i)retrying|attempt", 60)


@case(OPENCODE, "interrupted", "idle", "interrupted")
def _(s):
    opencode_turn(s, f"STUB: chunk=0.1\nSTUB: say={LONG}")
    s.until("Line 3 ", 60)
    s.keys("Escape", "Escape")
    s.until("(?i)interrupted")
    s.still(1.5)


@case(OPENCODE, "interrupt-asked", "working")
def _(s):
    opencode_turn(s, "STUB: delay=20")
    s.until("esc interrupt", 60)
    s.keys("Escape")
    s.until("(?i)again")


@case(OPENCODE, "slash-menu", "waiting", "draft", draft="/")
def _(s):
    opencode_idle(s)
    s.type("/")
    s.still(1.5)


@case(OPENCODE, "model-picker", "waiting", "dialog")
def _(s):
    opencode_idle(s)
    s.type("/models")
    s.still()
    s.keys("Enter")
    s.until("(?i)select model")
    s.still()


@case(OPENCODE, "exited", "exited", status=0)
def _(s):
    opencode_idle(s)
    s.keys("C-c")
    s.ended()
