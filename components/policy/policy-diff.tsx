/** @jsxImportSource #jsx */
import type { PolicyBody } from "@plimsoll/protocol/policy";
import { diffLines } from "diff";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { policyText } from "./policy-text.ts";

const SIGNS = { added: "+", removed: "−", same: " " } as const;

interface DiffLine {
  kind: keyof typeof SIGNS;
  text: string;
}

/** The lines of two policies, as YAML. */
export function policyDiff(before: PolicyBody, after: PolicyBody): DiffLine[] {
  return diffLines(policyText(before), policyText(after)).flatMap(({ added, removed, value }) =>
    value
      .replace(/\n$/, "")
      .split("\n")
      .map((text): DiffLine => ({ kind: added ? "added" : removed ? "removed" : "same", text })),
  );
}

const LOOKS = {
  added: "bg-ok/12 text-ink",
  removed: "bg-hard/12 text-ink",
  same: "text-muted",
} as const;

/** What changes from one policy to another. */
export function PolicyDiff({
  before,
  after,
  label,
}: {
  before: PolicyBody;
  after: PolicyBody;
  label: string;
}) {
  const lines = policyDiff(before, after);
  if (lines.every(({ kind }) => kind === "same"))
    return <p className="text-[13px] text-muted">No difference.</p>;
  return (
    <ScrollRegion label={label} className="max-h-72 overflow-auto rounded-md border border-rule bg-bg">
      <table className="w-full font-mono text-xs">
        <tbody>
          {lines.map(({ kind, text }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a diff have no other identity
            <tr key={index} className={LOOKS[kind]}>
              <td className="w-6 px-2 py-px select-none">
                <span aria-hidden>{SIGNS[kind]}</span>
                {kind !== "same" && <span className="sr-only">{kind}</span>}
              </td>
              <td className="py-px pr-3 whitespace-pre">{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
