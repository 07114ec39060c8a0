// Which part may import which, as docs/decisions and CONTRIBUTING.md describe it:
//   protocol <- guard <- cli, examples
//   protocol, guard <- server <- app
//   components import protocol, and of the server only the router's types

/** The top of each part that stands on the others. */
const PROTOCOL = "^packages/protocol/";
const GUARD = "^packages/guard/";
const CLI = "^packages/cli/";
const SERVER = "^server/";
const COMPONENTS = "^components/";
const APP = "^app/";
const EXAMPLES = "^examples/";
const OUTSIDE = "^(e2e|bench|scripts)/";

const TEST = "\\.test\\.tsx?$|/(testing|api-tests)/|/test-[^/]+\\.tsx?$|^(e2e|bench)/";

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
      [GUARD, CLI, SERVER, COMPONENTS, APP, EXAMPLES, OUTSIDE],
    ),
    never(
      "guard-on-protocol-only",
      "A harness embeds the guard: it may bring nothing but the protocol.",
      GUARD,
      [CLI, SERVER, COMPONENTS, APP, EXAMPLES, OUTSIDE],
    ),
    never("cli-alone", "The command line is installed without the server.", CLI, [
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
    never("components-below-pages", "Components are used by pages, never the other way round.", COMPONENTS, [
      GUARD,
      CLI,
      APP,
      EXAMPLES,
      OUTSIDE,
    ]),
    never("pages-on-server-and-components", "Pages pick components and prefetch.", APP, [
      GUARD,
      CLI,
      EXAMPLES,
      OUTSIDE,
    ]),
    never(
      "no-transport-below",
      "What the server does is told apart from how it is asked: no subject imports http or trpc.",
      { path: "^server/(telemetry|ingest|policy|alerts|access|live|db|demo|projects)/", pathNot: TEST },
      ["^server/(http|trpc)/"],
    ),
    never(
      "trpc-without-http",
      "Procedures run without an HTTP server.",
      { path: "^server/trpc/", pathNot: TEST },
      ["^server/http/"],
    ),
    never("main-is-the-root", "main.ts wires everything together, so nobody imports it.", ".", [
      "^server/main\\.ts$",
    ]),
    never(
      "no-test-code-in-product",
      "What exists for tests is imported by tests.",
      { path: ".", pathNot: TEST },
      [TEST],
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
