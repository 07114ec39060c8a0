// Which part may import which, as docs/decisions and CONTRIBUTING.md describe it:
//   protocol <- guard <- runtime <- examples
//   protocol, guard <- cli
//   protocol, guard <- server <- app
//   components import protocol, and of the server only the router's types

/** The top of each part that stands on the others. */
const PROTOCOL = "^packages/protocol/";
const GUARD = "^packages/guard/";
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
      [GUARD, RUNTIME, CLI, SERVER, COMPONENTS, APP, EXAMPLES, OUTSIDE],
    ),
    never(
      "guard-on-protocol-only",
      "A harness embeds the guard: it may bring nothing but the protocol.",
      GUARD,
      [RUNTIME, CLI, SERVER, COMPONENTS, APP, EXAMPLES, OUTSIDE],
    ),
    never("runtime-on-guard", "A harness installs a runtime with the guard and the protocol.", RUNTIME, [
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
    never("cli-alone", "The command line is installed without the server.", CLI, [
      RUNTIME,
      SERVER,
      COMPONENTS,
      APP,
      EXAMPLES,
      OUTSIDE,
    ]),
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
      { path: "^packages/protocol/src/index[.]ts$", dependencyTypesNot: ["type-only"] },
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
      "no-transport-below",
      "Server subjects do not depend on a transport: only http and trpc import http or trpc.",
      { path: "^server/[^/]+/", pathNot: `^server/(http|trpc)/|${TEST}` },
      ["^server/(http|trpc)/"],
    ),
    never(
      "store-below-history",
      "The store knows tables, not histories or how they are written and read.",
      { path: "^server/store/", pathNot: TEST },
      ["^server/(doctor|history|ingest|telemetry)/"],
    ),
    never(
      "history-below-ingest",
      "Planning a history is pure: ingest writes the plan and the doctor compares with it.",
      { path: "^server/history/", pathNot: TEST },
      ["^server/(doctor|ingest|telemetry)/"],
    ),
    never(
      "telemetry-beside-ingest",
      "Reads and writes share the store and the history, never each other's code.",
      { path: "^server/(doctor|telemetry)/", pathNot: TEST },
      ["^server/ingest/"],
    ),
    never(
      "ingest-beside-telemetry",
      "Reads and writes share the store and the history, never each other's code.",
      { path: "^server/ingest/", pathNot: TEST },
      ["^server/(doctor|telemetry)/"],
    ),
    never(
      "trpc-without-http",
      "Procedures run without an HTTP server.",
      { path: "^server/trpc/", pathNot: TEST },
      ["^server/http/"],
    ),
    never(
      "main-is-the-root",
      "main.ts wires everything together, so only the npm scripts import it.",
      { path: ".", pathNot: "^scripts/dev\\.mjs$" },
      ["^server/main\\.ts$"],
    ),
    never(
      "no-test-code-in-product",
      "What exists for tests is imported by tests.",
      { path: ".", pathNot: TEST },
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
