import { z } from "zod";
import { compact } from "../numbers.ts";
import { Range } from "./read.ts";

const time = z.iso.datetime({ offset: true });
const count = z.number().int();

/** What somebody who was away asks for, the gravest first. `past_line`: a rise to the line of an agent. */
export const DIGEST_KINDS = ["alert", "unexplained", "past_line", "restarted", "ended", "harness"] as const;
export type DigestKind = (typeof DIGEST_KINDS)[number];

/** Items of one kind in an answer. */
export const MOST_DIGEST_ITEMS = 30;

/** What happened to one agent, session or harness, as often as it did. Tokens are whole numbers. */
export const DigestItem = z.object({
  kind: z.enum(DIGEST_KINDS),
  times: count,
  first_at: time,
  last_at: time,
  /** Null if it is about a harness. */
  session_id: z.string().nullable(),
  title: z.string().nullable(),
  harness: z.string().nullable(),
  /** Null for a main agent, and for what is not about an agent. */
  agent: z.string().nullable(),
  /** Of the last fall, or the highest level past the line. */
  tokens_before: count.nullable(),
  /** Of the last fall, or the tokens at the line. */
  tokens_after: count.nullable(),
  /** The rule of an alert, or the reason that ended a session. */
  text: z.string().nullable(),
  /** Of an alert. */
  severity: z.string().nullable(),
  /** Whether an alert still fires. */
  open: z.boolean().nullable(),
});
export type DigestItem = z.infer<typeof DigestItem>;

/** How often it happened, and to how many agents, sessions or harnesses. */
const DigestCount = z.object({ times: count, subjects: count });

export const Digest = z.object({
  range: Range,
  counts: z.record(z.enum(DIGEST_KINDS), DigestCount),
  /** By kind, the latest first. Each kind has at most 30; its `subjects` tell how many there are. */
  items: z.array(DigestItem),
});
export type Digest = z.infer<typeof Digest>;

const several = (times: number, one: string, many = `${one}s`) => `${times} ${times === 1 ? one : many}`;

const PHRASE: Readonly<Record<DigestKind, (counted: z.infer<typeof DigestCount>) => string>> = {
  alert: ({ times }) => several(times, "alert"),
  unexplained: ({ times }) => `${several(times, "fall")} without a cause`,
  past_line: ({ subjects }) => `${several(subjects, "agent")} past ${subjects === 1 ? "its" : "their"} line`,
  restarted: ({ times }) => several(times, "restart"),
  ended: ({ times }) => `${several(times, "session")} ended`,
  harness: ({ times }) => several(times, "new harness", "new harnesses"),
};

/** "1 alert, 3 falls without a cause and 2 restarts", or undefined if nothing happened. */
export function digestPhrase(counts: Digest["counts"]): string | undefined {
  const parts = DIGEST_KINDS.filter((kind) => counts[kind].times > 0).map((kind) =>
    PHRASE[kind](counts[kind]),
  );
  const last = parts.pop();
  return parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

const times = (count: number) => (count === 1 ? "" : ` ${count} times`);

/** What happened to the subject of an item: "3 falls without a cause, 120k to 9k". */
export function digestItemPhrase(item: DigestItem): string {
  const [before, after] = [item.tokens_before, item.tokens_after];
  switch (item.kind) {
    case "alert":
      return `${item.text ?? "an alert"}${times(item.times)}, ${item.open ? "still open" : "over"}`;
    case "unexplained":
      return `${item.times === 1 ? "a fall" : `${item.times} falls`} without a cause${
        before === null || after === null ? "" : `, ${compact(before)} to ${compact(after)}`
      }`;
    case "past_line":
      return `past its line${times(item.times)}${before === null ? "" : `, up to ${compact(before)}`}`;
    case "restarted":
      return `restarted${times(item.times)}`;
    case "ended":
      return item.text === null ? "ended" : `ended: ${item.text}`;
    case "harness":
      return "reported for the first time";
  }
}
