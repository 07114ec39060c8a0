import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { OF_NODE, testsReached } from "./tests-reached.mjs";

const FILES = [
  "e2e/alerts.spec.ts",
  "e2e/demo.spec.ts",
  "e2e/policies.spec.ts",
  "e2e/session.spec.ts",
  "server/alerts/rules.ts",
  "server/api-tests/alerts.test.ts",
  "server/api-tests/attacks/keys.test.ts",
  "server/api-tests/demo.test.ts",
  "server/api-tests/reading.test.ts",
  "server/api-tests/refold-kill.test.ts",
  "server/api-tests/support.ts",
  "server/db/client.ts",
];
const API_TESTS = FILES.filter((path) => path.endsWith(".test.ts"));
const STORIES = FILES.filter((path) => path.endsWith(".spec.ts"));

it.each<[change: string, apiTests: string[], stories: string[]]>([
  ["server/alerts/rules.ts", ["server/api-tests/alerts.test.ts"], ["e2e/alerts.spec.ts"]],
  ["server/policy/policies.ts", API_TESTS, ["e2e/policies.spec.ts"]],
  ["components/sessions/list.tsx", [], ["e2e/session.spec.ts"]],
  ["app/(shell)/alerts/page.tsx", [], ["e2e/alerts.spec.ts"]],
  ["server/db/client.ts", API_TESTS, STORIES],
  ["packages/protocol/src/index.ts", API_TESTS, STORIES],
  ["packages/fold/src/index.ts", API_TESTS, STORIES],
  ["packages/cli/src/import/tail.ts", [], STORIES],
  ["packages/runtime/src/loop/loop.ts", ["server/api-tests/demo.test.ts"], ["e2e/demo.spec.ts"]],
  ["examples/phantom/main.ts", ["server/api-tests/demo.test.ts"], ["e2e/demo.spec.ts"]],
  ["server/read/turns.ts", API_TESTS, STORIES],
  ["server/testing/until.ts", [], []],
  ["server/testing/launch.ts", [], STORIES],
  ["package.json", API_TESTS, STORIES],
  ["e2e/session.spec.ts", [], ["e2e/session.spec.ts"]],
  ["server/api-tests/attacks/keys.test.ts", ["server/api-tests/attacks/keys.test.ts"], []],
  ["server/alerts/rules.test.ts", [], []],
  ["docs/alerts.md", [], []],
])("a change of %s reaches the tests of its subject, or all", (change, apiTests, stories) => {
  expect(testsReached([change], FILES)).toEqual({ apiTests, stories });
});

it.each(OF_NODE)("%s, which depends on Node, has tests", (part) => {
  const root = join(import.meta.dirname, "..", dirname(part));
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).map((path) =>
    join(dirname(part), path),
  );
  expect(files.filter((path) => path.startsWith(part) && path.endsWith(".test.ts"))).not.toEqual([]);
});
