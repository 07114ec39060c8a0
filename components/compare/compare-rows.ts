import type { SessionSummary } from "@plimsoll/protocol/api";
import { compact, duration, exact, loadPercent, NONE, percent, signed } from "../format.ts";
import { BOUNDARY_COUNTS, boundaryName } from "../words.ts";

export interface CompareRow {
  name: string;
  a: string;
  b: string;
  /** The second minus the first; empty for what is no number, or unknown. */
  change: string;
}

type Number = (session: SessionSummary) => number | null;

/** The facts of two sessions side by side. */
export function compareRows(a: SessionSummary, b: SessionSummary): CompareRow[] {
  const text = (name: string, of: (session: SessionSummary) => string | null): CompareRow => ({
    name,
    a: of(a) ?? NONE,
    b: of(b) ?? NONE,
    change: "",
  });
  const number = (name: string, of: Number, format: (value: number) => string = exact): CompareRow => {
    const [first, second] = [of(a), of(b)];
    return {
      name,
      a: first === null ? NONE : format(first),
      b: second === null ? NONE : format(second),
      change: first === null || second === null ? "" : signed(second - first, signedFormat(format)),
    };
  };
  const falls = BOUNDARY_COUNTS.filter(([, field]) => a[field] + b[field] > 0);
  return [
    text("Harness", ({ harness }) => harness),
    text("Model", ({ model }) => model),
    text("Status", ({ status }) => status),
    number("Duration", ({ first_at, last_at }) => Date.parse(last_at) - Date.parse(first_at), duration),
    number("Turns", ({ turns }) => turns),
    number("Agents", ({ agents }) => agents),
    number("Windows", ({ windows }) => windows),
    number("Current tokens", ({ context_tokens }) => context_tokens, compact),
    number("Current load", ({ load }) => load, loadPercent),
    number("Peak tokens", ({ peak_tokens }) => peak_tokens, compact),
    number("Peak share of window", ({ peak_utilization }) => peak_utilization, percent),
    number("Warnings", ({ warnings }) => warnings),
    ...falls.map(([type, field]) => number(`Falls: ${boundaryName(type)}`, (session) => session[field])),
    number("Tokens freed", ({ reclaimed_tokens }) => reclaimed_tokens, compact),
  ];
}

/** Durations have no negative form of their own. */
const signedFormat = (format: (value: number) => string) => (value: number) =>
  value < 0 ? `−${format(-value)}` : format(value);
