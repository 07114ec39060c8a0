import { basename, join } from "node:path";
import type { ModelReply, ModelRequest } from "../../packages/guard/src/testing/scripted-model/index.ts";

/**
 * Plays the model of Phantom: it reads the files that the newest prompt names, one per step, says what each defines, and
 * writes summaries. What it says comes from the results of the real tools.
 */
export function script({ messages, body }: ModelRequest, folder: string): ModelReply {
  const texts = messages.flatMap((message) => textsOf(message));
  const summary = texts.find((text) => text.startsWith("Summarise:"));
  if (summary !== undefined) return { text: summarised(summary) };
  if (!Array.isArray(body.tools) || body.tools.length === 0) return { text: "ok" };
  const from = messages.findLastIndex((message) => textsOf(message).some((text) => FILE.test(text)));
  const prompt = textsOf(messages[from]!).at(-1)!;
  // What a handoff reports as found out is not read again.
  const wanted = (prompt.split("\n\n").at(-1)!.match(FILES) ?? []).filter(
    (file) => !prompt.includes(`${file} defines`),
  );
  const results = messages.slice(from).flatMap(resultsOf);
  const last = results.at(-1);
  const said =
    last === undefined ? "" : `${wanted[results.length - 1]} defines ${functionsIn(last)} functions.`;
  const next = wanted[results.length];
  if (next === undefined) return { text: said };
  return { text: said, calls: [{ name: "Read", arguments: { file_path: join(folder, next) } }] };
}

const FILE = /src\/module-\d+\.ts/;
const FILES = /src\/module-\d+\.ts/g;

interface Block {
  type?: string;
  text?: string;
  content?: unknown;
}

function blocksOf({ role, content }: Record<string, unknown>): readonly Block[] {
  if (role !== "user") return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : (content as Block[]);
}

const textsOf = (message: Record<string, unknown>) =>
  blocksOf(message).flatMap(({ type, text = "" }) =>
    type === "text" && !text.startsWith("<system-reminder>") ? [text] : [],
  );

const resultsOf = (message: Record<string, unknown>) =>
  blocksOf(message).flatMap(({ type, content }) => (type === "tool_result" ? [JSON.stringify(content)] : []));

const functionsIn = (result: string) => (result.match(/export function/g) ?? []).length;

/** A continuation for the notes of a tick, and plain lines for a thread. */
function summarised(request: string): string {
  const rest = request.slice("Summarise:\n".length);
  const findings = [...new Set(rest.match(/src\/module-\d+\.ts defines \d+ functions\./g) ?? [])];
  if (!rest.startsWith("{")) return findings.join("\n");
  const { notes } = JSON.parse(rest) as { notes: { read: string[]; remaining: string[] } };
  return JSON.stringify({
    accomplished: notes.read.map((file) => `read ${basename(file)}`),
    remaining: notes.remaining,
    findings,
  });
}
