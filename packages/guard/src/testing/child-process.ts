import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../../..", import.meta.url));

/** How a child process ended. */
export interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/**
 * Bundles a TypeScript program that imports sources, and returns the path of the bundle. Loading the sources with tsx takes
 * ten times as long at each start.
 */
export async function childProgram(folder: string, source: string, name = "child"): Promise<string> {
  const outfile = join(folder, `${name}.mjs`);
  await writeFile(join(folder, `${name}.ts`), source);
  await build({
    entryPoints: [join(folder, `${name}.ts`)],
    tsconfig: join(root, "tsconfig.json"),
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    // Packages may have a wrapper that hides what it requires, and CommonJS that requires modules of Node.
    mainFields: ["module", "main"],
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  return outfile;
}

/** Starts a program. `ended` resolves when it exits, `said(text)` when it has written `text`. */
export function startChild(program: string, ...given: string[]) {
  const child = spawn(process.execPath, [program, ...given], { stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  let heard = () => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    heard();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<ChildExit>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  const said = (text: string) =>
    new Promise<void>((resolve, reject) => {
      heard = () => {
        if (stdout.includes(text)) resolve();
      };
      heard();
      void ended.then(() => reject(new Error(`ended without saying ${text}: ${stdout}${stderr}`)));
    });
  return { child, ended, said };
}

export function runChild(program: string, ...given: string[]): Promise<ChildExit> {
  return startChild(program, ...given).ended;
}
