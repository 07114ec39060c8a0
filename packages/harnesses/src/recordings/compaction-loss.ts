import { ValuesByTime } from "./dated.ts";
import { isRule, SHINGLE, sentencesOf, wordsOf } from "./sentences.ts";
import { type Filling, inOrder, type PartsReset } from "./transcript-parts.ts";

/** Whether something is in what replaced it: word for word, mostly, or not. */
export const SURVIVALS = ["verbatim", "near", "absent"] as const;
export type Survival = (typeof SURVIVALS)[number];

/** `rule`: a sentence of a person that asks for something for good. */
export const LOSABLE_KINDS = ["rule", "prompt", "file"] as const;

/** Something that a compaction took out of the context. */
export interface Losable {
  kind: (typeof LOSABLE_KINDS)[number];
  /** The sentence, or the path. */
  text: string;
  /** The turn that was sent it last, counted from 1. */
  turn: number;
  survival: Survival;
  /** The turn that a file was read or changed in again. */
  again: number | undefined;
}

/** What the latest compaction of an agent left of what was there before it. */
export interface CompactionLoss {
  /** Epoch ms. */
  at: number;
  /** The latest turn before it, counted from 1. */
  turn: number;
  /** Context tokens of the turns before and after it; undefined without such a turn. */
  before: number | undefined;
  after: number | undefined;
  things: Losable[];
}

/** Share of the words in a row of a sentence. Sentences that share so many say nearly the same. */
const NEAR = 0.6;

/**
 * Compares what the window held before the latest compaction with the summary and all else that entered it before the next turn.
 * @returns undefined if the recording shows no summary, or was read without its texts
 */
export function latestLoss({ turns, lines, resets }: Filling): CompactionLoss | undefined {
  const ordered = [...turns].sort((a, b) => a.at - b.at);
  const counts = new ValuesByTime(ordered.map(({ at }, index) => ({ at, value: index + 1 })));
  const turnsUntil = (at: number) => counts.at(at) ?? 0;
  const steps = inOrder({ lines, resets });
  let end = steps.length;
  for (let at = steps.length - 1; at >= 0; at--) {
    if (!isWhole(steps[at]!.reset)) continue;
    const turn = turnsUntil(steps[at]!.at);
    const until = ordered[turn]?.at ?? Number.POSITIVE_INFINITY;
    const rebuilt = steps.slice(at + 1, end).filter((step) => step.at < until);
    const items = rebuilt.flatMap(({ line }) => line?.items ?? []);
    end = at;
    if (!items.some(({ kind, text }) => kind === "summary" && text !== undefined)) continue;
    const kept = keptIn(items.flatMap(({ text }) => text ?? []).join("\n"));
    const begin = steps.findLastIndex(({ reset }, index) => index < at && isWhole(reset)) + 1;
    const things = new Map<string, Losable>();
    for (const { line } of steps.slice(begin, at))
      for (const { kind, text = "", file } of line?.items ?? []) {
        const place = { turn: Math.min(turnsUntil(line!.at) + 1, turn), again: undefined };
        for (const said of kind === "user" ? sentencesOf(text) : [])
          things.set(said, {
            kind: isRule(said) ? "rule" : "prompt",
            ...{ text: said, survival: kept.sentence(said), ...place },
          });
        if (file !== undefined)
          things.set(file, { kind: "file", text: file, survival: kept.file(file), ...place });
      }
    for (const { line } of steps.slice(at + 1))
      for (const { file } of line?.items ?? []) {
        const thing = file === undefined ? undefined : things.get(file);
        if (thing !== undefined) thing.again ??= turnsUntil(line!.at) + 1;
      }
    return {
      ...{ at: steps[at]!.at, turn, before: ordered[turn - 1]?.level, after: ordered[turn]?.level },
      things: [...things.values()],
    };
  }
  return undefined;
}

/** Whether everything but the instructions was taken out. */
const isWhole = (reset: PartsReset | undefined) => reset !== undefined && reset.cleared === undefined;

function* shinglesOf(words: readonly string[]): Generator<string> {
  for (let at = 0; at + SHINGLE <= words.length; at++) yield words.slice(at, at + SHINGLE).join(" ");
}

/** Looks for sentences and files in a text. */
function keptIn(text: string) {
  const words = wordsOf(text);
  const joined = ` ${words.join(" ")} `;
  const shingles = new Set(shinglesOf(words));
  return {
    sentence(sentence: string): Survival {
      const own = wordsOf(sentence);
      if (joined.includes(` ${own.join(" ")} `)) return "verbatim";
      const found = [...shinglesOf(own)];
      return found.filter((one) => shingles.has(one)).length >= NEAR * found.length ? "near" : "absent";
    },
    /** The end of a path names it if it has a folder; a bare name may be that of another file. */
    file(path: string): Survival {
      const parts = path.split(/[\\/]/).filter(Boolean);
      if (text.includes(path) || (parts.length > 1 && text.includes(parts.slice(-2).join("/"))))
        return "verbatim";
      return text.includes(parts.at(-1) ?? path) ? "near" : "absent";
    },
  };
}
