import { compact } from "../numbers.ts";

/** What somebody who was away asks for, the gravest first. `past_line`: a rise to the line of an agent. */
export const DIGEST_KINDS = ["alert", "unexplained", "past_line", "restarted", "ended", "harness"] as const;
export type DigestKind = (typeof DIGEST_KINDS)[number];

/** How often something happened, and to how many agents, sessions or harnesses. */
interface Counted {
  times: number;
  subjects: number;
}

/** What the phrase of an item needs of it. */
interface Happening {
  kind: DigestKind;
  times: number;
  tokens_before: number | null;
  tokens_after: number | null;
  text: string | null;
  open: boolean | null;
}

const several = (times: number, one: string, many = `${one}s`) => `${times} ${times === 1 ? one : many}`;

const PHRASE: Readonly<Record<DigestKind, (counted: Counted) => string>> = {
  alert: ({ times }) => several(times, "alert"),
  unexplained: ({ times }) => `${several(times, "fall")} without a cause`,
  past_line: ({ subjects }) => `${several(subjects, "agent")} past ${subjects === 1 ? "its" : "their"} line`,
  restarted: ({ times }) => several(times, "restart"),
  ended: ({ times }) => `${several(times, "session")} ended`,
  harness: ({ times }) => several(times, "new harness", "new harnesses"),
};

/** "1 alert, 3 falls without a cause and 2 restarts", or undefined if nothing happened. */
export function digestPhrase(counts: Readonly<Record<DigestKind, Counted>>): string | undefined {
  const parts = DIGEST_KINDS.filter((kind) => counts[kind].times > 0).map((kind) =>
    PHRASE[kind](counts[kind]),
  );
  const last = parts.pop();
  return parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

const times = (count: number) => (count === 1 ? "" : ` ${count} times`);

/** What happened to the subject of an item: "3 falls without a cause, 120k to 9k". */
export function digestItemPhrase(item: Happening): string {
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
