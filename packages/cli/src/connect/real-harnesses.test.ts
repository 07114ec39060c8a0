import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { HARNESSES } from "@plimsoll/harnesses/registry";
import type { PlimsollEventInput } from "@plimsoll/protocol/events";
import { beforeAll, describe, expect, it } from "vitest";
import { until } from "../../../guard/src/testing/until.ts";
import { runAcp } from "../acp/run-acp.ts";
import { promptAgent } from "../testing/acp-client.ts";
import { connectStage } from "../testing/connect-run.ts";
import { startDataRecorder } from "../testing/data-recorder.ts";
import {
  type HarnessTrial,
  SOURCES,
  type Source,
  type SourceFact,
  TRIALS,
} from "../testing/harness-trials.ts";
import { ASIDE, type LedgerEntry, startLedger } from "../testing/model-ledger.ts";
import { EXPORTS_SOON, harnessEnv, harnessProgram, runHarness } from "../testing/real-harness.ts";
import { type SessionWithTurns, storedSessions } from "../testing/stored-sessions.ts";
import { isInstanceOf } from "./first-event.ts";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const PROGRAM = join(PACKAGE, "bin/plimsoll.js");
const PATIENCE = 400_000;

/** What a server has of a run. */
interface Account {
  /** Agent, model and context tokens of each turn. */
  turns: string[];
  /** Context tokens of each call that wrote a summary. */
  summaries: number[];
  agents: string[];
  peak: number | null;
  compacted: number;
  unexplained: number;
  /** Levels before and after each fall. */
  falls: string[];
}

/** All sets of these sources, each in the order of arrival and in the opposite one. */
function combinations(sources: readonly Source[]): Source[][] {
  const sets: Source[][] = [];
  for (const one of sources) sets.push([one], ...sets.map((set) => [...set, one]));
  return sets.flatMap((set) => (set.length < 2 ? [set] : [set, set.toReversed()]));
}

/** What a server must have from these sources: a source that does not lack a fact is enough. */
function expectedAccount(
  ledger: readonly LedgerEntry[],
  { lacks }: HarnessTrial,
  sources: readonly Source[],
): Omit<Account, "summaries"> {
  const knows = (...facts: SourceFact[]) =>
    sources.some((source) => facts.every((fact) => lacks[source]?.[fact] === undefined));
  const turns = ledger.filter(({ agent, purpose }) => {
    if (purpose === "compaction") return knows("turns") && !knows("turns", "summary");
    return purpose === "turn" && (agent === "main" ? knows("turns") : knows("turns", "sub_agent"));
  });
  const levels = ledger.flatMap(({ agent, purpose, tokens }) => {
    const isTurn = purpose === "turn" || (purpose === "compaction" && !knows("turns", "summary"));
    return agent === "main" && isTurn ? [tokens] : [];
  });
  const falls = levels.flatMap((level, index) => {
    const before = levels[index - 1] ?? 0;
    return level < before ? [`${before} -> ${level}`] : [];
  });
  const fell = falls.length > 0;
  const knowsFall = knows("turns") || knows("compaction");
  return {
    turns: turns
      .map(({ agent, model, tokens }) => {
        const isNamed = agent === "main" || knows("turns", "sub_agent", "sub_model");
        return `${agent} ${isNamed ? model : "unknown"} ${tokens}`;
      })
      .sort(),
    agents: [...new Set(["main", ...turns.map(({ agent }) => agent)])].sort(),
    peak: turns.length === 0 ? null : Math.max(...turns.map(({ tokens }) => tokens)),
    compacted: fell && knows("compaction") ? 1 : 0,
    unexplained: fell && knows("turns") && !knows("compaction") ? 1 : 0,
    falls: !knowsFall ? [] : knows("turns") ? falls : falls.map(() => "null -> null"),
  };
}

/** Some agents report to a client the prompt of a call alone, others the prompt and the answer. Tokens. */
const isShownLevel = (level: number, ledger: readonly LedgerEntry[]) =>
  ledger.some(({ tokens, agent }) => agent === "main" && level >= tokens && level <= tokens + LONGEST_ANSWER);
const LONGEST_ANSWER = 60;

function accountOf(sessions: readonly SessionWithTurns[]): Account {
  const [session, ...others] = sessions;
  expect(others.map(({ session }) => session)).toEqual([]);
  // A harness has agents beside the conversation, which only some sources report.
  const beside = new Set(
    session?.turns.flatMap(({ agent, context_tokens }) =>
      context_tokens === ASIDE && agent !== "main" ? [agent] : [],
    ),
  );
  const turns = (session?.turns ?? []).filter(({ agent }) => !beside.has(agent));
  const agents = (session?.agents ?? []).filter(({ name }) => !beside.has(name));
  const nameOf = (agent: string) => (agent === "main" ? "main" : "sub");
  for (const { name, parent } of agents) expect(parent, name).toBe(name === "main" ? null : "main");
  return {
    turns: turns
      .filter(({ compaction }) => !compaction)
      .map(({ agent, model, context_tokens }) => `${nameOf(agent)} ${model} ${context_tokens}`)
      .sort(),
    summaries: turns.filter(({ compaction }) => compaction).map((turn) => turn.context_tokens ?? 0),
    agents: agents.map(({ name }) => nameOf(name)).sort(),
    peak: session?.peak_tokens ?? null,
    compacted: session?.compacted ?? 0,
    unexplained: session?.unexplained ?? 0,
    falls: (session?.boundaries ?? []).flatMap(({ explains_fall, agent, tokens_before, tokens_after }) =>
      explains_fall && agent === "main" ? [`${tokens_before} -> ${tokens_after}`] : [],
    ),
  };
}

const SOURCE_NAMES: Readonly<Record<Source, string>> = {
  otlp: "telemetry",
  hook: "hooks",
  acp: "Agent Client Protocol",
  transcript: "recording",
};
const FACT_NAMES: Readonly<Record<SourceFact, string>> = {
  turns: "calls",
  sub_agent: "sub-agents",
  sub_model: "models of sub-agents",
  compaction: "compactions",
  summary: "which call wrote a summary",
};

it("lists what each source tells in docs/connect.md", async () => {
  const path = fileURLToPath(new URL("../../../../docs/connect.md", import.meta.url));
  const page = await readFile(path, "utf8");
  const rows = TRIALS.flatMap(({ family, sources, lacks }) => {
    const all = SOURCES.filter((one) => [...sources("prompts"), ...sources("acp")].includes(one));
    return all.map((source) => {
      const missing = Object.entries(lacks[source] ?? {}) as [SourceFact, string][];
      const facts = missing.map(([fact]) => FACT_NAMES[fact]).join(", ") || "nothing";
      const why = [...new Set(missing.map(([, reason]) => reason))].join(" ");
      return `| ${HARNESSES[family].name} | ${SOURCE_NAMES[source]} | ${facts} | ${why} |\n`.replaceAll(
        "|  |",
        "| |",
      );
    });
  });
  const head = "| harness | source | alone, it tells all but | why |\n|---|---|---|---|\n";
  const [before, after] = page.split(head) as [string, string];
  const table = [...new Set(rows)].join("");
  // With `vitest -u`, this writes the rows.
  await expect(
    `${before}${head}${table}${after.slice(after.search(/^\n/m)).replace(/^\n+/, "\n")}`,
  ).toMatchFileSnapshot(path);
});

describe("the numbers of a real harness agree with the ledger of its model", () => {
  const stage = connectStage();

  // A hook of the harness starts the built program.
  beforeAll(async () => {
    if (!TRIALS.some(({ program }) => harnessProgram(program))) return;
    await promisify(execFile)("npm", ["run", "--silent", "build"], { cwd: PACKAGE });
  }, PATIENCE);

  async function compare(trial: HarnessTrial, way: "prompts" | "acp") {
    const { family, files, longExports, env, first, again, recordings } = trial;
    const { person, server } = stage;
    const recorder = await startDataRecorder(server.url);
    const ledger = await startLedger(trial);
    const levels: PlimsollEventInput[] = [];
    let output = "";
    try {
      for (const [name, text] of Object.entries({ ...files?.(ledger.url), ...longExports }))
        await person.write(name, text);
      await mkdir(person.path("project"));
      const run = (command: readonly [string, ...string[]], more: Record<string, string> = {}) => ({
        home: person.home,
        cwd: person.path("project"),
        env: { ...EXPORTS_SOON, ...env?.(ledger.url), ...more },
        limit: 120_000,
        command,
      });
      const start = async (...args: Parameters<typeof run>) => {
        const { command, ...options } = run(...args);
        output += await runHarness(command, options);
      };
      if (trial.connects !== false) {
        const key = await person.run(["key", "create", "--scope", "admin", "--quiet"]);
        await start([process.execPath, PROGRAM, "connect", family, "--yes", "--no-wait"], {
          SHELL: "/bin/bash",
          PLIMSOLL_HOME: join(person.home, ".plimsoll"),
          PLIMSOLL_URL: recorder.url,
          PLIMSOLL_KEY: key.trim(),
        });
      }
      for (const command of trial.prepare?.(ledger.url) ?? []) await start(["bash", "-ic", command]);
      // An interactive shell reads the start file with the function of connect.
      if (way === "prompts")
        for (const command of [first.command, ...again]) {
          ledger.begin();
          await start(["bash", "-ic", command]);
        }
      else {
        const input = new PassThrough();
        const agent = new PassThrough();
        const clean = Object.entries(harnessEnv(run(["true"]))).map(([name, value]) => `${name}=${value}`);
        const reporter = {
          record: (event: PlimsollEventInput) => void levels.push(event),
          close: async () => {},
        };
        const ended = runAcp(["env", "-i", ...clean, "bash", "-ic", trial.acp!], {
          input,
          output: agent,
          reporter,
          harness: undefined,
          asksForCompactions: true,
          now: Date.now,
        });
        const options = { cwd: person.path("project"), prompts: [trial.prompt, "Again"] };
        await promptAgent(input, agent, {
          ...options,
          onUpdate: (update) => (output += JSON.stringify(update)),
          // Its turn of the sub-agent's result has the highest level.
          afterAnswer: () =>
            until(
              () =>
                !first.calls("").includes(undefined) ||
                levels.some((event) => event.type === "turn" && event.usage.input_tokens! >= trial.high),
            ),
        });
        input.end();
        await ended;
      }
      // Hooks report in the background.
      const sent = { otlp: recorder.telemetry, hook: recorder.events };
      await until(
        () =>
          (["otlp", "hook"] as const).every(
            (one) => !trial.sources(way).includes(one) || sent[one].length > 0,
          ),
        20_000,
      ).catch(() => {});
      await trial.clean?.(person.home);
      expect(ledger.entries.filter(({ agent }) => agent === "main").length, output).toBeGreaterThan(1);
      output += `\n${ledger.entries.map((entry) => Object.values(entry).join(" ")).join("\n")}`;

      const sources: Record<Source, (key: string) => Promise<void>> = {
        otlp: (key) => send(recorder.telemetry, key),
        hook: (key) => send(recorder.events, key),
        acp: (key) =>
          send(
            [
              {
                path: "/api/v1/events",
                headers: { "content-type": "application/x-ndjson" },
                body: Buffer.from(levels.map((event) => `${JSON.stringify(event)}\n`).join("")),
              },
            ],
            key,
          ),
        transcript: async (key) => {
          output += await person.run(["import", person.path(recordings), "--key", key]);
        },
      };
      const send = async (requests: typeof recorder.telemetry, key: string) => {
        for (const { path, headers, body } of requests) {
          const answer = await fetch(server.url + path, {
            method: "POST",
            headers: { ...headers, authorization: `Bearer ${key}` },
            body: new Uint8Array(body),
          });
          expect(answer.status, await answer.text()).toBe(200);
        }
      };
      const here: Source[] = [
        ...(recorder.telemetry.length > 0 ? ["otlp" as const] : []),
        ...(recorder.events.length > 0 ? ["hook" as const] : []),
        ...(levels.length > 0 ? ["acp" as const] : []),
        "transcript",
      ];
      expect(here, output).toEqual(trial.sources(way));
      const found: Record<string, unknown> = {};
      const wanted: Record<string, unknown> = {};
      for (const [index, set] of combinations(here).entries()) {
        const project = `${family}-${index}-${randomUUID()}`;
        await person.run(["project", "create", project]);
        const key = await person.run(["key", "create", "--project", project, "--scope", "ingest", "--quiet"]);
        for (const source of set) await sources[source](key.trim());
        const stored = (await storedSessions(server, project)).filter(({ harness }) =>
          isInstanceOf(harness, family, hostname()),
        );
        const { summaries, ...account } = accountOf(stored);
        if (set.every((source) => source === "acp")) {
          const shown = stored.flatMap(({ turns }) => turns.map((turn) => turn.context_tokens ?? 0));
          expect(
            shown.filter((level) => !isShownLevel(level, ledger.entries)),
            output,
          ).toEqual([]);
          continue;
        }
        found[set.join(", then ")] = account;
        wanted[set.join(", then ")] = expectedAccount(ledger.entries, trial, set);
        const written = ledger.entries.flatMap(({ purpose, tokens }) =>
          purpose === "compaction" ? [tokens] : [],
        );
        expect(written, output).toEqual(expect.arrayContaining(summaries));
      }
      expect(found, output).toEqual(wanted);
    } finally {
      await ledger.close();
      await recorder.close();
    }
  }

  for (const trial of TRIALS) {
    const { family, variant, program, mayLoseLast } = trial;
    const name = [family, variant].filter(Boolean).join(" ");
    const isAbsent = harnessProgram(program) === undefined;
    const options = { timeout: PATIENCE, retry: mayLoseLast ? 3 : 0 };
    it.skipIf(isAbsent)(
      `${name}: from each of its sources and from all of them, if ${program} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      options,
      () => compare(trial, "prompts"),
    );
    if (trial.acp === undefined) continue;
    it.skipIf(isAbsent)(
      `${name} in an editor: the same, if ${program} is in a folder of VITEST_PLIMSOLL_HARNESSES`,
      options,
      () => compare(trial, "acp"),
    );
  }
});
