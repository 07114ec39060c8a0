import type { AgentConditionType, AlertConditionOf, AlertConditionType } from "@plimsoll/protocol/alerts";
import { exact } from "@plimsoll/protocol/pure";
import type { AgentSight, Finding } from "./agent-sight.ts";

/** One input of the form of a condition. */
export type ConditionField = {
  label: string;
  /** The value of another field for which this one matters. */
  shownIf?: { field: string; is: string };
} & (
  | { kind: "number"; unit?: string }
  /** A fraction, shown in percent. */
  | { kind: "percent" }
  /** Such as `10m`. */
  | { kind: "duration" }
  | { kind: "choice"; options: readonly string[] }
);

/** All that is known of a type of condition, besides its schema. */
export interface ConditionKind<Type extends AlertConditionType> {
  /** What it watches, in a few words. */
  title: string;
  /** Such as `load at 90% of the line or more for 3 turns`. */
  phrase(condition: AlertConditionOf<Type>): string;
  /** Its form, in order. */
  fields: { readonly [Name in Exclude<keyof AlertConditionOf<Type>, "type">]-?: ConditionField };
  /** What the form begins with. */
  start: AlertConditionOf<Type>;
  /** What a person does next, in a sentence. */
  advice: string;
}

/** What to read of an agent besides its state. */
export interface SightNeeds {
  /** The number of its latest boundaries. */
  boundaries?: number;
  /** Turns since a boundary, counted from the newest. Not read if there are certainly more than `most`. */
  turnsSince?: { boundary: number; most: number };
  /** Turns of the window whose cache reads are compared. */
  cacheTurns?: number;
}

/** A type of condition about one agent. It is judged by what is known of the agent, without a read of its own. */
export interface AgentConditionKind<Type extends AgentConditionType> extends ConditionKind<Type> {
  /** Whether an alert goes on when the agent's next window begins. */
  spansWindows: boolean;
  needs?(condition: AlertConditionOf<Type>): SightNeeds;
  /**
   * Finds out whether it holds.
   * @param held whether it held before, for its hysteresis
   * @param now epoch ms
   */
  find(condition: AlertConditionOf<Type>, sight: AgentSight, held: boolean, now: number): Finding;
  /** In plain words, why it holds. */
  why(condition: AlertConditionOf<Type>, sight: AgentSight): string;
}

export const shareText = (value: number): string => `${Math.round(value * 1_000) / 10}%`;
export const forTurns = (turns: number): string => (turns === 1 ? "" : ` for ${turns} turns`);
export const counted = (count: number, word: string): string =>
  `${exact(count)} ${word}${count === 1 ? "" : "s"}`;

const UNIT_TEXT: Readonly<Record<string, string>> = { s: "s", m: "min", h: "h", d: "d" };

/** A duration of a rule as people read it: `10 min` for `10m`. Anything else is returned as it is. */
export const writtenDuration = (written: string): string =>
  written.replace(/^(\d+)([smhd])$/, (_, count: string, unit: string) => `${count} ${UNIT_TEXT[unit]}`);
