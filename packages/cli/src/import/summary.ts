import { SKIP_REASONS, SKIP_TEXT, type SkipReason } from "@plimsoll/harnesses/recordings";
import { number, plural } from "../number-format.ts";
import { printable } from "../terminal.ts";
import type { ImportSummary } from "./import.ts";
import { type Plan, WHY_TEXT } from "./plan.ts";

const SHOWN_REJECTIONS = 5;

export function summaryLines(summary: ImportSummary, plan: Plan): string[] {
  const formats = Object.entries(summary.files).map(([format, count]) => `${format} ${number(count)}`);
  const total = Object.values(summary.files).reduce((sum, count) => sum + count, 0);
  const lines = [
    `files       ${number(total)}${formats.length === 0 ? "" : ` (${formats.join(", ")})`}`,
    `sessions    ${number(summary.sessions)} with ${plural(summary.agents, "agent")}`,
    `events      ${number(summary.events)}${sentText(summary)}`,
  ];
  const rejected = summary.sent?.rejected ?? [];
  for (const { code, path, message, id } of rejected.slice(0, SHOWN_REJECTIONS)) {
    lines.push(`  rejected  ${printable(id ?? "?")}: ${code} ${path} ${printable(message)}`);
  }
  if (rejected.length > SHOWN_REJECTIONS) {
    lines.push(`  and ${number(rejected.length - SHOWN_REJECTIONS)} more`);
  }
  const reasons = SKIP_REASONS.flatMap((reason): [SkipReason, number][] => {
    const count = summary.skipped[reason];
    return count === undefined ? [] : [[reason, count]];
  });
  if (reasons.length > 0) lines.push("skipped lines");
  for (const [reason, count] of reasons) {
    lines.push(`  ${number(count).padStart(9)}  ${reason.padEnd(17)}  ${SKIP_TEXT[reason]}`);
  }
  const files = [...plan.unknown, ...summary.unreadable];
  if (files.length > 0) lines.push(`skipped ${plural(files.length, "file")}`);
  for (const { path, why } of files) lines.push(`  ${printable(path)}: ${WHY_TEXT[why]}`);
  return lines;
}

function sentText({ sent }: ImportSummary): string {
  if (sent === undefined) return " (dry run: nothing was sent)";
  return `: ${number(sent.accepted)} accepted, ${number(sent.duplicates)} already known, ${number(sent.rejected.length)} rejected`;
}
