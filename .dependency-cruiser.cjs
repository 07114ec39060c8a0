// Which part may import which, as docs/decisions and CONTRIBUTING.md describe it:
//   protocol <- fold <- guard <- runtime <- examples
//   fold, guard <- harnesses <- cli
//   fold, guard <- server <- app; ROOMS orders the folders of the server
//   components import protocol, fold, and the settings and lines of harnesses; of the server only the router's types

/** The top of each part that stands on the others. */
const PROTOCOL = "^packages/protocol/";
const FOLD = "^packages/fold/";
const GUARD = "^packages/guard/";
const HARNESSES = "^packages/harnesses/";
const RUNTIME = "^packages/runtime/";
const CLI = "^packages/cli/";
const SERVER = "^server/";
const COMPONENTS = "^components/";
/** One folder for each page. */
const PAGE_COMPONENTS = "^components/(fleet|sessions|session|setup)/";
const APP = "^app/";
const EXAMPLES = "^examples/";
const TEST_PACKAGES = "^scripts/test-packages/node_modules/";
const OUTSIDE = "^(e2e|bench|scripts)/(?!test-packages/)";

const TEST = "\\.test\\.tsx?$|/(testing|api-tests)/|^(e2e|bench|fuzz)/";

/**
 * The folders of the server, and which of the folders before it each one may import. docs/architecture.md has the same table, and
 * scripts/arrows.test.ts compares them.
 */
const ROOMS = [
  ["bodies"],
  ["db"],
  ["live", "db"],
  ["lines", "db"],
  ["write/plan", "db"],
  ["write/memory", "db", "lines", "write/plan"],
  ["write/journal", "db", "write/plan"],
  ["write/project", "db", "lines", "write/plan", "write/memory", "write/journal"],
  ["write/receive", "bodies", "db", "write/plan", "write/journal", "write/project"],
  ["read", "db", "lines"],
  ["tenants", "db", "live", "write"],
  ["annotations", "db", "read", "tenants"],
  ["mappings", "db", "live", "read", "tenants"],
  ["policies", "db", "live", "lines", "read", "tenants"],
  ["alerts", "db", "live", "lines", "read", "tenants", "policies"],
  ["upkeep", "bodies", "db", "lines", "write", "read", "tenants", "alerts"],
  ["demo", "db", "tenants"],
];
ROOMS.push(["trpc", ...ROOMS.map(([room]) => room)]);
ROOMS.push(["http", ...ROOMS.map(([room]) => room)]);

const never = (name, comment, from, to) => ({
  name,
  severity: "error",
  comment,
  from: typeof from === "string" ? { path: from } : from,
  to: Array.isArray(to) ? { path: to } : to,
});

module.exports = {
  forbidden: [
    never(
      "protocol-stands-alone",
      "The protocol imports no other part: everyone else stands on it.",
      PROTOCOL,
      [FOLD, GUARD, HARNESSES, RUNTIME, CLI, SERVER, COMPONENTS, APP, EXAMPLES, OUTSIDE],
    ),
    never(
      "fold-on-protocol-only",
      "The fold is pure, and everyone who judges a history stands on it.",
      FOLD,
      [GUARD, HARNESSES, RUNTIME, CLI, SERVER, COMPONENTS, APP, EXAMPLES, OUTSIDE],
    ),
    never(
      "fold-without-schemas",
      "Pages and harnesses carry the fold, and the schemas are larger than it.",
      { path: `${FOLD}src/`, pathNot: TEST },
      { path: `${PROTOCOL}src/(?!pure)[a-z]+[.]ts$`, dependencyTypesNot: ["type-only"] },
    ),
    never(
      "guard-on-protocol-only",
      "A harness embeds the guard: it may bring nothing but the protocol and the fold.",
      GUARD,
      [HARNESSES, RUNTIME, CLI, SERVER, COMPONENTS, APP, EXAMPLES, OUTSIDE],
    ),
    never("runtime-on-guard", "A harness installs a runtime with the guard and the protocol.", RUNTIME, [
      HARNESSES,
      CLI,
      SERVER,
      COMPONENTS,
      APP,
      EXAMPLES,
      OUTSIDE,
    ]),
    never(
      "runtime-through-exports",
      "A runtime uses what every user of the guard can import.",
      { path: `${RUNTIME}src/`, pathNot: TEST },
      { path: GUARD, pathNot: "/index\\.ts$" },
    ),
    never(
      "harnesses-on-guard",
      "What is known about a harness serves the command line and the server, so it knows neither.",
      HARNESSES,
      [RUNTIME, CLI, SERVER, COMPONENTS, APP, EXAMPLES, OUTSIDE],
    ),
    never(
      "cli-alone",
      "The command line is installed without the server. One helper of its tests starts a real one.",
      { path: CLI, pathNot: "^packages/cli/src/testing/real-server[.]ts$" },
      [RUNTIME, SERVER, COMPONENTS, APP, EXAMPLES, OUTSIDE],
    ),
    never("examples-from-outside", "An example uses what its reader can install.", EXAMPLES, [
      SERVER,
      COMPONENTS,
      APP,
      OUTSIDE,
    ]),
    never("server-below-pages", "The server knows nothing of pages, nor of what talks to it.", SERVER, [
      RUNTIME,
      CLI,
      COMPONENTS,
      APP,
      EXAMPLES,
      OUTSIDE,
    ]),
    never("components-through-trpc", "Components know the server by its router alone.", COMPONENTS, [
      "^server/(?!trpc/)",
    ]),
    never(
      "components-types-only",
      "Server code must not reach the browser: `import type` only.",
      COMPONENTS,
      {
        path: "^server/",
        dependencyTypesNot: ["type-only"],
      },
    ),
    never(
      "components-without-schemas",
      "The schemas are larger than a page. What a page needs at once is in @plimsoll/protocol/pure; dialogs that check a form load them when they open.",
      { path: "^(components|app)/", pathNot: `^components/alerts/(rule|endpoint)-dialog[.]tsx$|${TEST}` },
      { path: `${PROTOCOL}src/(?!pure|policy)[a-z]+[.]ts$`, dependencyTypesNot: ["type-only"] },
    ),
    never(
      "components-without-readers",
      "Readers of recordings and telemetry are larger than a page. The two entries that pages import load none.",
      { path: "^(components|app)/", pathNot: TEST },
      { path: `${HARNESSES}src/(?!(connect|lines)[.]ts$)`, dependencyTypesNot: ["type-only"] },
    ),
    never(
      "harness-texts-without-readers",
      "Pages, hooks and status lines load these files.",
      {
        path: `${HARNESSES}src/((connect|lines|status-line)(/|[.]ts$)|fields[.]ts$|[^/]+/(connect|line|status-line)[.]ts$)`,
        pathNot: TEST,
      },
      {
        path: `${HARNESSES}src/(registry[.]ts$|recordings|telemetry|bridge|[^/]+/(index|bridge|recordings|telemetry)[.]ts$)`,
        dependencyTypesNot: ["type-only"],
      },
    ),
    never("components-below-pages", "Routes import components, never the other way round.", COMPONENTS, [
      GUARD,
      RUNTIME,
      CLI,
      APP,
      EXAMPLES,
      OUTSIDE,
    ]),
    never(
      "shell-below-page-components",
      "Every page uses the shell, so the shell knows no page.",
      "^components/shell/",
      [PAGE_COMPONENTS],
    ),
    never(
      "live-below-page-components",
      "The live stream updates queries, whichever page shows them.",
      "^components/live/",
      [PAGE_COMPONENTS],
    ),
    never(
      "shared-below-page-components",
      "Charts, controls and the files in components/ serve every page.",
      "^components/((charts|projects|ui)/|[^/]+$)",
      [PAGE_COMPONENTS],
    ),
    never("pages-on-server-and-components", "Pages pick components and prefetch.", APP, [
      GUARD,
      RUNTIME,
      CLI,
      EXAMPLES,
      OUTSIDE,
    ]),
    never(
      "server-root",
      "Files in server/ serve every folder of it, so they import none.",
      { path: "^server/[^/]+$", pathNot: `^server/main[.]ts$|${TEST}` },
      ["^server/[^/]+/"],
    ),
    ...ROOMS.map(([room, ...below]) =>
      never(
        `server/${room}`,
        below.join(", ") || "nothing",
        { path: `^server/${room}/`, pathNot: TEST },
        { path: "^server/[^/]+/", pathNot: `^server/(${[room, ...below].join("|")})/|${TEST}` },
      ),
    ),
    never(
      "main-is-the-root",
      "main.ts wires everything together, so only the npm scripts import it.",
      { path: ".", pathNot: "^scripts/dev\\.mjs$" },
      ["^server/main\\.ts$"],
    ),
    never(
      "no-test-code-in-product",
      "What exists for tests is imported by tests, and by the examples, which run a scripted model.",
      { path: ".", pathNot: `${TEST}|${EXAMPLES}` },
      [TEST],
    ),
    never(
      "no-test-package-in-product",
      "`npm ci` does not install them. The example for the Claude Agent SDK needs `npm run test:packages`.",
      { path: ".", pathNot: `${TEST}|/testing\\.ts$|^scripts/|^[^/]+$|^examples/phantom/main\\.ts$` },
      [TEST_PACKAGES],
    ),
    {
      name: "no-circular",
      severity: "error",
      comment: "Two files that need each other are one file, or three.",
      from: { pathNot: "^server/db/generated/" },
      to: {
        circular: true,
        viaOnly: { pathNot: "^server/db/generated/", dependencyTypesNot: ["type-only"] },
      },
    },
    {
      name: "resolvable",
      severity: "error",
      comment: "An import that resolves to nothing breaks at run time.",
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: ["node_modules", "^server/db/generated/"] },
    exclude: { path: ["(^|/)(dist|\\.next)/", "\\.css$"] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["types", "import", "node", "default", "require"],
      extensions: [".ts", ".tsx", ".mjs", ".js", ".cjs", ".json", ".d.ts"],
    },
    reporterOptions: { text: { highlightFocused: true } },
  },
};
