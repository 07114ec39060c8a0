import type { LosableKind, Survival, Survived } from "@plimsoll/protocol/pure";
import { ValuesByTime } from "./dated.ts";
import { isRule, type Sentence, SHINGLE, sentencesOf, wordsOf } from "./sentences.ts";
import { type Filling, inOrder, type PartsReset } from "./transcript-parts.ts";

/** Something that a compaction took out of the context. */
export interface Losable {
  kind: LosableKind;
  /** The sentence, or the path. */
  text: string;
  /** The turn that was sent it last, counted from 1. */
  turn: number;
  survival: Survival;
  /** The turn that a file was read or changed in again. */
  again: number | undefined;
}

/** What a compaction left of what was there before it. */
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

/** @returns undefined if the recording shows no summary */
export function latestLoss(filling: Filling): CompactionLoss | undefined {
  const [latest] = compactions(filling);
  if (latest === undefined) return undefined;
  const { at, turn, before, after, thingsOf } = latest;
  return { at, turn, before, after, things: thingsOf(true) };
}

/**
 * What survived each compaction with a turn after it, by its time. Compactions without a summary in the recording are missing.
 * @param known what was found before, for the next time
 */
export function survivals(filling: Filling, known: Map<string, Survived>): ReadonlyMap<number, Survived> {
  const found = new Map<number, Survived>();
  for (const { key, at, after, thingsOf } of compactions(filling)) {
    if (after === undefined) continue;
    const survived = known.get(key) ?? countsOf(thingsOf(false));
    known.set(key, survived);
    found.set(at, survived);
  }
  return found;
}

function countsOf(things: readonly Losable[]): Survived {
  const counts: Partial<Record<LosableKind, Record<Survival, number>>> = {};
  for (const { kind, survival } of things) {
    counts[kind] ??= { verbatim: 0, near: 0, absent: 0 };
    counts[kind][survival] += 1;
  }
  return counts;
}

interface Compaction extends Omit<CompactionLoss, "things"> {
  /** Changes with the number of lines that it is found from. */
  key: string;
  /** @param isFollowed whether to look for the files in all that came later */
  thingsOf: (isFollowed: boolean) => Losable[];
}

/**
 * Compares what the window held before each compaction with the summary and all else that entered it before the next turn. The latest comes
 * first. Compactions are left out whose summary the recording does not show.
 */
function* compactions({ turns, lines, resets }: Filling): Generator<Compaction, undefined> {
  if (!resets.some(isWhole)) return;
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
    if (steps[at]!.reset?.isRepeated === true) continue;
    if (!items.some(({ kind, text }) => kind === "summary" && text !== undefined)) continue;
    const begin = steps.findLastIndex(({ reset }, index) => index < at && isWhole(reset)) + 1;
    const thingsOf = (isFollowed: boolean) => {
      const kept = keptIn(items.flatMap(({ text, file }) => text ?? file ?? []).join("\n"));
      const things = new Map<string, Losable>();
      for (const { line } of steps.slice(begin, at))
        for (const { kind, text = "", file } of line?.items ?? []) {
          const place = { turn: Math.min(turnsUntil(line!.at) + 1, turn), again: undefined };
          for (const said of kind === "user" ? sentencesOf(text) : []) {
            const survival = things.get(said.text)?.survival ?? kept.sentence(said);
            const kind = isRule(said.text) ? "rule" : "prompt";
            things.set(said.text, { kind, text: said.text, survival, ...place });
          }
          if (file !== undefined)
            things.set(file, {
              kind: "file",
              ...{ text: file, survival: things.get(file)?.survival ?? kept.file(file), ...place },
            });
        }
      const later = isFollowed ? steps.slice(at + 1).filter((step) => step.at > steps[at]!.at) : [];
      for (const { line } of later)
        for (const { file } of line?.items ?? []) {
          const thing = file === undefined ? undefined : things.get(file);
          if (thing !== undefined) thing.again ??= turnsUntil(line!.at) + 1;
        }
      return [...things.values()];
    };
    yield {
      key: `${steps[at]!.at}/${begin}/${at}/${rebuilt.length}`,
      ...{ at: steps[at]!.at, turn, before: ordered[turn - 1]?.level, after: ordered[turn]?.level },
      thingsOf,
    };
  }
}

/** Whether everything but the instructions was taken out. */
const isWhole = (reset: PartsReset | undefined) => reset !== undefined && reset.cleared === undefined;

// A slice and a join of each would take several times as long.
const shinglesOf = (words: readonly string[]): string[] =>
  words.slice(SHINGLE - 1).map((last, at) => `${words[at]} ${words[at + 1]} ${last}`);

/** Looks for sentences and files in a text. */
function keptIn(text: string) {
  const words = wordsOf(text);
  const joined = ` ${words.join(" ")} `;
  const shingles = new Set(shinglesOf(words));
  return {
    sentence({ words: own }: Sentence): Survival {
      const found = shinglesOf(own);
      if (found.filter((one) => shingles.has(one)).length < NEAR * found.length) return "absent";
      return joined.includes(` ${own.join(" ")} `) ? "verbatim" : "near";
    },
    /** The end of a path names it if it has a folder; a bare name may be that of another file. */
    file(path: string): Survival {
      const parts = path.split(/[\\/]/).filter(Boolean);
      if (!text.includes(parts.at(-1) ?? path)) return "absent";
      const isNamed = text.includes(path) || (parts.length > 1 && text.includes(parts.slice(-2).join("/")));
      return isNamed ? "verbatim" : "near";
    },
  };
}
