// What opencode loads for an agent of fleet's: it tells fleet's hook program of each event, in the shape that Claude
// Code's hooks have, does what the program answers, and writes the conversation down for it. Measured with 1.18.33.
//
// opencode has no log that others can read (a database of its own), so the one here holds a line for each thing said:
// {"kind": prompt|feedback|injected|assistant|tool|interrupt|failed|ended|compacted, "text", "turn_id", "timestamp"}, with
// "tokens", "window" and "model" where an answer was measured. Subagents' sessions are not told of. An event that fails
// here is fleet's loss alone: opencode goes on.
import { spawn } from "node:child_process"
import { appendFileSync } from "node:fs"

const TEXT_CHARACTERS = 20000
const FAILURES = { 401: "authentication_failed", 403: "authentication_failed", 429: "rate_limit" }

export const Fleet = async ({ client }) => {
  const argv = JSON.parse(process.env.FLEET_OPENCODE_HOOK || "null")
  const log = process.env.FLEET_OPENCODE_LOG
  if (!argv || !log) return {}

  const mains = new Map() // session: whether it is a main one
  const texts = new Map() // the answer's texts so far, by part
  const seen = new Set() // tool calls and answers that are written down
  const windows = new Map() // model: its window in tokens
  let turn = null // the id of the prompt's message
  let over = true // nothing is running
  let ours = null // the text by which fleet makes the turn go on
  let active = false // the turn goes on because of it
  let automatic = false // the compaction that is coming was not asked for
  let queue = Promise.resolve()

  const write = (kind, text, more = {}) => {
    const line = { kind, text: String(text || "").slice(0, TEXT_CHARACTERS), turn_id: turn, timestamp: new Date().toISOString() }
    appendFileSync(log, JSON.stringify({ ...line, ...more }) + "\n", { mode: 0o600 })
  }

  const call = (event, payload) =>
    new Promise((resolve) => {
      const child = spawn(argv[0], [...argv.slice(1), "opencode", event], { stdio: ["pipe", "pipe", "ignore"] })
      let out = ""
      child.on("error", () => resolve(null))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (data) => (out += data))
      child.on("close", () => {
        try {
          resolve(JSON.parse(out))
        } catch {
          resolve(null)
        }
      })
      child.stdin.end(JSON.stringify({ transcript_path: log, prompt_id: turn, cwd: process.cwd(), ...payload }))
    })

  const tell = (event, payload) => {
    const done = queue.then(() => call(event, payload))
    queue = done.catch(() => null)
    return queue
  }

  const isMain = async (id) => {
    if (!mains.has(id)) {
      const found = await client.session.get({ path: { id } }).catch(() => null)
      mains.set(id, !(found && found.data && found.data.parentID))
    }
    return mains.get(id)
  }

  const windowOf = async (provider, model) => {
    if (!windows.has(model)) {
      const found = await client.config.providers().catch(() => null)
      const one = ((found && found.data && found.data.providers) || []).find((each) => each.id === provider)
      windows.set(model, (one && one.models && one.models[model] && one.models[model].limit.context) || null)
    }
    return windows.get(model)
  }

  const answer = () => [...texts.values()].join("\n")

  const ended = async (id) => {
    if (over) return
    over = true
    const said = answer()
    const told = await tell("Stop", { session_id: id, last_assistant_message: said, stop_hook_active: active })
    texts.clear()
    if (!(told && told.decision === "block" && told.reason)) write("ended")
    else {
      ours = told.reason
      over = false
      await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: told.reason }] } })
    }
  }

  const failed = async (id, error) => {
    if (over) return
    over = true
    const data = (error && error.data) || {}
    const aborted = error && error.name === "MessageAbortedError"
    write(aborted ? "interrupt" : "failed", data.message || (error && error.name))
    texts.clear()
    if (aborted) return tell("Interrupt", { session_id: id })
    const kind = error && error.name === "ProviderAuthError" ? "authentication_failed" : FAILURES[data.statusCode] || "server_error"
    return tell("StopFailure", { session_id: id, error: kind, last_assistant_message: String(data.message || "") })
  }

  const updated = async (info) => {
    if (info.role !== "assistant" || !info.time || !info.time.completed || seen.has(info.id)) return
    const used = info.tokens || {}
    const cache = used.cache || {}
    const tokens = (used.input || 0) + (cache.read || 0) + (cache.write || 0)
    if (!tokens) return
    seen.add(info.id)
    const window = await windowOf(info.providerID, info.modelID)
    write("assistant", answer(), { tokens, window, model: info.modelID })
  }

  const part = (one) => {
    if (one.type === "text" && !one.synthetic && !over && one.messageID !== turn) texts.set(one.id, one.text)
    if (one.type === "compaction") automatic = one.auto === true
    if (one.type === "tool" && one.state && one.state.status === "running" && !seen.has(one.id)) {
      seen.add(one.id)
      write("tool", one.tool + " " + JSON.stringify(one.state.input || {}))
    }
  }

  const handle = async (type, of) => {
    const id = of.sessionID || (of.info && of.info.sessionID) || (of.part && of.part.sessionID)
    if (!id || !(await isMain(id))) return
    if (type === "session.idle") return ended(id)
    if (type === "session.error") return failed(id, of.error)
    if (type === "message.updated") return updated(of.info)
    if (type === "message.part.updated") return part(of.part)
    if (type === "permission.asked" || type === "permission.updated")
      return tell("PermissionRequest", { session_id: id, tool_name: String(of.permission || of.type || "") })
    if (type === "session.compacted") {
      write("compacted")
      return tell("PostCompact", { session_id: id, trigger: automatic ? "auto" : "manual" })
    }
  }

  let events = Promise.resolve()
  tell("SessionStart", { source: "startup" })
  return {
    event: async ({ event }) => {
      events = events.then(() => handle(event.type, event.properties || {})).catch(() => {})
    },
    "chat.message": async (input, output) => {
      if (!(await isMain(input.sessionID))) return
      const said = output.parts.filter((one) => one.type === "text" && !one.synthetic)
      const prompt = said.map((one) => one.text).join("\n")
      turn = output.message.id
      over = false
      texts.clear()
      active = ours !== null && prompt === ours
      ours = null
      write(active ? "feedback" : "prompt", prompt)
      if (active) return
      const told = await tell("UserPromptSubmit", { session_id: input.sessionID, prompt })
      const more = told && told.hookSpecificOutput && told.hookSpecificOutput.additionalContext
      const last = said[said.length - 1]
      if (!more || !last) return
      write("injected", more)
      output.parts.push({ ...last, id: last.id + "z", text: more, synthetic: true })
    },
    "experimental.session.compacting": async (input) => {
      if (await isMain(input.sessionID))
        await tell("PreCompact", { session_id: input.sessionID, trigger: automatic ? "auto" : "manual" })
    },
  }
}
