/** @jsxImportSource #jsx */
import type { AlertMatcher } from "@plimsoll/protocol/alerts";
import { matcherText, readMatcher } from "@plimsoll/protocol/pure";

/** Matchers as text: one on each line. */
export const matcherLines = (matchers: readonly AlertMatcher[]): string =>
  matchers.map(matcherText).join("\n");

/** The matchers of a text, and the first line that is none. */
export function readMatcherLines(text: string): { matchers: AlertMatcher[]; mistake: string | undefined } {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const mistake = lines.find((line) => readMatcher(line) === undefined);
  return { matchers: lines.flatMap((line) => readMatcher(line) ?? []), mistake };
}

interface Props {
  label: string;
  placeholder: string;
  text: string;
  onChange: (text: string) => void;
}

/** A field for matchers: `label=value` or `label!=value` on each line. */
export function MatchersField({ label, placeholder, text, onChange }: Props) {
  const { mistake } = readMatcherLines(text);
  return (
    <div>
      <label className="block text-[13px] text-muted">
        {label}
        <textarea
          value={text}
          onChange={({ target }) => onChange(target.value)}
          rows={Math.min(6, Math.max(2, text.split("\n").length))}
          spellCheck={false}
          placeholder={placeholder}
          className="mt-1 block w-full rounded-md border border-edge bg-bg p-2.5 font-mono text-xs text-ink placeholder:text-faint"
        />
      </label>
      {mistake !== undefined && (
        <p role="alert" className="mt-1 text-xs text-hard wrap-anywhere">
          “{mistake.trim()}” is no matcher. Write label=value or label!=value on each line.
        </p>
      )}
    </div>
  );
}
