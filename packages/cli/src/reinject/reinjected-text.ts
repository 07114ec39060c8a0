import { estimateTokens } from "@plimsoll/guard/measure";
import type { StandingRules } from "@plimsoll/harnesses/claude-code/standing-rules";
import type { ReinjectedEvent } from "@plimsoll/protocol/events";
import type { Checkpoint } from "../mcp/note-file.ts";

/** Most of what is put back, tokens, and its characters: Claude Code takes 10,000 from a hook. */
export const MOST_REINJECTED = { tokens: 2_000, characters: 9_900 };

export interface ReinjectedText {
  /** Empty if there is nothing to put back. */
  text: string;
  counts: Pick<ReinjectedEvent, "tokens" | "checkpoint" | "rules" | "lines" | "left_out">;
}

const HEADING =
  "[Plimsoll, as the policy of this project asks: rules from before the context was compacted, word for word. They hold unless the user said otherwise since.]";
const SAID = "Said by the user in this session, the latest first:";

/**
 * What goes back into a context after a compaction: the agent's note as a whole, then whole rules, the most important first, as far as they fit.
 * @param standing undefined if the policy does not ask for rules
 * @param now epoch ms
 */
export function reinjectedText(
  note: Checkpoint | undefined,
  standing: Pick<StandingRules, "lines" | "files"> | undefined,
  now: number,
): ReinjectedText {
  const noteText = note === undefined ? "" : noteLines(note, now);
  const counts = { rules: 0, lines: 0, left_out: 0 };
  const sections = [
    { kind: "lines" as const, title: SAID, rules: standing?.lines ?? [] },
    ...(standing?.files ?? []).map(({ path, rules }) => ({
      kind: "rules" as const,
      title: `From ${path}:`,
      rules,
    })),
  ];
  let room = less(MOST_REINJECTED, `${HEADING}\n\n${noteText}`);
  const kept: string[] = [];
  for (const { kind, title, rules } of sections) {
    let head = [title];
    for (const rule of rules) {
      const lines = [...head, `- ${rule}`];
      const left = less(room, `\n${lines.join("\n")}`);
      if (left.tokens < 0 || left.characters < 0) counts.left_out += 1;
      else {
        room = left;
        kept.push(...lines);
        counts[kind] += 1;
        head = [];
      }
    }
  }
  const ruleText = kept.length === 0 ? "" : [HEADING, ...kept].join("\n");
  const text = [ruleText, noteText].filter(Boolean).join("\n\n");
  return {
    text,
    counts: {
      tokens: Math.ceil(estimateTokens(text)),
      checkpoint: note !== undefined,
      ...(standing !== undefined && counts),
    },
  };
}

const less = ({ tokens, characters }: typeof MOST_REINJECTED, text: string) => ({
  tokens: tokens - estimateTokens(text),
  characters: characters - text.length,
});

function noteLines({ at, note }: Checkpoint, now: number): string {
  const minutes = Math.max(0, Math.round((now - at) / 60_000));
  return `[Your own checkpoint, which you saved ${minutes} min before the context was compacted:]\n${note}`;
}
