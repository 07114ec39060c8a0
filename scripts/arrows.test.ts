import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const CRUISER = join(root, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs");
const FOLDERS = ["app", "components", "examples", "packages", "server"];

/** A file, its only import, and the rules that must reject it. */
const CASES: [path: string, text: string, rules: string[]][] = [
  ["packages/protocol/src/up.ts", 'import "../../guard/src/index.ts";', ["protocol-stands-alone"]],
  [
    "packages/protocol/src/type.ts",
    'import type { S } from "../../../server/write/receive/ingest.ts";',
    ["protocol-stands-alone"],
  ],
  [
    "packages/guard/src/up.ts",
    'import "../../../server/write/receive/ingest.ts";',
    ["guard-on-protocol-only"],
  ],
  ["packages/guard/src/down.ts", 'import "@plimsoll/protocol/events"; import "../../fold/src/index.ts";', []],
  ["packages/protocol/src/fold.ts", 'import "../../fold/src/index.ts";', ["protocol-stands-alone"]],
  ["packages/fold/src/up.ts", 'import "../../guard/src/index.ts";', ["fold-on-protocol-only"]],
  ["packages/fold/src/schemas.ts", 'import "@plimsoll/protocol/events";', ["fold-without-schemas"]],
  [
    "packages/fold/src/down.ts",
    'import "@plimsoll/protocol/pure"; import type { S } from "@plimsoll/protocol/events";',
    [],
  ],
  ["packages/runtime/src/up.ts", 'import "../../cli/src/index.ts";', ["runtime-on-guard"]],
  ["packages/runtime/src/in.ts", 'import "../../guard/src/fit.ts";', ["runtime-through-exports"]],
  ["packages/runtime/src/down.ts", 'import "../../guard/src/index.ts";', []],
  ["packages/guard/src/runtime.ts", 'import "../../runtime/src/down.ts";', ["guard-on-protocol-only"]],
  ["packages/fold/src/harness.ts", 'import "../../harnesses/src/registry.ts";', ["fold-on-protocol-only"]],
  ["packages/guard/src/harness.ts", 'import "../../harnesses/src/registry.ts";', ["guard-on-protocol-only"]],
  ["packages/harnesses/src/up.ts", 'import "../../cli/src/index.ts";', ["harnesses-on-guard"]],
  [
    "packages/harnesses/src/side.ts",
    'import "../../../server/write/receive/ingest.ts";',
    ["harnesses-on-guard"],
  ],
  [
    "packages/harnesses/src/down.ts",
    'import "../../fold/src/index.ts"; import "../../guard/src/index.ts"; import "@plimsoll/protocol/events";',
    [],
  ],
  [
    "packages/harnesses/src/codex/connect.ts",
    'import "./recordings.ts"; import type { H } from "../bridge/adapter.ts"; import "../fields.ts";',
    ["harness-texts-without-readers"],
  ],
  [
    "components/setup/readers.ts",
    'import "../../packages/harnesses/src/registry.ts"; import "../../packages/harnesses/src/connect.ts";',
    ["components-without-readers"],
  ],
  ["packages/cli/src/up.ts", 'import "../../../server/write/receive/ingest.ts";', ["cli-alone"]],
  ["packages/cli/src/testing/up.ts", 'import "../../../../server/testing/database.ts";', ["cli-alone"]],
  ["packages/cli/src/testing/real-server.ts", 'import "../../../../server/testing/database.ts";', []],
  ["packages/cli/src/down.ts", 'import "../../guard/src/index.ts";', []],
  ["examples/loop/up.ts", 'import "../../server/write/receive/ingest.ts";', ["examples-from-outside"]],
  ["server/write/page.ts", 'import "../../app/page.tsx";', ["server-below-pages"]],
  ["server/write/receive/transport.ts", 'import "../../http/app.ts";', ["server/write/receive"]],
  ["examples/loop/model.ts", 'import "../../packages/guard/src/testing/model.ts";', []],
  ["packages/cli/src/model.ts", 'import "../../guard/src/testing/model.ts";', ["no-test-code-in-product"]],
  [
    "server/write/receive/down.ts",
    'import "@plimsoll/protocol/events"; import "../plan/extend-agent.ts";',
    [],
  ],
  ["server/write/plan/receive.ts", 'import "../receive/ingest.ts";', ["server/write/plan"]],
  ["server/write/plan/read.ts", 'import "../../read/fleet.ts";', ["server/write/plan"]],
  ["server/db/tables/plan.ts", 'import "../../write/plan/extend-agent.ts";', ["server/db"]],
  ["server/db/tables/down.ts", 'import "../sql.ts"; import "../../times.ts";', []],
  ["server/read/write.ts", 'import type { S } from "../write/receive/ingest.ts";', ["server/read"]],
  ["server/read/down.ts", 'import "../db/tables/turns.ts";', []],
  ["server/read/tested.test.ts", 'import "../write/receive/ingest.ts";', []],
  ["server/upkeep/down.ts", 'import "../read/fleet.ts"; import "../write/plan/extend-agent.ts";', []],
  ["server/write/project/upkeep.ts", 'import "../../upkeep/doctor/examine.ts";', ["server/write/project"]],
  ["server/times.ts", 'import "./db/sql.ts";', ["server-root"]],
  ["server/trpc/http.ts", 'import "../http/app.ts";', ["server/trpc"]],
  ["server/http/root.ts", 'import "../main.ts";', ["main-is-the-root"]],
  ["server/http/tested.ts", 'import "../testing/database.ts";', ["no-test-code-in-product"]],
  ["server/http/fuzzed.ts", 'import "../../fuzz/corpus.ts";', ["no-test-code-in-product"]],
  ["server/http/tested.test.ts", 'import "../testing/database.ts";', []],
  [
    "server/http/client.ts",
    'import "../../scripts/test-packages/node_modules/client/index.ts";',
    ["no-test-package-in-product"],
  ],
  ["server/http/client.test.ts", 'import "../../scripts/test-packages/node_modules/client/index.ts";', []],
  ["server/http/lost.ts", 'import "./nowhere.ts";', ["resolvable"]],
  ["components/value.tsx", 'import { r } from "../server/trpc/router.ts"; r;', ["components-types-only"]],
  ["components/type.tsx", 'import type { r } from "../server/trpc/router.ts";', []],
  [
    "components/inner.tsx",
    'import type { S } from "../server/write/receive/ingest.ts";',
    ["components-through-trpc"],
  ],
  ["components/page.tsx", 'import "../app/page.tsx";', ["components-below-pages"]],
  ["components/shell/page.tsx", 'import "../fleet/rows.tsx";', ["shell-below-page-components"]],
  ["components/shell/down.tsx", 'import "../live/stream.tsx"; import "../ui/button.tsx";', []],
  ["components/live/page.tsx", 'import "../session/log.tsx";', ["live-below-page-components"]],
  ["components/live/down.tsx", 'import "../ui/button.tsx";', []],
  ["components/charts/page.tsx", 'import "../sessions/list.tsx";', ["shared-below-page-components"]],
  ["components/ui/page.tsx", 'import "../setup/keys.tsx";', ["shared-below-page-components"]],
  ["components/projects/page.ts", 'import "../setup/keys.tsx";', ["shared-below-page-components"]],
  ["components/url.ts", 'import "./sessions/list.tsx";', ["shared-below-page-components"]],
  ["components/fleet/down.tsx", 'import "../shell/down.tsx"; import "../live/down.tsx";', []],
  ["app/cli.tsx", 'import "../packages/cli/src/index.ts";', ["pages-on-server-and-components"]],
  ["app/fine.tsx", 'import "../components/type.tsx"; import "../server/write/receive/ingest.ts";', []],
  ["server/read/a.ts", 'import { b } from "./b.ts"; export const a = () => b;', ["no-circular"]],
  ["server/read/b.ts", 'import { a } from "./a.ts"; export const b = () => a;', []],
];

const TARGETS = [
  "packages/protocol/src/events.ts",
  "packages/protocol/src/pure.ts",
  "packages/fold/src/index.ts",
  "packages/guard/src/index.ts",
  "packages/guard/src/fit.ts",
  "packages/guard/src/testing/model.ts",
  "packages/cli/src/index.ts",
  "packages/harnesses/src/registry.ts",
  "packages/harnesses/src/connect.ts",
  "packages/harnesses/src/fields.ts",
  "packages/harnesses/src/bridge/adapter.ts",
  "packages/harnesses/src/codex/recordings.ts",
  "server/write/receive/ingest.ts",
  "server/write/plan/extend-agent.ts",
  "server/db/sql.ts",
  "server/db/tables/turns.ts",
  "server/read/fleet.ts",
  "server/upkeep/doctor/examine.ts",
  "server/http/app.ts",
  "server/testing/database.ts",
  "server/main.ts",
  "fuzz/corpus.ts",
  "scripts/test-packages/node_modules/client/index.ts",
  "app/page.tsx",
  "components/fleet/rows.tsx",
  "components/sessions/list.tsx",
  "components/session/log.tsx",
  "components/setup/keys.tsx",
  "components/live/stream.tsx",
  "components/ui/button.tsx",
];

test("each rule rejects its forbidden import and no other import", () => {
  const folder = mkdtempSync(join(tmpdir(), "plimsoll-arrows-"));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  try {
    const paths = { "@plimsoll/protocol/*": ["./packages/protocol/src/*.ts"] };
    write(
      "tsconfig.json",
      JSON.stringify({ compilerOptions: { allowImportingTsExtensions: true, noEmit: true, paths } }),
    );
    for (const path of TARGETS) write(path, "export interface S {}");
    write("server/trpc/router.ts", "export const r = 1;");
    for (const [path, text] of CASES) write(path, text);

    const args = [CRUISER, "--config", join(root, ".dependency-cruiser.cjs"), "-T", "json", ...FOLDERS];
    const { stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1 << 26,
    });
    expect(stderr).toBe("");
    const broken = new Map(CASES.map(([path]): [string, string[]] => [path, []]));
    const { violations } = JSON.parse(stdout).summary;
    for (const { from, rule } of violations) broken.get(from)?.push(rule.name);
    expect(broken).toEqual(new Map(CASES.map(([path, , rules]) => [path, rules])));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("docs/architecture.md says what each folder of the server may import", () => {
  const { forbidden } = createRequire(import.meta.url)("../.dependency-cruiser.cjs");
  const rules = forbidden.filter(({ name }: { name: string }) => name.startsWith("server/"));
  const text = readFileSync(join(root, "docs/architecture.md"), "utf8");
  const rows = [...text.matchAll(/^\| `(server\/[^`]+)` \|.*\| ([^|]*) \|$/gm)];
  const said = rows.map(([, name, below]) => ({ name, below }));
  expect(said).toEqual(rules.map(({ name, comment }: Record<string, string>) => ({ name, below: comment })));
});
