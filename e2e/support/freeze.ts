import { readdir, readFile } from "node:fs/promises";

interface Process {
  pid: number;
  parent: number;
}

async function processes(): Promise<Process[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
      // The name in brackets may hold spaces.
      const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return { pid: Number(pid), parent: Number(parent) };
    }),
  );
  return found.filter(({ parent }) => !Number.isNaN(parent));
}

function signal(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Stops a process and all its children with SIGSTOP. @returns what lets them continue; it may be called twice */
export async function freeze(pid: number): Promise<() => void> {
  // The parent first, so that it starts no more children.
  signal(pid, "SIGSTOP");
  const all = await processes();
  const frozen = [pid];
  for (const parent of frozen) {
    for (const child of all) if (child.parent === parent) frozen.push(child.pid);
  }
  for (const child of frozen) signal(child, "SIGSTOP");
  let thawed = false;
  return () => {
    if (thawed) return;
    thawed = true;
    for (const child of frozen) signal(child, "SIGCONT");
  };
}
