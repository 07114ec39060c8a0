import type { FallHint } from "@plimsoll/protocol/events";
import { familyOf } from "@plimsoll/protocol/pure";

/** The usual causes of a fall that no event explains, the most likely first. One sentence each. */

const MISSED_EVENT = "The harness lowered its context without sending an event.";
const LOST_EVENT = "The event that explains the fall is still queued at the harness, or was refused.";
const CUT_PROMPT = "The provider or a proxy cut the prompt to fit the window.";

/** From each harness's own documentation and sources, November 2026. */
const FAMILY_CAUSES: Readonly<Record<string, readonly string[]>> = {
  "claude-code": [
    "Claude Code cleared old tool results, which it does without an event.",
    "The user rewound the conversation to an earlier message.",
    "The session was resumed or forked, and a part of the transcript was not imported.",
  ],
  codex: [
    "The user edited an earlier message, which drops everything after it.",
    "The thread was forked or resumed, and a part of the rollout was not imported.",
  ],
  "gemini-cli": [
    "Gemini CLI masked old tool output or compressed the chat, and its telemetry did not arrive.",
    "The user rewound the conversation.",
  ],
  opencode: [
    "opencode pruned old tool output, which it does without an event.",
    "The user reverted messages.",
  ],
  kilo: ["Kilo pruned old tool output, which it does without an event.", "The user reverted messages."],
  copilot: ["Copilot truncated its history, and the span event did not arrive."],
  cline: ["Cline truncated or condensed the conversation, which it reports without token counts."],
  goose: ["Goose replaced old tool calls with summaries, which it does without an event."],
  kimi: ["Kimi compacted the conversation, and its hook is not connected."],
  cursor: ["Cursor summarized the conversation without an event."],
  phantom: ["Phantom masked observations while its event queue was off."],
  ouroboros: ["Ouroboros started a sub-tick or restarted, and the event was lost in a crash."],
};

const OLLAMA = "Ollama dropped the oldest messages because the prompt exceeded num_ctx.";
const TWO_AGENTS = "Two agents report under one agent name.";

interface Fall {
  harness: string;
  model: string | null;
  hint: FallHint | null;
}

export function fallCauses({ harness, model, hint }: Fall): readonly string[] {
  const family = familyOf(harness);
  const own = Object.hasOwn(FAMILY_CAUSES, family) ? FAMILY_CAUSES[family]! : [];
  const first =
    hint === "truncation_suspected"
      ? [`${OLLAMA} The new level is half of the window, as after such a cut.`]
      : hint === "model_changed"
        ? ["The model changed between the two turns, and each model counts tokens in its own way."]
        : hint === "window_moved"
          ? ["The harness moved to another window without a restart event."]
          : family.includes("ollama") || /ollama/i.test(model ?? "")
            ? [OLLAMA]
            : [];
  const common = own.length > 0 ? [LOST_EVENT, TWO_AGENTS] : [MISSED_EVENT, CUT_PROMPT, TWO_AGENTS];
  return [...first, ...own, ...common].slice(0, 4);
}
