import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Runs dist/NAME.js. These files are committed because npm links only programs that exist when it installs, and a
 * checkout is built later.
 * @param {"plimsoll" | "phantom" | "statusline" | "hook"} name
 */
export async function runProgram(name) {
  const program = new URL(`../dist/${name}.js`, import.meta.url);
  if (existsSync(program)) {
    await import(program.href);
    return;
  }
  const checkout = fileURLToPath(new URL("../../..", import.meta.url));
  console.error(`${name} is not built yet. Run "npm run build" or "npm start" in ${checkout} first.`);
  process.exitCode = 1;
}
