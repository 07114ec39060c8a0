import { contextTokens } from "@plimsoll/fold";
import { tokenizerScale } from "@plimsoll/guard/measure";
import { latestLoss } from "../recordings/compaction-loss.ts";
import type { AgentHistory, HistoryOwner } from "../recordings/history.ts";
import { asObject, asText, type JsonObject } from "../recordings/json.ts";
import {
  type AgentContents,
  type ContentItem,
  LONGEST_PROMPT,
  textTokens,
  windowContents,
} from "../recordings/transcript-parts.ts";

/** A message, and when its call began: epoch ms. */
interface Written {
  at: number;
  by: "user" | "assistant" | "summary";
}

/** What the messages of a session add to its context. */
export class OpencodeTexts {
  readonly #messages = new Map<string, Written>();
  /** By id of the part, because opencode writes a part again as it grows. */
  readonly #parts = new Map<string, { message: string; data: JsonObject }>();

  addMessage(id: string, at: number, { role, summary, mode }: JsonObject): void {
    const isSummary = summary === true || mode === "compaction";
    this.#messages.set(id, { at, by: role === "user" ? "user" : isSummary ? "summary" : "assistant" });
  }

  addPart(id: string, message: string, data: JsonObject): void {
    if (data.type === "text" || data.type === "tool") this.#parts.set(id, { message, data });
  }

  contents({ turns, marks }: AgentHistory, { session, agent }: HistoryOwner): AgentContents | undefined {
    const levels = [...turns.values()].flatMap(({ id, at, usage, model = "unknown", isCompaction }) =>
      isCompaction === true
        ? []
        : [{ key: id, at, level: contextTokens(usage) ?? 0, model, scale: tokenizerScale(model) }],
    );
    const lines = [...this.#parts.values()].flatMap(({ message, data }) => {
      const written = this.#messages.get(message);
      // A counted message has its answer and its results, which are not in its own prompt.
      return written === undefined
        ? []
        : [{ at: turns.get(message)?.at ?? written.at, message, items: itemsOf(written, data) }];
    });
    const resets = [...marks.values()].flatMap(({ at, event }) =>
      event.type === "compacted" ? [{ at }] : [],
    );
    const filling = { turns: levels, lines, resets };
    const window = windowContents(filling);
    const last = levels.find(({ at }) => at === window?.at);
    if (window === undefined || last === undefined) return undefined;
    const found = { session, agent, model: last.model, loss: latestLoss(filling), ...window };
    if (window.since === undefined) return found;
    // opencode counts a call when its tools have run, so no count has the answers of calls that began since.
    const begun = new Set(
      [...this.#messages].flatMap(([id, { at, by }]) =>
        by === "assistant" && at >= last.at && !turns.has(id) ? [id] : [],
      ),
    );
    const output = lines
      .flatMap(({ message, items }) => (begun.has(message) ? items : []))
      .reduce((sum, { kind, tokens }) => sum + (kind === "tool_result" ? 0 : tokens * last.scale), 0);
    const { answer, added } = window.since;
    const since = {
      answer: Math.max(0, answer - Math.ceil(output)),
      added: added + Math.ceil(output),
      calls: begun.size,
    };
    return { ...found, since };
  }
}

function itemsOf({ by }: Written, { type, text, tool, callID, state }: JsonObject): ContentItem[] {
  if (type === "text") {
    const isKept = by !== "assistant" && typeof text === "string" && text.length <= LONGEST_PROMPT;
    return [{ kind: by, tokens: textTokens(text), ...(isKept && { text }) }];
  }
  const { input = {}, output, error } = asObject(state) ?? {};
  const [call, result] = [asText(callID), output ?? error];
  const name = asText(tool) ?? "";
  const file = asText(asObject(input)?.filePath);
  const tokens = textTokens(name) + textTokens(JSON.stringify(input));
  return [
    { kind: "tool_call", tokens, call, tool: name, file },
    ...(result === undefined ? [] : [{ kind: "tool_result" as const, tokens: textTokens(result), call }]),
  ];
}
