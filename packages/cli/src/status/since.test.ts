import { DIGEST_KINDS, type Digest, type DigestItem, DigestQuery } from "@plimsoll/protocol/api";
import { afterEach, expect, it } from "vitest";
import { type FakeServer, startFakeServer } from "../testing/fake-server.ts";
import { runSince } from "./since.ts";

const NOW = Date.UTC(2026, 10, 27, 9);
const HOUR = 3_600_000;

let server: FakeServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const item = (kind: DigestItem["kind"], more: Partial<DigestItem> = {}): DigestItem => ({
  kind,
  times: 1,
  first_at: new Date(NOW - HOUR).toISOString(),
  last_at: new Date(NOW - HOUR).toISOString(),
  session_id: "00000000-0000-4000-8000-000000000000",
  title: "Migrate the user table",
  harness: "claude-code@mac",
  agent: null,
  tokens_before: null,
  tokens_after: null,
  text: null,
  severity: null,
  open: null,
  ...more,
});

async function printed(items: readonly DigestItem[], more: Partial<Record<string, number>> = {}) {
  const counts = Object.fromEntries(
    DIGEST_KINDS.map((kind) => {
      const own = items.filter((one) => one.kind === kind);
      return [
        kind,
        {
          times: own.reduce((sum, { times }) => sum + times, 0) + (more[kind] ?? 0),
          subjects: own.length + (more[kind] ?? 0),
        },
      ];
    }),
  ) as Digest["counts"];
  server = await startFakeServer({
    procedures: {
      digest: (input) => {
        const { from, to } = DigestQuery.parse(input);
        return { range: { from, to }, counts, items };
      },
    },
  });
  let text = "";
  await runSince(
    { url: server.url, token: undefined, tokenSource: undefined },
    { width: 100, isTty: false, color: false, write: (more) => (text += more) },
    { ms: 8 * HOUR, json: false, harness: undefined, now: NOW },
  );
  return text.split("\n");
}

it("prints a sentence and a line for each agent", async () => {
  const lines = await printed(
    [
      item("alert", { text: "Past its line", severity: "critical", open: true }),
      item("unexplained", { times: 3, tokens_before: 120_000, tokens_after: 9_000 }),
      item("past_line", { times: 2, agent: "explore", tokens_before: 190_000, tokens_after: 160_000 }),
      item("harness", { session_id: null, title: null }),
    ],
    { past_line: 5 },
  );
  expect(lines[0]).toMatch(
    /^Since .*\d\d:00: 1 alert, 3 falls without a cause, 6 agents past their line and 1 new harness\.$/,
  );
  expect(lines[3]).toContain("Past its line, still open");
  expect(lines[4]).toMatch(/Migrate the user table +3 falls without a cause, 120k to 9k +claude-code@mac$/);
  expect(lines[5]).toMatch(/Migrate the user table, explore +past its line 2 times, up to 190k/);
  expect(lines[6]).toMatch(/claude-code@mac +reported for the first time/);
  expect(lines[7]).toBe("and 5 more");
});

it("says that nothing happened", async () => {
  expect((await printed([]))[0]).toMatch(/^Since .*\d\d:00: nothing that you need to know\.$/);
});
