// Measures and prints; asserts nothing. `npm run bench` builds what is stale first.
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { alertCost } from "./alert-cost.ts";
import { alertPresets } from "./alert-presets.ts";
import { alertWebhook } from "./alert-webhook.ts";
import { baseline } from "./baseline.ts";
import { guardCompare } from "./guard-compare.ts";
import { guardPolicy } from "./guard-policy.ts";
import { ingest } from "./ingest.ts";
import { lateEvent } from "./late-event.ts";
import { longHistory } from "./long-history.ts";
import {
  type BenchContext,
  type BenchGroup,
  type Measurement,
  referenceOf,
  tableOf,
  withRatios,
} from "./measurement.ts";
import { otlp } from "./otlp.ts";
import { pageSpeed } from "./page-speed.ts";
import { live, memory } from "./pages.ts";
import { policyPush } from "./policy-push.ts";
import { closeAll } from "./processes.ts";
import { reads } from "./reads.ts";
import { recovery } from "./recovery.ts";
import { replayRows } from "./replay.ts";
import { start } from "./start.ts";
import { statusLine } from "./status-line.ts";
import { storageYear } from "./storage-year.ts";

const USAGE = `npm run bench [-- NAME…] [--json] [--large] [--profile FOLDER]
  NAME        a row, or the word before its dot; without a name, all rows
  --json      print one JSON object a line instead of a table
  --large     continue to 10 million turns (takes many minutes and about 5 GB of disk)
  --profile   save CPU profiles of the server under ingest and list the functions that took the time`;

/** An element of what bench/guard.ts exports. The guard is measured without a server. */
interface GuardBenchmark {
  /** Such as `guard: first reading of 2,000 messages`. */
  name: string;
  unit: string;
  run(): Promise<number> | number;
}

async function guardGroup(note: (text: string) => void): Promise<BenchGroup> {
  const file = new URL("./guard.ts", import.meta.url);
  let benchmarks: readonly GuardBenchmark[] = [];
  try {
    if (existsSync(file)) ({ benchmarks } = await import(file.href));
  } catch (error) {
    // The rows of the server can still be measured.
    note(`The rows of the guard are skipped: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
  return {
    names: ["guard", ...benchmarks.map(({ name }) => name)],
    async *run(context) {
      for (const { name, unit, run } of benchmarks) {
        if (!context.wanted(name) && !context.wanted("guard")) continue;
        context.note(`${name} ...`);
        const value = await run();
        yield { name, value: Number(value.toPrecision(3)), unit };
      }
    },
  };
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      large: { type: "boolean", default: false },
      profile: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const note = (text: string) => console.error(text);
  const groups = [
    baseline,
    ingest,
    otlp,
    recovery,
    lateEvent,
    reads,
    longHistory,
    storageYear,
    live,
    memory,
    pageSpeed,
    await guardGroup(note),
    guardCompare,
    guardPolicy,
    policyPush,
    alertPresets,
    alertCost,
    alertWebhook,
    replayRows,
    start,
    statusLine,
  ];
  const names = groups.flatMap((group) => group.names);
  const isMeant = (given: string, name: string) => name === given || name.startsWith(`${given}.`);
  const unknown = positionals.find((given) => !names.some((name) => isMeant(given, name)));
  if (unknown !== undefined)
    throw new Error(`There is no row "${unknown}". Rows: ${names.join(", ")}.\n${USAGE}`);

  const profile = values.profile === undefined ? undefined : resolve(values.profile);
  if (profile !== undefined) await mkdir(profile, { recursive: true });
  const asked = names.filter((name) => positionals.some((given) => isMeant(given, name)));
  const references = asked.map(referenceOf);
  const context: BenchContext = {
    wanted: (name) => positionals.length === 0 || asked.includes(name) || references.includes(name),
    large: values.large,
    profile,
    note,
  };

  const [load] = loadavg();
  const found: Measurement[] = [];
  for (const group of groups) {
    if (!group.names.some(context.wanted)) continue;
    try {
      for await (const plain of group.run(context)) {
        const measurement = withRatios(plain, found);
        found.push(measurement);
        if (values.json) console.log(JSON.stringify(measurement));
      }
    } catch (error) {
      // Measure the other rows nevertheless.
      console.error(`${group.names.join(", ")}: ${error instanceof Error ? error.message : error}`);
      process.exitCode = 1;
    } finally {
      await closeAll();
    }
  }
  if (values.json) return;
  console.log(`\n${tableOf(found)}\n`);
  console.log(
    `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}; load generator and database on the same machine. Its load before the start was ${load?.toFixed(1)}.`,
  );
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => void closeAll().finally(() => process.exit(130)));
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await closeAll();
}
