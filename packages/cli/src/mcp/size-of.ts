import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { median } from "@plimsoll/fold";
import { estimateTokens, tokenizerScale } from "@plimsoll/guard/measure";
import type { AgentContents } from "@plimsoll/harnesses/recordings";

/** Why something has no size. */
export const UNSIZED = [
  "no_such_file",
  "not_a_file",
  "not_text",
  "unreadable",
  "no_contents",
  "tool_not_used",
] as const;
export type Unsized = (typeof UNSIZED)[number];

/** Tokens of the model, and of how many results of a tool they are the median. */
export type Size = { tokens: number; medianOf?: number } | { unsized: Unsized };

/** Bytes of a file that are read. The rest is estimated from them. */
const MOST_READ = 1 << 20;
const { O_RDONLY, O_NONBLOCK = 0 } = constants;

/** Estimates a file as the guard does. Nothing of it but the estimate leaves this function. */
export async function sizeOfFile(path: string, folder: string, model: string): Promise<Size> {
  try {
    // A pipe would wait for a writer.
    const file = await open(isAbsolute(path) ? path : join(folder, path), O_RDONLY | O_NONBLOCK);
    try {
      const entry = await file.stat();
      if (!entry.isFile()) return { unsized: "not_a_file" };
      const buffer = Buffer.alloc(Math.min(entry.size, MOST_READ));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
      const bytes = buffer.subarray(0, bytesRead);
      if (bytes.includes(0)) return { unsized: "not_text" };
      const estimate = estimateTokens(bytes.toString("utf8")) * tokenizerScale(model);
      const share = bytesRead === 0 ? 1 : Math.max(1, entry.size / bytesRead);
      return { tokens: Math.ceil(estimate * share) };
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { unsized: "no_such_file" };
    return { unsized: code === "EISDIR" ? "not_a_file" : "unreadable" };
  }
}

/** The median result of a tool in the history of the agent. The name may lack the prefix of its MCP server. */
export function sizeOfTool(tool: string, contents: Pick<AgentContents, "results"> | undefined): Size {
  if (contents === undefined) return { unsized: "no_contents" };
  const results = contents.results.filter(({ tool: name }) => name === tool || name?.endsWith(`__${tool}`));
  if (results.length === 0) return { unsized: "tool_not_used" };
  return { tokens: Math.ceil(median(results.map(({ tokens }) => tokens))), medianOf: results.length };
}
