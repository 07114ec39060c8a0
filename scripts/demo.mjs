import { spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "./root.mjs";

/** Runs the four example harnesses against the server of PLIMSOLL_URL and PLIMSOLL_KEY, else this machine's. */
const child = spawn(
  process.execPath,
  ["--import", import.meta.resolve("tsx"), join(root, "examples/demo.ts")],
  { cwd: root, stdio: "inherit" },
);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.once("error", (error) => {
  console.error(error.message);
  process.exitCode = 1;
});
child.once("close", (code) => {
  process.exitCode = code ?? 1;
});
