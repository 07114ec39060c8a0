import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { contextTokens, isAtLine } from "@plimsoll/fold";
import { createReader, FORMATS } from "@plimsoll/harnesses/recordings";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { parseEvent } from "@plimsoll/protocol/events";
import { z } from "zod";
import { tailOf } from "../statusline/recording-tail.ts";
import { writeRecordFile } from "./journal.ts";

/** A line that a harness showed. Tokens, and epoch ms of the change that it followed. */
const Shown = z.object({ line: z.number(), since: z.number() });
const FILE = "shown.json";

/**
 * Whether the recordings of a harness show that it compacts at its line: one compaction near it, later than the change. What was
 * shown once is remembered.
 * @param line tokens
 * @param since epoch ms of the change
 * @param folder of the record of the bridge
 */
export async function hasShownLine(
  family: string,
  recordings: readonly string[],
  { line, since, folder }: z.infer<typeof Shown> & { folder: string },
): Promise<boolean> {
  const known = await readFile(join(folder, FILE), "utf8").catch(() => "null");
  const shown = Shown.safeParse(parsed(known)).data;
  if (shown?.line === line && shown.since === since) return true;
  const isShown = recordings.some((path) =>
    compactionsIn(family, path).some(({ at, level }) => at > since && isAtLine(level, line)),
  );
  if (isShown) await writeRecordFile(folder, FILE, { line, since });
  return isShown;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** When a harness compacted by itself, and at which level, in the end of a recording. */
function compactionsIn(family: string, path: string): { at: number; level: number }[] {
  const format = FORMATS.find((one) => one === family || (one === "kimi" && family === "kimi-code"));
  if (format === undefined) return [];
  const reader = createReader(format, { harness: family, titles: false });
  for (const line of tailOf(path).split("\n")) if (line !== "") reader.read(line, { path });
  const events = reader.take(true).events.toSorted((a, b) => timeOf(a) - timeOf(b));
  const levels = new Map<string, number>();
  return events.flatMap((event) => {
    const agent = `${event.session}/${event.agent ?? "main"}`;
    if (event.type === "turn" && event.purpose !== "compaction") {
      const level = levelOf(event);
      if (level !== undefined) levels.set(agent, level);
    }
    if (event.type !== "compacted" || event.trigger === "manual") return [];
    // Some harnesses count the messages alone, so the call before says more.
    const level = levels.get(agent) ?? event.tokens_before;
    return level == null ? [] : [{ at: timeOf(event), level }];
  });
}

const timeOf = ({ at }: PlimsollEventInput) => Number(new Date(at));

function levelOf(event: PlimsollEventInput): number | undefined {
  const read = parseEvent(event);
  return read.ok && read.event.type === "turn" && read.event.usage !== undefined
    ? contextTokens(read.event.usage)
    : undefined;
}
