/** @jsxImportSource #jsx */
import { THRESHOLD_NAMES, type Thresholds, thresholdText, thresholdTokens } from "@plimsoll/protocol/pure";
import { THRESHOLD_COLOURS } from "../charts/threshold-lines.ts";
import { compact, exact, percent } from "../format.ts";

interface Props {
  thresholds: Thresholds;
  /** Tokens. */
  window: number;
}

/** The thresholds as marks on a window. The zones behind the marks are coloured. */
export function LoadLine({ thresholds, window }: Props) {
  const marks = THRESHOLD_NAMES.flatMap((name) => {
    const tokens = thresholdTokens(name, thresholds[name], window);
    return tokens === undefined ? [] : [{ name, tokens, share: Math.min(1, tokens / window) }];
  }).sort((one, other) => one.tokens - other.tokens);
  const text =
    marks.length === 0
      ? "No threshold is set."
      : marks.map(({ name, tokens }) => `${name} at ${exact(tokens)} tokens`).join(", ");
  return (
    <figure aria-label={`Thresholds in a window of ${exact(window)} tokens. ${text}`} data-testid="load-line">
      <div className="relative mt-1 h-9 overflow-hidden rounded-md border border-rule bg-track" aria-hidden>
        <div
          className="absolute inset-y-0 left-0 bg-water/35"
          style={{ width: `${(marks[0]?.share ?? 1) * 100}%` }}
        />
        {marks.map(({ name, share }, index) => (
          <div
            key={name}
            className="absolute inset-y-0 border-l-2"
            style={{
              left: `${share * 100}%`,
              right: `${(1 - (marks[index + 1]?.share ?? 1)) * 100}%`,
              borderColor: THRESHOLD_COLOURS[name],
              background: `color-mix(in srgb, ${THRESHOLD_COLOURS[name]} ${12 + 10 * index}%, transparent)`,
            }}
          />
        ))}
      </div>
      <div className="mt-1 flex justify-between text-xs text-faint" aria-hidden>
        <span>0</span>
        <span>{compact(window)} tokens</span>
      </div>
      {marks.length === 0 ? (
        <p className="mt-2 text-[13px] text-muted">{text}</p>
      ) : (
        <ul className="mt-2 flex flex-wrap gap-x-5 gap-y-1 text-[13px]" aria-hidden>
          {marks.map(({ name, tokens, share }) => (
            <li key={name} className="flex items-center gap-1.5">
              <span className="h-3 w-0.5" style={{ background: THRESHOLD_COLOURS[name] }} />
              <span className="text-muted">{name}</span>
              <span className="font-medium">{compact(tokens)}</span>
              <span className="text-faint">
                {percent(share)}
                {typeof thresholds[name] === "object" && ` (${thresholdText(thresholds[name])})`}
              </span>
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}
