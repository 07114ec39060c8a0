import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import type { ModelRequest } from "../../packages/guard/src/testing/scripted-model/index.ts";

const inputs = (...names: string[]): Anthropic.Tool["input_schema"] => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
});

/** The tools of a phase-runner. */
export const TOOLS: Anthropic.Tool[] = [
  { name: "read_file", input_schema: inputs("path") },
  { name: "write_file", input_schema: inputs("path", "text") },
  { name: "edit_file", input_schema: inputs("path", "old", "text") },
];

/** Runs a call of a tool in a folder, and returns what the model gets. */
export async function runTool(folder: string, name: string, input: unknown): Promise<string> {
  const { path, old, text = "" } = input as { path: string; old?: string; text?: string };
  const file = join(folder, path);
  if (name === "read_file") return readFile(file, "utf8");
  const before = name === "edit_file" ? await readFile(file, "utf8") : "";
  if (old !== undefined && !before.includes(old)) return `"${old}" is not in ${path}.`;
  await writeFile(file, old === undefined ? text : before.replace(old, () => text));
  return "written";
}

const edit = (path: string, old: string, text: string) => ({
  name: "edit_file",
  arguments: { path, old, text },
});

/** The change with which the model solves each task. */
const CHANGES: Record<string, { name: string; arguments: Record<string, string> }> = {
  Search: edit("app/search.mjs", "note.includes(text)", "note.toLowerCase().includes(text.toLowerCase())"),
  Export: {
    name: "write_file",
    arguments: {
      path: "app/export.mjs",
      text: "const cell = (value) => (/,/.test(value) ? '\"' + value + '\"' : value);\nexport const toCsv = (rows) => rows.map((row) => row.map(cell).join()).join(\"\\n\");\n",
    },
  },
  "login fails": edit("app/session.mjs", "passwords[name] === password", "passwords[name] !== password"),
  "no logout": edit("app/session.mjs", "return name;", "open.delete(name);"),
  "slow list": edit("app/list.mjs", "items.map((item) => item).slice", "items.slice"),
  // Incomplete: the day is not padded. Its verification fails, and the sub-phase is remediated.
  "bad date": edit("app/drafts.mjs", "[year, month,", '[year, String(month).padStart(2, "0"),'),
  "lost draft": edit("app/drafts.mjs", "  drafts.clear();\n", ""),
  "wrong total": edit(
    "app/cart.mjs",
    "prices.reduce((sum, price) => sum + price, 0)",
    "prices.reduce((sum, price) => sum + Math.round(price * 100), 0) / 100",
  ),
};
const REMEDY = edit("app/drafts.mjs", " day].join", ' String(day).padStart(2, "0")].join');

/** Scripts the model: it reads some modules, makes its change, and reports that it is done. */
export function script({ messages, body }: ModelRequest) {
  const calls = messages.filter((message) => message.role === "assistant").length;
  const task = JSON.stringify(messages[0]!.content);
  const reads = 4 + (task.length % 5);
  if (calls < reads) {
    const path = `src/module-${((calls * 5) % 12) + 1}.ts`;
    return { text: "Reading.", calls: [{ name: "read_file", arguments: { path } }] };
  }
  const name = /(?:Fix|Do): ([A-Za-z ]+)/.exec(task)![1]!;
  const change = task.includes("The first attempt failed: pads the day") ? REMEDY : CHANGES[name]!;
  return calls === reads ? { calls: [change] } : { text: `Done with ${String(body.model)}.` };
}
