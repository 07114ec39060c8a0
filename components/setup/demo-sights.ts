import type { SessionSummary } from "@plimsoll/protocol/api";
import { DEMO_HARNESSES } from "@plimsoll/protocol/pure";
import { exact } from "../format.ts";
import type { Word } from "../glossary.ts";
import { titleOf } from "../words.ts";

export type SightKind =
  | "nearest"
  | "unexplained"
  | "suspect"
  | "compacted"
  | "subtick"
  | "masked"
  | "restarted"
  | "agents";

/** Something of the demo that is worth a look: `title`, `lead`, `term` and `rest` make one or two sentences. */
export interface Sight {
  kind: SightKind;
  /** The page that shows it. */
  href: string;
  title: string;
  lead: string;
  term: string;
  /** What explains the term; undefined for a plain one. */
  word: Word | undefined;
  rest: string;
}

/** A session with at least this many agents shows a tree. */
const MANY_AGENTS = 4;

type Kind = Pick<Sight, "kind" | "lead" | "word" | "rest"> & {
  term: string | ((session: SessionSummary) => string);
  /** Absent for the page of the session. */
  href?: string;
  /** How strongly a session shows it; 0 if it does not. */
  strength: (session: SessionSummary) => number;
};

const isSuspect = ({ peak_utilization: peak }: SessionSummary) => peak !== null && peak > 1;

const KINDS: readonly Kind[] = [
  {
    kind: "nearest",
    href: "/",
    lead: "is the nearest to its",
    term: "line",
    word: "line",
    rest: "Fleet shows the turns that it has left.",
    strength: (session) => (session.status === "live" && !isSuspect(session) ? (session.load ?? 0) : 0),
  },
  {
    kind: "unexplained",
    lead: "fell without an explanation: the fall is",
    term: "unexplained",
    word: "unexplained",
    rest: "Select its mark to see the usual causes.",
    strength: ({ unexplained }) => unexplained,
  },
  {
    kind: "suspect",
    lead: "exceeds 100% of its window, so the",
    term: "window is suspect",
    word: "suspect",
    rest: "The harness reports the wrong size.",
    strength: (session) => (isSuspect(session) ? session.peak_utilization! : 0),
  },
  {
    kind: "compacted",
    lead: "was",
    term: "compacted",
    word: "compacted",
    rest: "Select a mark to see what it kept.",
    strength: ({ compacted }) => compacted,
  },
  {
    kind: "subtick",
    lead: "continued in a fresh window after a",
    term: "sub-tick",
    word: "subtick",
    rest: "Select a mark to see the size of its handoff note.",
    strength: ({ subticks }) => subticks,
  },
  {
    kind: "masked",
    lead: "had old tool results",
    term: "masked",
    word: "masked",
    rest: "The level falls inside the same window.",
    strength: ({ masked }) => masked,
  },
  {
    kind: "restarted",
    lead: "was restarted with a",
    term: "carry-over",
    word: "carryover",
    rest: "Select the mark to see how many turns it kept.",
    strength: ({ restarts }) => restarts,
  },
  {
    kind: "agents",
    lead: "runs",
    term: ({ agents }) => `${exact(agents)} agents`,
    word: undefined,
    rest: "Each agent has a level and a lane of its own.",
    strength: ({ agents }) => (agents >= MANY_AGENTS ? agents : 0),
  },
];

/** What the demo has produced so far, one sight of each kind, from its latest sessions. */
export function demoSights(sessions: readonly SessionSummary[]): Sight[] {
  const own = sessions.filter(({ harness }) => DEMO_HARNESSES.includes(harness));
  return KINDS.flatMap(({ kind, href, lead, term, word, rest, strength }) => {
    const [best] = own
      .map((session) => ({ session, strength: strength(session) }))
      .filter((one) => one.strength > 0)
      .sort((one, other) => other.strength - one.strength);
    if (best === undefined) return [];
    const { session } = best;
    return [
      {
        kind,
        href: href ?? `/sessions/${session.id}`,
        title: titleOf(session),
        lead,
        term: typeof term === "string" ? term : term(session),
        word,
        rest,
      },
    ];
  });
}

/** The kinds of sights that a whole run produces. */
export const SIGHT_KINDS = KINDS.map(({ kind }) => kind);
