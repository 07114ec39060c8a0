import { clip, subjectOf } from "../view/placeholder.ts";
import type { SentPart } from "../view/sent-parts.ts";
import type { Area, Priority, Section } from "./section.ts";

/** Id of the section for what is sent beside the parts of the messages: tools, message wrapping and notices. */
const OTHERS_ID = "guard:others";
/** Id of the section for the summary or marker before the messages. */
const HEAD_ID = "guard:head";
/** A smaller change of the calibration is left out, so that sections which are being shortened stay the same. */
const TOLERANCE = 0.1;

/** What is known of a prompt beside its parts. */
export interface PromptFacts {
  /** Summary or marker before the messages, and its estimated tokens. */
  head: { text: string; tokens: number } | undefined;
  /** Expected context tokens of the whole prompt. */
  level: number;
  /** Real tokens per estimated token of a part. */
  scale: number;
}

/** Returns the `scale`. An offset of the calibration may be negative; the sections must not exceed the level. */
export const scaleOf = (slope: number, estimate: number, level: number): number =>
  estimate > 0 ? Math.min(slope, level / estimate) : slope;

/**
 * Turns the parts of a prompt into sections, whose tokens add up to the expected level. The system prompt, the user's words
 * and the newest turns are critical, tool results low, and the agent's texts and tool inputs medium. What the policy does
 * not let the guard mask is fixed.
 * @param recencyOf when the message with a print was first sent, in epoch ms, if known
 * @param before the sections of the prompt before; those that did not change are returned as the same objects
 */
export function sectionsOf(
  parts: readonly SentPart[],
  { head, level, scale }: PromptFacts,
  recencyOf: (print: number) => number | undefined,
  before: ReadonlyMap<string, Section> = new Map(),
): Section[] {
  const sections = new Map<string, Section>();
  const add = (section: Section) => {
    const same = sections.get(section.id);
    sections.set(section.id, same === undefined ? section : together(same, section));
  };
  if (head !== undefined) {
    const { text: content, tokens } = head;
    add({ id: HEAD_ID, label: "earlier turns", content, tokens: tokens * scale, priority: "critical" });
  }
  for (const part of parts) add(sectionOf(part, scale, recencyOf(part.print)));
  const known = (section: Section): Section => {
    const same = before.get(section.id);
    return same !== undefined && isUnchanged(same, section) ? same : section;
  };
  const kept = [...sections.values()].map(known);
  const rest = kept.reduce((left, { tokens }) => left - tokens, level);
  if (rest <= 0) return kept;
  return [...kept, known({ id: OTHERS_ID, label: "tools", content: "", tokens: rest, priority: "critical" })];
}

function sectionOf(part: SentPart, scale: number, recency: number | undefined): Section {
  const { id, kind, text, tokens, tool, input, newest, maskable, masked } = part;
  const subject = subjectOf(input);
  return {
    id,
    label: subject === undefined ? (tool ?? kind) : `${tool ?? kind}: ${clip(subject, 80)}`,
    content: text,
    tokens: tokens * scale,
    priority: newest ? "critical" : PRIORITIES[kind],
    area: AREAS[kind],
    stage: masked ? "stub" : "full",
    fixed: !maskable,
    ...(recency === undefined ? {} : { recency }),
  };
}

const PRIORITIES: Readonly<Record<SentPart["kind"], Priority>> = {
  system: "critical",
  user: "critical",
  assistant: "medium",
  call: "medium",
  result: "low",
};
const AREAS: Readonly<Record<SentPart["kind"], Area>> = {
  system: "system",
  user: "context",
  assistant: "context",
  call: "context",
  result: "observation",
};

/** One mask replaces every text with its mark, so equal texts of equal calls are one section. */
function together(one: Section, other: Section): Section {
  const critical = one.priority === "critical" || other.priority === "critical";
  return {
    ...one,
    tokens: one.tokens + other.tokens,
    priority: critical ? "critical" : one.priority,
    fixed: one.fixed === true || other.fixed === true,
  };
}

/** True if a section of the prompt is what it was, so that a text prepared from it may replace it. */
function isUnchanged(before: Section, now: Section): boolean {
  const tolerance = now.priority === "critical" ? 0 : TOLERANCE;
  return (
    before.content === now.content &&
    before.priority === now.priority &&
    before.fixed === now.fixed &&
    Math.abs(before.tokens - now.tokens) <= tolerance * before.tokens
  );
}

/**
 * Turns sections back into edits: the text that replaces each shortened part, by its mark.
 * @param full the same sections as they are sent now
 */
export function shortTexts(
  sections: readonly Section[],
  full: ReadonlyMap<string, Section>,
): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { id, stage, content } of sections)
    if (stage !== undefined && stage !== full.get(id)?.stage) texts.set(id, content);
  return texts;
}
