import { Digest, type DigestItem, digestItemPhrase, digestPhrase } from "@plimsoll/protocol/api";
import { createClient } from "../client.ts";
import type { Connection } from "../connection.ts";
import { tableLines } from "../table.ts";
import { printableJson, type Terminal } from "../terminal.ts";

/**
 * Prints what happened in the last `ms` milliseconds.
 * @throws CliError if the server does not answer
 */
export async function runSince(
  connection: Connection,
  terminal: Terminal,
  options: { ms: number; json: boolean; harness: string | undefined; now: number },
): Promise<void> {
  const { ms, json, harness, now } = options;
  const range = { from: new Date(now - ms).toISOString(), to: new Date(now).toISOString() };
  const digest = await createClient(connection).query("digest", { ...range, harness }, Digest);
  terminal.write(json ? `${printableJson(digest)}\n` : `${sinceLines(digest, terminal, now).join("\n")}\n`);
}

/** @param now epoch ms */
export function sinceLines(
  { range, counts, items }: Digest,
  terminal: Pick<Terminal, "color">,
  now: number,
): string[] {
  const from = timeOf(range.from, now);
  const phrase = digestPhrase(counts);
  if (phrase === undefined) return [`Since ${from}: nothing that you need to know.`];
  const listed = new Map<string, number>();
  for (const { kind } of items) listed.set(kind, (listed.get(kind) ?? 0) + 1);
  const more = Object.entries(counts).reduce(
    (sum, [kind, { subjects }]) => sum + subjects - (listed.get(kind) ?? 0),
    0,
  );
  return [
    `Since ${from}: ${phrase}.`,
    "",
    ...tableLines(
      terminal,
      ["Last", "Who", "What", "Harness"],
      items.map((item) => ({
        cells: [timeOf(item.last_at, now), subjectOf(item), digestItemPhrase(item), item.harness ?? ""],
        warn: item.open === true,
      })),
    ),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}

const subjectOf = ({ title, agent, harness }: DigestItem) =>
  title === null ? (harness ?? "") : agent === null ? title : `${title}, ${agent}`;

/** 14:05, and the day if it is another one. */
function timeOf(text: string, now: number): string {
  const at = new Date(text);
  const time = at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return at.toDateString() === new Date(now).toDateString()
    ? time
    : `${at.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time}`;
}
