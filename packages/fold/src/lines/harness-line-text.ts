import { compact, exact, type HarnessLineBasis, type LineVerdict } from "@plimsoll/protocol/pure";
import { isDifferent } from "../history/observed-line.ts";

/** The own line of a harness as the API states it. Tokens; null if off or unknown. */
export interface StatedLine {
  tokens: number | null;
  basis: HarnessLineBasis;
}

/** What was observed of it. */
export interface StatedObservation {
  observed: { falls: number; of: number; lowest: number; highest: number; median: number };
  verdict: LineVerdict;
}

const times = (count: number) => (count === 1 ? "once" : `${exact(count)} times`);

/** `161k–168k`, or one number if both ends read the same. */
function rangeText({ lowest, highest }: StatedObservation["observed"]): string {
  const [from, to] = [compact(lowest), compact(highest)];
  return from === to ? from : `${from}–${to}`;
}

/** A few words for a row, such as `compacts at 167k (computed)`. Empty if nothing is known. */
export function shortLineText(line: StatedLine | null, seen: StatedObservation | undefined): string {
  if (seen !== undefined) {
    const { observed, verdict } = seen;
    const near = `compacts near ${compact(observed.median)}`;
    if (verdict === "not_off") return `${near}, but is set to off`;
    if (isDifferent(verdict) && line?.tokens != null) return `${near}, not ${compact(line.tokens)}`;
    if (line?.tokens == null && (verdict === "no_line" || verdict === "too_few"))
      return `${near} (observed ${times(observed.falls)})`;
    if (verdict === "agrees" && line?.tokens != null)
      return `compacts at ${compact(line.tokens)} (observed ${exact(observed.falls)}×)`;
  }
  if (line === null || line.basis === "unknown") return "";
  if (line.tokens === null) return "does not compact (set)";
  return `compacts at ${compact(line.tokens)} (${line.basis === "computed" ? "computed" : "set"})`;
}

/** The line in a sentence, such as `Harness compacts at 167k (computed; observed 12 times, 161k–168k).` */
export function harnessLineText(line: StatedLine | null, seen: StatedObservation | undefined): string {
  const observed =
    seen === undefined ? "" : `observed ${times(seen.observed.falls)}, ${rangeText(seen.observed)}`;
  if (line?.tokens != null) {
    const known = [line.basis, observed].filter((text) => text !== "").join("; ");
    return `Harness compacts at ${compact(line.tokens)} (${known}).`;
  }
  if (line?.basis === "off")
    return observed === ""
      ? "Harness does not compact: it acknowledged that compaction is off."
      : `Harness compacts near ${compact(seen!.observed.median)} (${observed}), although it is set to off.`;
  if (seen !== undefined) return `Harness compacts near ${compact(seen.observed.median)} (${observed}).`;
  return line === null ? "" : "The line of the harness is unknown: it depends on the size of the window.";
}

/** What the observation means for the line, in a sentence or two. Empty if it adds nothing. */
export function verdictText(line: StatedLine | null, { observed, verdict }: StatedObservation): string {
  const sentences = [VERDICTS[verdict]];
  if (verdict === "earlier" || verdict === "later")
    sentences.push(`It compacts ${verdict} than its line of ${exact(line?.tokens ?? 0)} tokens says.`);
  const elsewhere = observed.of - observed.falls;
  if (elsewhere > 0)
    sentences.push(
      `${exact(elsewhere)} other ${elsewhere === 1 ? "compaction began" : "compactions began"} outside this range.`,
    );
  return sentences.filter((text) => text !== "").join(" ");
}

const VERDICTS: Readonly<Record<LineVerdict, string>> = {
  agrees: "",
  earlier: "",
  later: "",
  not_off: "The harness acknowledged that compaction is off, and still compacts.",
  scattered: "The observed compactions have no common level.",
  too_few: "Fewer than 3 observed compactions do not show whether this is right.",
  no_line: "",
};
