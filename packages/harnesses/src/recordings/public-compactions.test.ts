import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { latestLoss } from "./compaction-loss.ts";

/**
 * `compaction_v5_R4_20260224_1353` of github.com/profff/lost-in-compaction at 8be3154: conversations of which the oldest 5 to 98 % were
 * replaced by a summary, and how many of the facts in that part a search for their keywords still finds.
 */
const FOLDER = process.env.VITEST_PLIMSOLL_LOST_IN_COMPACTION;

interface Published {
  grep: Record<string, { compacted_present: number; compacted_total: number; remaining_present: number }>;
}
interface Meta {
  facts: { fact_id: string; keywords: string[] }[];
  compaction: { facts_compacted: string[] };
}

const read = <T>(name: string) => JSON.parse(readFileSync(join(FOLDER!, name), "utf8")) as T;

/** The facts whose keywords are all in the context. */
function found(name: string, { facts }: Meta): Set<string> {
  const messages = read<{ content: string }[]>(`contexts/${name}.json`);
  const loss = latestLoss({
    turns: [1, 4].map((at) => ({ key: String(at), at, level: 190_000, scale: 1 })),
    lines: [
      {
        at: 0,
        // A file is looked for as it is, and a sentence of fewer than three words is not.
        items: facts.flatMap(({ keywords }) =>
          keywords.map((word) => ({ kind: "tool_call" as const, tokens: 1, file: word.toLowerCase() })),
        ),
      },
      {
        at: 3,
        items: messages.map(({ content }, index) => ({
          kind: index === 0 ? ("summary" as const) : ("user" as const),
          ...{ tokens: 1, text: content.toLowerCase() },
        })),
      },
    ],
    resets: [{ at: 2 }],
  });
  const absent = new Set(loss!.things.flatMap(({ survival, text }) => (survival === "absent" ? [text] : [])));
  const isFound = (words: string[]) =>
    words.length > 0 && words.every((word) => !absent.has(word.toLowerCase()));
  return new Set(facts.filter(({ keywords }) => isFound(keywords)).map(({ fact_id: id }) => id));
}

const NAMES = ["d40", "d60", "d80"].flatMap((density) =>
  ["C1", "C2", "C3", "C4"].map((level) => `${density}_${level}`),
);

describe.skipIf(FOLDER === undefined)(
  "published compactions, if VITEST_PLIMSOLL_LOST_IN_COMPACTION is set",
  () => {
    it.each(NAMES)("leave as many facts in %s as a search found", (name) => {
      const meta = read<Meta>(`contexts/${name}_meta.json`);
      const { compacted_present, compacted_total, remaining_present } =
        read<Published>("summary.json").grep[name]!;
      const compacted = new Set(meta.compaction.facts_compacted);
      const all = [...found(name, meta)];
      expect(compacted.size).toBe(compacted_total);
      expect(all.filter((fact) => compacted.has(fact))).toHaveLength(compacted_present);
      expect(all.filter((fact) => !compacted.has(fact))).toHaveLength(remaining_present);
    });
  },
);
