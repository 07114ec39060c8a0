/** Everything that is no subject of its own: a change there can reach every test. */
const SHARED =
  /^(package(-lock)?\.json|prisma|scripts|next\.config|postcss|vitest|playwright|instrumentation|packages\/(protocol|fold|harnesses)\/src)/;

const singular = (word) => word.replace(/(ies|y|s)$/, "");

/** The subject of a file: the folder below `server/`, `components/`, `packages/` or of a page, in the singular. */
function subjectOf(path) {
  if (SHARED.test(path)) return undefined;
  // The demo fleet runs them.
  if (/^(examples|packages\/runtime)\//.test(path)) return "demo";
  const [, folder] = /^(?:server|components|packages|app)\/(?:\([^/]+\)\/)?([^/]+)\//.exec(path) ?? [];
  return folder && singular(folder);
}

/** What the stories use of the helpers of tests. Vitest follows the imports of the other helpers. */
const HELPERS_OF_STORIES = /^server\/testing\/(backends|client|launch|memory-folder|receiver)\.ts$/;

const isProduct = (path) =>
  (SHARED.test(path) ||
    /^(server|components|app|examples|packages\/(guard|runtime|cli)\/src)\//.test(path)) &&
  !/\.test\.tsx?$|\.md$|\/(testing|api-tests)\//.test(path);

/** Whether a word of the test's name is the subject. */
const isNamed = (test, subject) =>
  test
    .split("/")
    .at(-1)
    .split(/[-.]/)
    .some((word) => singular(word) === subject);

/**
 * The tests of whole servers that a change can reach. Built servers have no imports that a test runner could follow, so the
 * names decide: a changed `server/alerts/` reaches the tests with "alert" in their names. If no name has the subject, or the
 * change has none, all are reached.
 * @param {string[]} changed paths from the root
 * @param {string[]} files all files of `server/` and `e2e/`
 * @returns {{ apiTests: string[], stories: string[] }}
 */
export function testsReached(changed, files) {
  const reached = (tests, areas) => {
    const found = new Set(changed.filter((path) => tests.includes(path)));
    for (const path of changed.filter((path) => areas(path))) {
      const subject = subjectOf(path);
      const named = tests.filter((test) => subject !== undefined && isNamed(test, subject));
      for (const test of named.length > 0 ? named : tests) found.add(test);
    }
    return [...found];
  };
  return {
    apiTests: reached(
      files.filter((path) => /^server\/api-tests\/.*\.test\.ts$/.test(path)),
      (path) => isProduct(path) && !/^(components|app|packages\/cli)\//.test(path),
    ),
    stories: reached(
      files.filter((path) => /^e2e\/.*\.spec\.ts$/.test(path)),
      (path) => isProduct(path) || HELPERS_OF_STORIES.test(path),
    ),
  };
}

/** What depends on the version of Node: streams, files, HTTP, processes, signals, and the packages as they are published. */
export const OF_NODE = [
  ...["backup", "package", "network/send-request", "server"].map((name) => `packages/cli/src/${name}`),
  ...["node", "policy-source", "report"].map((name) => `packages/guard/src/${name}/`),
  "packages/runtime/src/node/",
  ...["build-packages", "bundles"].map((name) => `scripts/${name}.test.ts`),
  ...["bodies/", "db/postgres/embedded", "folder", "http/", "live/"].map((name) => `server/${name}`),
  ...["closed-sockets", "sending", "stop"].map((name) => `server/api-tests/${name}`),
];
