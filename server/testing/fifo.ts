import { spawnSync } from "node:child_process";

const PROGRAM = "mkfifo";

/** Makes a FIFO, which Node cannot do itself. Not on Windows. */
export function makeFifo(path: string): void {
  const { status, stderr } = spawnSync(PROGRAM, [path]);
  if (status !== 0) throw new Error(`${PROGRAM} failed: ${stderr}`);
}
