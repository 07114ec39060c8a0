// Sends the turns of an agent that stopped to Plimsoll, if PLIMSOLL_URL and PLIMSOLL_KEY are set. Never fails the session.
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { hookInput } from "./run-state.mjs";

/** Turns of one request. The server knows an event by its id, so sending one again is harmless. */
const LATEST = 200;
const TIMEOUT_MS = 5_000;

/** One event for each response in a transcript. A response spread over several lines counts once. */
function turnsIn(transcript, { session_id, agent_id }) {
  const turns = new Map();
  for (const line of transcript.split("\n")) {
    let entry;
    try {
      entry = JSON.parse(line);
    } catch {
      continue;
    }
    const { message } = entry;
    if (entry.type !== "assistant" || message?.usage === undefined || message.model === "<synthetic>")
      continue;
    if (agent_id === undefined && entry.isSidechain === true) continue;
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } =
      message.usage;
    turns.set(message.id, {
      type: "turn",
      id: message.id,
      at: Date.parse(entry.timestamp),
      harness: `autopilot@${hostname()}`,
      session: session_id,
      agent: agent_id ?? "main",
      ...(agent_id !== undefined && { parent_agent: "main" }),
      model: message.model,
      usage: {
        input_tokens,
        cache_read_tokens: cache_read_input_tokens,
        cache_write_tokens: cache_creation_input_tokens,
        output_tokens,
        basis: "exclusive",
      },
    });
  }
  return [...turns.values()].slice(-LATEST);
}

const { PLIMSOLL_URL: url, PLIMSOLL_KEY: key } = process.env;
const input = await hookInput();
if (url !== undefined && key !== undefined) {
  try {
    const path = input.agent_transcript_path ?? input.transcript_path;
    const events = turnsIn(readFileSync(path, "utf8"), input);
    if (events.length > 0)
      await fetch(new URL("/api/v1/events", url), {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ events }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
  } catch {
    // The agent's work matters more than its report.
  }
}
