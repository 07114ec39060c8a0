import type { FallHint } from "@plimsoll/protocol/events";
import { familyOf } from "@plimsoll/protocol/pure";
import { familyLine } from "./family-lines.ts";

/** The usual causes of a fall that no event explains, the most likely first. One sentence each. */

const MISSED_EVENT = "The harness lowered its context without sending an event.";
const LOST_EVENT = "The event that explains the fall is still queued at the harness, or was refused.";
const CUT_PROMPT = "The provider or a proxy cut the prompt to fit the window.";

const OLLAMA = "Ollama dropped the oldest messages because the prompt exceeded num_ctx.";
const TWO_AGENTS = "Two agents report under one agent name.";

interface Fall {
  harness: string;
  model: string | null;
  hint: FallHint | null;
}

export function fallCauses({ harness, model, hint }: Fall): readonly string[] {
  const family = familyOf(harness);
  const own = familyLine(harness)?.falls ?? [];
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
