// Sends the turns of the orchestrator, and of an agent that stopped, to Plimsoll. Needs PLIMSOLL_URL and PLIMSOLL_KEY. Never
// fails the session.
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { hookInput } from "./run-state.mjs";

/** Turns of one agent in a request. The server knows an event by its id, so sending one again is harmless. */
const LATEST = 200;
const TIMEOUT_MS = 5_000;

/** One event for each response in a transcript. A response spread over several lines counts once. */
function turnsIn(path, session, agent) {
  const turns = new Map();
  if (!existsSync(path)) return [];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const entry = parsed(line);
    const at = Date.parse(entry?.timestamp);
    const { message } = entry ?? {};
    if (entry?.type !== "assistant" || message?.usage === undefined || Number.isNaN(at)) continue;
    if (message.model === "<synthetic>" || (agent === "main" && entry.isSidechain === true)) continue;
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } =
      message.usage;
    const { ephemeral_1h_input_tokens } = message.usage.cache_creation ?? {};
    turns.set(message.id, {
      type: "turn",
      id: message.id,
      at,
      harness: `autopilot@${hostname()}`,
      session,
      agent,
      ...(agent !== "main" && { parent_agent: "main" }),
      model: message.model,
      usage: {
        input_tokens,
        cache_read_tokens: cache_read_input_tokens,
        cache_write_tokens: cache_creation_input_tokens,
        cache_write_1h_tokens: ephemeral_1h_input_tokens,
        output_tokens,
        basis: "exclusive",
      },
    });
  }
  return [...turns.values()].slice(-LATEST);
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Sends events. Throws what the user can do something about. */
async function send(url, key, events) {
  if (!key) throw new Error("PLIMSOLL_KEY is not set.");
  const response = await fetch(new URL("/api/v1/events", url), {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ events }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`${url} answered with HTTP ${response.status}.`);
}

const { PLIMSOLL_URL: url, PLIMSOLL_KEY: key } = process.env;
const { session_id, transcript_path, agent_id, agent_transcript_path } = await hookInput();
if (url) {
  try {
    const events = turnsIn(transcript_path, session_id, "main");
    if (agent_id !== undefined) events.push(...turnsIn(agent_transcript_path, session_id, agent_id));
    if (events.length > 0) await send(url, key, events);
  } catch (error) {
    // The agent's work matters more than its report.
    const systemMessage = `Plimsoll did not get the turns: ${error.cause?.message ?? error.message}`;
    process.stdout.write(JSON.stringify({ systemMessage }));
  }
}
