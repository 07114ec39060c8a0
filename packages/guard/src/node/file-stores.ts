import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { MaskStore } from "../conversation/types.ts";
import type { LogLine } from "../report/options.ts";

/**
 * Stores each masked result as a file in `folder`, where an agent can read it.
 * @example
 * const guard = createGuard({ identity, store: fileMaskStore(".masked") });
 */
export function fileMaskStore(folder: string): MaskStore {
  const at = (id: string) => join(folder, `${encodeURIComponent(id).replaceAll(".", "%2E")}.txt`);
  return {
    put(id, text) {
      mkdirSync(folder, { recursive: true });
      // Write atomically: after the session ends, this file is the only copy.
      const draft = `${at(id)}.${process.pid}.tmp`;
      writeFileSync(draft, text);
      renameSync(draft, at(id));
    },
    get: (id) => (existsSync(at(id)) ? readFileSync(at(id), "utf8") : undefined),
  };
}

/**
 * Appends each event to a JSONL file, in the format that `POST /api/v1/events` accepts.
 * @example
 * const reporter = createReporter({ log: sessionLog("session.jsonl") });
 */
export function sessionLog(path: string): LogLine {
  mkdirSync(dirname(path), { recursive: true });
  return (line) => appendFileSync(path, `${line}\n`);
}
