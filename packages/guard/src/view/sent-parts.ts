import type { Mask } from "../state/state.ts";
import type { MessageHistory } from "./history.ts";
import type { PartKind } from "./shape.ts";

/** A part of a message as it is sent now. */
export interface SentPart {
  /** The mark of a text that may be masked. Otherwise derived from what the whole message says. */
  id: string;
  /** Identifies its message by everything that it says. */
  print: number;
  kind: PartKind;
  text: string;
  /** Estimated tokens. */
  tokens: number;
  tool: string | undefined;
  input: unknown;
  /** True if it belongs to the newest turns, which stay as they are. */
  newest: boolean;
  /** True if the policy lets a shorter text replace it. */
  maskable: boolean;
  masked: boolean;
}

/** Which parts are sent, and which of them may be masked. */
export interface SentPartsInput<M> {
  history: MessageHistory<M>;
  masks: ReadonlyMap<string, Mask>;
  /** Index of the first message after the leading system messages that is sent. */
  from: number;
  /** Index of the first message of the newest turns. */
  newestFrom: number;
  /** Marks of the texts that may be masked. */
  maskable: ReadonlySet<string>;
}

/** Lists what is sent of the harness's messages, part by part. */
export function sentParts<M>(input: SentPartsInput<M>): SentPart[] {
  const { history, masks, from, newestFrom, maskable } = input;
  const { entries, pinned } = history;
  const parts: SentPart[] = [];
  const add = (index: number) => {
    const { results, longTexts, inputs, read } = entries[index]!;
    for (const [place, { kind, text, tool, input: given }] of read.parts.entries()) {
      const own = [...results, ...longTexts, ...inputs].find(({ part }) => part === place);
      const mask = own === undefined ? undefined : masks.get(own.mark);
      parts.push({
        id: own?.mark ?? `${kind}#${read.print.exact.toString(36)}.${place}`,
        print: read.print.exact,
        kind,
        text: mask?.placeholder ?? text,
        tokens: read.tokens[place]! - (mask?.saved ?? 0),
        tool: own?.tool ?? tool,
        input: own?.input ?? given,
        newest: index >= newestFrom,
        maskable: own !== undefined && maskable.has(own.mark),
        masked: mask !== undefined,
      });
    }
  };
  for (let index = 0; index < pinned; index++) add(index);
  for (let index = from; index < entries.length; index++) add(index);
  return parts;
}
