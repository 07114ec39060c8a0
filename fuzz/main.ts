// Sends mutated inputs to a server and to the readers of recordings. See CONTRIBUTING.md.
import { parseArgs } from "node:util";
import { bodyInputs } from "./bodies.ts";
import { inputOf, KeptRequest, readCorpus, TARGETS, type Target } from "./corpus.ts";
import { eventMaker, hintsAt } from "./events.ts";
import { fuzzServer } from "./http-target.ts";
import { queryInputs } from "./queries.ts";
import { Random } from "./random.ts";
import { fuzzRecordings } from "./recordings-target.ts";
import { failed, reportText, type TargetReport } from "./report.ts";
import { caughtUp, type ServerUnderTest, sessionIds, startServer } from "./server-under-test.ts";
import { telemetryInputs } from "./telemetry.ts";

const USAGE = `npm run fuzz -- --minutes N [--seed S] [--target ${TARGETS.join("|")}]
  --minutes   how long to run; shared equally by the targets
  --seed      makes the same inputs again; the time of day is part of no input
  --target    one target instead of all`;

const note = (text: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: { minutes: { type: "string" }, seed: { type: "string" }, target: { type: "string" } },
  });
  const minutes = Number(values.minutes);
  const seed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed);
  const targets = values.target === undefined ? TARGETS : TARGETS.filter((name) => name === values.target);
  if (!(minutes > 0) || !Number.isInteger(seed) || targets.length === 0) throw new Error(USAGE);
  return { duration: (minutes * 60_000) / targets.length, seed, targets };
}

const MAKERS = { bodies: bodyInputs, telemetry: telemetryInputs };

async function runOnServer(
  under: ServerUnderTest,
  target: Exclude<Target, "recordings">,
  options: { seed: number; duration: number },
): Promise<TargetReport> {
  // Events are near today's midnight, so that a seed gives the same inputs all day.
  const now = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  const kept = readCorpus(target, KeptRequest).map(([, request]) => inputOf(request));
  const { seed } = options;
  if (target !== "queries") {
    const inputs = MAKERS[target](seed, now, kept);
    return fuzzServer(under, { ...options, target, note, inputs });
  }
  await storeEvents(under, seed, now);
  const ids = await sessionIds(under.server, now);
  return fuzzServer(under, { ...options, target, note, inputs: queryInputs(seed, now, ids, kept) });
}

/** Gives queries something to find. */
async function storeEvents({ server }: ServerUnderTest, seed: number, now: number): Promise<void> {
  const event = eventMaker(seed, hintsAt(now));
  const events = Array.from({ length: 5_000 }, (_, index) => event(new Random(seed, index)));
  const { status, text } = await server.send(events);
  if (status !== 200) throw new Error(`The events to query were refused: ${status} ${text.slice(0, 300)}`);
  await caughtUp(server);
}

async function main(): Promise<void> {
  const { targets, ...options } = readOptions();
  const reports: TargetReport[] = [];
  for (const target of targets) {
    if (target === "recordings") {
      reports.push(await fuzzRecordings({ ...options, note }));
      continue;
    }
    // A server of its own, so that memory is measured from an empty start.
    const under = await startServer();
    try {
      reports.push(await runOnServer(under, target, options));
    } finally {
      await under.stop();
    }
  }
  console.log(reportText(reports));
  if (reports.some(failed)) process.exitCode = 1;
}

await main().catch((error: unknown) => {
  console.error(error instanceof Error && !error.message.startsWith("npm run") ? error.stack : String(error));
  process.exitCode = 1;
});
