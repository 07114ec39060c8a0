import type { HistoryTexts } from "../recordings/history-texts.ts";
import { asNumber, asObject, asText, type JsonObject } from "../recordings/json.ts";
import { messageItems, wholeItems } from "../recordings/message-texts.ts";
import type { ContentItem } from "../recordings/transcript-parts.ts";

/** A message, and when its call began: epoch ms. */
interface Written {
  at: number;
  by: "user" | "assistant" | "summary";
}

/** The messages and parts of a session. A part does not say who wrote it. */
export class OpencodeTexts {
  readonly #messages = new Map<string, Written>();
  /** Parts that wait for their message. One that is written again is there again. */
  #waiting: { id: string; message: string; data: JsonObject }[] = [];
  /** The message of each part that was measured. */
  readonly #measured = new Map<string, string>();
  /** By the message that asked for a compaction: the first message that it kept, and when its summary was written. */
  readonly #firstKept = new Map<string, string>();
  readonly #summaries = new Map<string, number>();

  addMessage(id: string, at: number, { role, summary, mode }: JsonObject): void {
    const isSummary = summary === true || mode === "compaction";
    this.#messages.set(id, { at, by: role === "user" ? "user" : isSummary ? "summary" : "assistant" });
  }

  addPart(id: string, message: string, data: JsonObject): void {
    const { type, ignored } = data;
    if ((type === "text" && ignored !== true) || type === "tool" || type === "reasoning")
      this.#waiting.push({ id, message, data });
  }

  addSummary(asked: string, at: number): void {
    this.#summaries.set(asked, at);
  }

  keepFrom(first: string, asked: string): void {
    this.#firstKept.set(asked, first);
  }

  hold(texts: HistoryTexts): void {
    for (const part of this.#waiting.splice(0)) {
      const { id, message, data } = part;
      const written = this.#messages.get(message);
      if (written === undefined) {
        this.#waiting.push(part);
        continue;
      }
      const { at, by } = written;
      // What a harness takes out of an old result, it marks in its state.
      const isCleared = asNumber(asObject(asObject(data.state)?.time)?.compacted) !== undefined;
      const turn = by === "user" ? undefined : message;
      texts.add(id, { at, items: itemsOf(data, by, isCleared), turn, isCleared });
      this.#measured.set(id, message);
    }
    if (this.#firstKept.size === 0) return;
    // Ids grow with time.
    const ordered = [...this.#measured].sort(([, a], [, b]) => (a < b ? -1 : 1));
    for (const [asked, first] of this.#firstKept) {
      const at = this.#summaries.get(asked);
      const kept = ordered.slice(placeOf(ordered, first), placeOf(ordered, asked)).map(([id]) => id);
      if (at !== undefined) texts.keep(at, kept);
    }
  }
}

/** The place of the first part of a message. */
function placeOf(ordered: readonly (readonly [id: string, message: string])[], message: string): number {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ordered[middle]![1] < message) low = middle + 1;
    else high = middle;
  }
  return low;
}

function itemsOf(data: JsonObject, by: Written["by"], isCleared: boolean): ContentItem[] {
  if (data.type === "reasoning")
    return wholeItems(messageItems({ role: "assistant", content: [data] }), data.text, data.length);
  if (data.type === "text") {
    const kind = by === "summary" ? by : data.synthetic === true ? "attachment" : undefined;
    return wholeItems(messageItems({ role: by, content: data.text }, kind), data.text, data.length);
  }
  const { input = {}, output, error, length } = asObject(data.state) ?? {};
  const id = asText(data.callID);
  const called = messageItems({ role: "assistant", tool_calls: [{ id, name: data.tool, input }] });
  if (isCleared) return called;
  const results = messageItems({ role: "tool", tool_call_id: id ?? "", content: output ?? error });
  return [...called, ...wholeItems(results, output, length)];
}
