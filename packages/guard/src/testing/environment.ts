import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What the test runner set itself and needs. */
const OF_THE_RUNNER = /^(NODE_ENV$|TEST$|DEV$|PROD$|MODE$|BASE_URL$|SSR$|VITEST)/;

/** Nothing listens there: a client that was not told where its model is fails instead of finding a real one. */
const NOWHERE = "http://127.0.0.1:9";

export interface CleanEnvironment {
  /** An empty folder that is the home now. */
  home: string;
  /** Puts everything back and removes the folder. */
  restore(): void;
}

/**
 * Takes from this process every variable it inherited but PATH, so that no key, address, proxy or configuration of
 * the person who runs the tests reaches an SDK that runs in it.
 */
export function cleanEnvironment(): CleanEnvironment {
  const before = { ...process.env };
  const home = mkdtempSync(join(tmpdir(), "guard-home-"));
  replaceWith({
    ...Object.fromEntries(Object.entries(before).filter(([name]) => OF_THE_RUNNER.test(name))),
    PATH: before.PATH,
    SystemRoot: before.SystemRoot,
    HOME: home,
    USERPROFILE: home,
    TMPDIR: home,
    TEMP: home,
    TMP: home,
    OPENAI_BASE_URL: NOWHERE,
    OPENAI_API_KEY: "dummy",
    ANTHROPIC_BASE_URL: NOWHERE,
    ANTHROPIC_API_KEY: "dummy",
    OLLAMA_HOST: NOWHERE,
  });
  return {
    home,
    restore() {
      replaceWith(before);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function replaceWith(variables: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) if (variables[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(variables)) if (value !== undefined) process.env[name] = value;
}
