import { z } from "zod";
import { DIGEST_KINDS } from "./digest-text.ts";
import { Range } from "./read.ts";

const time = z.iso.datetime({ offset: true });
const count = z.number().int();

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
