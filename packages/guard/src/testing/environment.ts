import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Variables of the test runner, and the length of a search for counterexamples. */
const RUNNER_VARIABLES = /^(NODE_ENV$|TEST$|DEV$|PROD$|MODE$|BASE_URL$|SSR$|FUZZ_RUNS$|VITEST)/;

/** Nothing listens here, so a client without a configured server fails instead of reaching a real one. */
const UNREACHABLE_URL = "http://127.0.0.1:9";

export interface CleanEnvironment {
  /** The temporary home folder. */
  home: string;
  /** Restores the environment and removes the folder. */
  restore(): void;
}

/**
 * Removes every inherited variable but PATH from this process, so that no key, URL, proxy or setting of the developer
 * reaches an SDK under test.
 */
export function cleanEnvironment(): CleanEnvironment {
  const before = { ...process.env };
  const home = mkdtempSync(join(tmpdir(), "guard-home-"));
  replaceWith({
    ...Object.fromEntries(Object.entries(before).filter(([name]) => RUNNER_VARIABLES.test(name))),
    PATH: before.PATH,
    SystemRoot: before.SystemRoot,
    HOME: home,
    USERPROFILE: home,
    TMPDIR: home,
    TEMP: home,
    TMP: home,
    OPENAI_BASE_URL: UNREACHABLE_URL,
    OPENAI_API_KEY: "dummy",
    ANTHROPIC_BASE_URL: UNREACHABLE_URL,
    ANTHROPIC_API_KEY: "dummy",
    GOOGLE_GEMINI_BASE_URL: UNREACHABLE_URL,
    GEMINI_API_KEY: "dummy",
    OLLAMA_HOST: UNREACHABLE_URL,
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
