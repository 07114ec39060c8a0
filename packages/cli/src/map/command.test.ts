import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionPage, UnmappedTelemetryList } from "@plimsoll/protocol/api";
import type { RecordMapping } from "@plimsoll/protocol/mapping";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../../guard/src/testing/until.ts";
import { createProgram } from "../program.ts";
import type { Terminal } from "../terminal.ts";
import { type Plimsoll, startPlimsoll } from "../testing/real-server.ts";

const AT = Math.floor(Date.now() / 1_000) * 1_000 - 600_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plimsoll-map-"));
});
afterEach(async () => {
  process.exitCode = undefined;
  await rm(folder, { recursive: true, force: true });
});

let env: Record<string, string> = {};

/** Runs the command line. Returns standard output and standard error. */
async function run(...args: string[]): Promise<{ out: string; err: string }> {
  const said = { out: "", err: "" };
  const terminal = (name: "out" | "err"): Terminal => ({
    width: 100,
    isTty: false,
    color: false,
    write: (text) => {
      said[name] += text;
    },
  });
  const program = createProgram({
    env,
    out: terminal("out"),
    err: terminal("err"),
    now: () => Date.now(),
    untilStopped: () => new AbortController().signal,
  });
  await program.parseAsync(["node", "plimsoll", ...args]);
  return said;
}
const failure = (...args: string[]): Promise<{ message: string; hint?: string }> =>
  run(...args).then(
    () => expect.fail("it did not fail"),
    (error) => error as { message: string; hint?: string },
  );

const write = async (name: string, ...lines: unknown[]) => {
  const path = join(folder, name);
  await writeFile(
    path,
    lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"),
  );
  return path;
};
const call = (n: number) => ({
  type: "call",
  conversation_id: "s1",
  response_id: `r${n}`,
  timestamp: new Date(AT + n * 1_000).toISOString(),
  usage: { input_tokens: 100 * n, output_tokens: 5 },
});

describe("plimsoll map propose --file", () => {
  it("prints a mapping, and what it would yield", async () => {
    const path = await write("today.jsonl", { type: "log" }, call(1), call(2));
    const { out, err } = await run("map", "propose", "--file", path);
    expect(JSON.parse(out)).toMatchObject({
      name: "today",
      session: "$.conversation_id",
      id: "$.response_id",
    });
    expect(err).toContain("2 turns in the first 3 records");
    expect(err).toMatch(/s1 +main +\d{4}-.*Z +unknown +100 +- +- +5 +-/);
    expect(err).toContain("npx plimsoll import <path> --map today.json");
    const json = JSON.parse((await run("map", "propose", "--file", path, "--json")).out);
    expect(json).toMatchObject({ mapping: { name: "today" }, preview: { turns: 2, records: 3 } });
  });

  it("writes a file that import reads, and replaces none without --force", async () => {
    const path = await write("today.jsonl", call(1), call(2));
    const mapping = join(folder, "mapping.json");
    await run("map", "propose", "--file", path, "--name", "house", "--output", mapping);
    expect(JSON.parse(await readFile(mapping, "utf8"))).toMatchObject({ version: 1, name: "house" });
    expect((await failure("map", "propose", "--file", path, "-o", mapping)).message).toContain(
      "already exists",
    );
    await run("map", "propose", "--file", path, "-o", mapping, "--force");
    const { out } = await run("import", path, "--map", mapping, "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ files: { mapped: 1 }, sessions: 1, events: 4 });
  });

  it.each([
    ["no counts", ['{"prompt":"a text"}'], "No name in"],
    ["no JSON", ["a line"], "No name in"],
    ["nothing", [], "No name in"],
  ])("fails for a file with %s", async (_, lines, message) => {
    const path = await write("other.jsonl", ...lines);
    expect((await failure("map", "propose", "--file", path)).message).toContain(message);
  });

  it.each([
    ["a record with one field", ['{"prompt_tokens":5}'], [], "match.file: must name at least two fields"],
    ["a name that no mapping may have", [call(1)], ["--name", "Two words"], "name: must have 1 to 64"],
  ])("writes nothing for %s", async (_, lines, flags, mistake) => {
    const path = await write("other.jsonl", ...lines);
    const output = join(folder, "mapping.json");
    const error = await failure("map", "propose", "--file", path, "-o", output, ...flags);
    expect(error.hint).toContain(mistake);
    await expect(readFile(output)).rejects.toThrow("ENOENT");
  });

  it("fails for a missing file, and without a source", async () => {
    expect((await failure("map", "propose", "--file", join(folder, "no"))).message).toContain(
      "cannot be read",
    );
    expect((await failure("map", "propose")).message).toBe("Name a source or give --file.");
  });
});

describe("a mapping file", () => {
  const mapping = { version: 1, name: "m", match: { otlp: { scope: "s" } }, usage: { input: "$.n" } };

  it.each([
    ["{", "is not JSON", undefined],
    [{ ...mapping, usage: { input: "n" } }, "is no mapping", 'usage.input: "n" does not start with $'],
    [mapping, "cannot be used here", "It has no match.file"],
  ])("%j %s", async (document, message, hint) => {
    const path = await write("mapping.json", document);
    const error = await failure("import", folder, "--map", path, "--dry-run");
    expect(error.message).toContain(message);
    if (hint !== undefined) expect(error.hint).toContain(hint);
  });

  it("leaves files of a known format to the format", async () => {
    const known = {
      ...call(1),
      type: "assistant",
      uuid: "u1",
      sessionId: "11111111-1111-4111-8111-111111111111",
      message: { id: "m1", model: "claude-opus-5", content: [], usage: { input_tokens: 7 } },
    };
    const path = await write("known.jsonl", call(1), known);
    const match = { file: [{ path: "$.usage.input_tokens" }, { path: "$.response_id" }] };
    const file = await write("mapping.json", { ...mapping, match, usage: { input: "$.usage.input_tokens" } });
    const { out } = await run("import", path, "--map", file, "--dry-run", "--json");
    expect(JSON.parse(out)).toMatchObject({ files: { "claude-code": 1 } });
  });
});

describe("plimsoll map with a server", () => {
  let plimsoll: Plimsoll;
  beforeAll(async () => {
    plimsoll = await startPlimsoll();
    env = { PLIMSOLL_URL: plimsoll.url, PLIMSOLL_HOME: plimsoll.home };
  });
  afterAll(() => plimsoll?.stop());

  it("maps a source, and counts a record once whether it comes as OpenTelemetry or in a file", async () => {
    const { out: key } = await run("key", "create", "--scope", "ingest", "--quiet");
    const attributes = {
      "house.thread_id": "s1",
      "house.response_id": "r1",
      "house.input_tokens": 1_200,
      "house.model": "m1",
    };
    const send = (spanId: string, values: Record<string, string | number>) =>
      fetch(`${plimsoll.url}/otlp/v1/traces`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key.trim() },
        body: JSON.stringify({
          resourceSpans: [
            {
              resource: { attributes: [{ key: "plimsoll.harness", value: { stringValue: "house@here" } }] },
              scopeSpans: [
                {
                  scope: { name: "house.tracer" },
                  spans: [
                    {
                      traceId: "0af7651916cd43dd8448eb211c80319c",
                      spanId,
                      name: "call",
                      endTimeUnixNano: `${AT}000000`,
                      attributes: Object.entries(values).map(([key, value]) => ({
                        key,
                        value:
                          typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
                      })),
                    },
                  ],
                },
              ],
            },
          ],
        }),
      });
    expect((await send("b7ad6b7169203331", attributes)).status).toBe(200);
    const sources = async () =>
      (JSON.parse((await run("map", "--json")).out) as UnmappedTelemetryList).sources;
    await until(async () => (await sources()).length === 1);
    expect((await run("map")).out).toMatch(
      /^traces\/\/house\.tracer\n {2}1 record, .*, not mapped\n {2}house\.input_tokens, /,
    );

    const file = join(folder, "house.json");
    const { err } = await run("map", "propose", "house.tracer", "--name", "house", "-o", file);
    expect(err).toContain(`npx plimsoll map apply ${file}`);
    await run("map", "apply", file);
    expect((await run("map", "list")).out).toMatch(/\nhouse +traces, scope house\.tracer/);
    expect(await sources()).toMatchObject([{ mapped_by: "house" }]);
    expect((await send("b7ad6b7169203331", attributes)).status).toBe(200);

    // The same record in a file, read by the same document.
    const mapping = JSON.parse(await readFile(file, "utf8")) as RecordMapping;
    const fields = [{ path: "$.attributes['house.input_tokens']" }, { path: "$.span_id" }];
    const both = await write("both.json", {
      ...mapping,
      match: { ...mapping.match, file: fields },
      time: { path: "$.at", unit: "ms" },
    });
    await run("map", "apply", both);
    const recording = await write("spans.jsonl", { span_id: "b7ad6b7169203331", at: AT, attributes });
    const { out } = await run("import", recording, "--map", both, "--harness", "house@here", "--json");
    // The start and the end of the session are new, and the recording is another witness of the turn.
    expect(JSON.parse(out)).toMatchObject({ events: 3, sent: { accepted: 3, duplicates: 0, rejected: [] } });
    const { out: read } = await run("key", "create", "--scope", "read", "--quiet");
    const range = new URLSearchParams({
      from: new Date(AT - 60_000).toISOString(),
      to: new Date(AT + 60_000).toISOString(),
    });
    const page = await fetch(`${plimsoll.url}/api/v1/sessions?${range}`, {
      headers: { authorization: `Bearer ${read.trim()}` },
    });
    expect(((await page.json()) as SessionPage).items).toMatchObject([
      { session: "s1", harness: "house@here", turns: 1, peak_tokens: 1_200 },
    ]);

    await run("map", "remove", "house");
    expect((await run("map", "list", "--json")).out).toContain('"mappings": []');
    expect((await failure("map", "remove", "house")).message).toContain("There is no mapping of this name.");
  });
});
