/** @jsxImportSource #jsx */
import type { FleetAgent } from "@plimsoll/protocol/api";
import { CircleHelp, OctagonAlert, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { LevelState } from "../charts/level.ts";
import { useMinute } from "../clock.tsx";
import { compact, exact, loadPercent, NONE, plural } from "../format.ts";
import { adjustHref } from "../policy/scope-key.ts";
import { Link } from "../projects/link.tsx";
import { cn } from "../ui/cn.ts";
import { Term } from "../ui/term.tsx";
import {
  cacheText,
  lineName,
  lineNote,
  lineSourceName,
  lineTitle,
  shortCacheText,
  sourceText,
} from "../words.ts";

const STATE_WORDS: Readonly<Record<LevelState, string>> = {
  danger: "over its line and about to overflow",
  over: "over its line",
  warning: "over a threshold",
  under: "below all thresholds",
  suspect: "above the window size, which is probably wrong",
  unknown: "no known line",
};

export function Load({ agent, state, silent }: { agent: FleetAgent; state: LevelState; silent: boolean }) {
  if (agent.load === null || agent.line === null)
    return <span title="This agent has no known line">{NONE}</span>;
  const colour = silent || state === "suspect" ? "text-muted" : LOAD_COLOURS[state];
  return (
    <>
      <span data-testid="load" className={cn("inline-flex items-center justify-end gap-1", colour)}>
        {!silent && state === "danger" && <OctagonAlert aria-hidden className="size-3.5" />}
        {!silent && state === "over" && <TriangleAlert aria-hidden className="size-3.5" />}
        {/* Not among the tab stops of a long table: the page of the session has the same link. */}
        <Link
          href={adjustHref(agent.harness)}
          tabIndex={-1}
          title="Adjust this line"
          className="relative z-10 underline-offset-2 hover:underline"
        >
          {loadPercent(agent.load)}
        </Link>
        <span className="sr-only">, {STATE_WORDS[state]}</span>
      </span>
      <span
        data-testid="line"
        title={lineNoteTitle(agent)}
        className="block text-xs font-normal text-faint wrap-anywhere @max-[600px]:hidden"
      >
        {lineName(agent.line)} · {lineSourceName(agent.line)}
        {lineNote(agent)}
      </span>
    </>
  );
}

function lineNoteTitle(agent: FleetAgent): string {
  const title = lineTitle(agent.line!);
  return lineNote(agent) === "" ? title : `${title} The window size is ${sourceText(agent.window_source)}.`;
}

const LOAD_COLOURS: Readonly<Partial<Record<LevelState, string>>> = {
  danger: "text-hard",
  over: "text-line",
  warning: "text-warn-ink",
};

export function Tokens({ agent, silent }: { agent: FleetAgent; silent: boolean }) {
  const after = agent.after_boundary;
  return (
    <>
      <span
        data-testid="context-tokens"
        className={cn("font-semibold", silent && "text-muted")}
        title={agent.context_tokens === null ? undefined : `${exact(agent.context_tokens)} tokens`}
      >
        {agent.context_tokens === null ? "not counted" : compact(agent.context_tokens)}
      </span>
      {agent.line !== null && (
        <span
          className="relative z-10 text-xs text-faint @max-[600px]:ml-1 @min-[600px]:block"
          title={lineTitle(agent.line)}
        >
          of {compact(agent.line.tokens)}
        </span>
      )}
      {agent.window_tokens === null && (
        <span className="block text-xs text-faint">
          size unknown:{" "}
          <Link
            href={`/setup${agent.model === null ? "" : `?model=${encodeURIComponent(agent.model)}`}#windows`}
            className="relative z-10 text-accent underline underline-offset-2 whitespace-nowrap"
          >
            set it
          </Link>
        </span>
      )}
      {agent.window_suspect && (
        <Note>
          <CircleHelp aria-hidden className="size-3" />
          <Term word="suspect" className="relative z-10">
            window suspect
          </Term>
        </Note>
      )}
      {agent.uncounted_turns > 0 && (
        <Note title="The latest turns have no token count, so the level is from an earlier turn.">
          {plural(agent.uncounted_turns, "uncounted turn")}
        </Note>
      )}
      {after !== null && (
        <Note title="A boundary followed the latest turn; the next turn confirms the new level.">
          {after.tokens === null ? "fell, not confirmed" : `now about ${compact(after.tokens)}`}
        </Note>
      )}
    </>
  );
}

function Note({ title, children }: { title?: string; children: ReactNode }) {
  return (
    <span title={title} className="flex items-center justify-end gap-1 text-xs text-warn-ink">
      {children}
    </span>
  );
}

/** In a row that is worth a compaction: when the provider no longer has the prompt in its cache. */
export function CacheNote({ agent }: { agent: FleetAgent }) {
  const minute = useMinute();
  const text = shortCacheText(agent, minute);
  if (text === undefined) return null;
  return (
    <span
      data-testid="cache-note"
      title={`${cacheText(agent, minute)}. ${exact(agent.cache!.tokens)} tokens of the prompt were in the provider's cache.`}
      className="text-xs text-faint @max-[600px]:block @min-[940px]:block @min-[600px]:@max-[940px]:before:content-['·_']"
    >
      {text}
    </span>
  );
}

/** Smaller differences between clocks are not worth a note. An event comes late for many reasons, and early for this one alone. */
const BEHIND_NOTE_MS = 5 * 60_000;
const AHEAD_NOTE_MS = 60_000;

export function WrongClock({ agent: { active_at, last_at } }: { agent: FleetAgent }) {
  const behind = Date.parse(active_at) - Date.parse(last_at);
  const word = behind >= BEHIND_NOTE_MS ? "behind" : -behind >= AHEAD_NOTE_MS ? "ahead" : undefined;
  if (word === undefined) return null;
  const of = word === "ahead" ? "ahead of" : word;
  return (
    <Note
      title={`The events of this harness have times ${of} the server's clock. Set the clock of its machine.`}
    >
      clock {word}
    </Note>
  );
}
