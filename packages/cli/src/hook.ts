import { existsSync, writeSync } from "node:fs";
import { textAt } from "@plimsoll/harnesses/fields";
import { startReport } from "./background-report.ts";
import { hookArguments } from "./hook/hook-arguments.ts";
import {
  compactedSession,
  type HookEvent,
  type HookReport,
  hookEvents,
  startsSession,
} from "./hook/hook-events.ts";
import { readInput } from "./read-input.ts";

// A program of its own, which loads fast: the harness waits for it. It prints only what goes back into a compacted session, and never fails.
async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const asked = hookArguments(words);
  if (asked.isForwarder) {
    const { forwardConnection } = await import("./forward/forward-connection.ts");
    await forwardConnection(asked.connection!, new AbortController().signal);
    return;
  }
  const input: unknown = JSON.parse(await readInput());
  if (asked.isReport) {
    const { reportHook } = await import("./hook/report-hook.ts");
    const { events, folder } = input as HookReport;
    await reportHook(events, asked, process.env, { folder });
  } else {
    const { connection } = asked;
    const now = Date.now();
    const events: HookEvent[] = hookEvents(asked.family, input, now, existsSync);
    const compacted = compactedSession(input);
    if (compacted !== undefined) {
      const { reinject } = await import("./reinject/reinject.ts");
      const compaction = { family: asked.family, session: compacted, input };
      const event = await reinject(compaction, process.env, now, (text) => writeSync(1, text));
      if (event !== undefined) events.push(event);
    }
    // One that runs already keeps its port, and the new one ends. It must listen before the harness exports: this program loads fast.
    if (connection !== undefined && startsSession(input))
      startReport(["hook", "--connection", connection, "--forward"], "");
    const report: HookReport = { events, folder: textAt(input, ["cwd"]) };
    if (events.length > 0) startReport([...words, "--report"], JSON.stringify(report));
  }
}

// What a hook cannot report is an unexplained fall.
main().catch(() => {});
