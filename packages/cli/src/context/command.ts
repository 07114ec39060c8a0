import { homedir } from "node:os";
import type { AgentContents } from "@plimsoll/harnesses/recordings";
import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { CliError } from "../errors.ts";
import { readerFor } from "../import/import.ts";
import { planImport } from "../import/plan.ts";
import { sourceLines } from "../import/source.ts";
import { ago, percent, tokens } from "../number-format.ts";
import { fitEnds, painter, printable, printableJson, type Terminal } from "../terminal.ts";
import { type ContentPart, contentsTree, largestItems } from "./contents-tree.ts";
import { findRecording } from "./find-recording.ts";

/** Parts below this share of the level are summed up. */
const LEAST_SHARE = 0.005;

export function addContextCommand(program: Command, context: CommandContext): void {
  program
    .command("context")
    .description("Show what fills the window of a session on this machine")
    .argument(
      "[session]",
      "a session id or a part of it, or a recording (default: the session of this shell, else the newest)",
    )
    .option("--json", "print a JSON array: an object for each agent")
    .addHelpText(
      "after",
      `
Reads recordings of Claude Code and Codex. It needs no server, and nothing leaves this machine.

The level is what the provider counted for the latest turn. Its parts are estimates from the texts of the recording; what the recording
does not show is named as the rest. "turn" is the first one that was sent a thing.

Examples:
  npx plimsoll context
  npx plimsoll context 3f2a91c0
  npx plimsoll context ~/.codex/sessions/2026/11/28/rollout-….jsonl --json`,
    )
    .action(async (session: string | undefined, { json }: { json?: boolean }) => {
      const { env, now, out } = context;
      const home = env.HOME || homedir();
      const places = { home, project: process.cwd(), env, platform: process.platform };
      const path = await findRecording(session, places);
      const found = await contentsOf(path);
      out.write(
        json
          ? `${printableJson(found.map(jsonOf))}\n`
          : found.map((one) => `${contentsLines(one, out, { now: now(), home }).join("\n")}\n`).join("\n"),
      );
    });
}

/** What the windows of a recording hold, the latest first. */
async function contentsOf(path: string): Promise<AgentContents[]> {
  const { groups } = await planImport([path]);
  const found: AgentContents[] = [];
  let isShown = false;
  for (const { format, files } of groups) {
    const reader = readerFor(format, { titles: false });
    if (reader.contents === undefined) continue;
    isShown = true;
    for (const file of files)
      for await (const { lines } of sourceLines(file.location))
        for (const line of lines) reader.read(line, file);
    found.push(...reader.contents());
  }
  if (found.length > 0) return found.sort((a, b) => b.at - a.at);
  throw new CliError(
    isShown ? `There is no turn with its texts in ${path}.` : `${path} does not show what fills the window.`,
    { hint: "Recordings of Claude Code and Codex do." },
  );
}

interface Shown {
  now: number;
  home: string;
}

function contentsLines(contents: AgentContents, { color, width }: Terminal, { now, home }: Shown): string[] {
  const paint = painter(color);
  const { session, agent, model, turn, at, level } = contents;
  const text = (name: string, taken: number) =>
    fitEnds(printable(name).replaceAll(`${home}/`, "~/"), Math.max(20, width - taken)).trimEnd();
  const line = (part: ContentPart, depth: number) =>
    `${tokens(part.tokens).padStart(7)}  ${percent(part.tokens / level).padStart(5)}  ${"  ".repeat(depth)}${text(
      part.count === undefined || depth === 0 ? part.name : `${part.name} (${part.count})`,
      16 + 2 * depth,
    )}`;
  const tree = (parts: readonly ContentPart[], depth: number): string[] =>
    withoutSmall(parts, level).flatMap((part) => [line(part, depth), ...tree(part.parts, depth + 1)]);
  return [
    paint("bold", text(agent === undefined ? session : `${session}, ${agent}`, 0)),
    paint("dim", text(`${model}, turn ${turn}, ${ago(now - at)}`, 0)),
    `${tokens(level)} tokens in the window`,
    "",
    ...tree(contentsTree(contents), 0),
    "",
    "The largest",
    ...largestItems(contents).map(
      (item) =>
        `${tokens(item.tokens).padStart(7)}  turn ${String(item.turn).padEnd(5)} ${text(item.name, 21)}`,
    ),
  ];
}

/** Sums up the parts that are too small to matter. */
function withoutSmall(parts: readonly ContentPart[], level: number): readonly ContentPart[] {
  const large = parts.filter((part) => part.tokens >= level * LEAST_SHARE);
  const small = parts.slice(large.length);
  if (small.length < 2) return parts;
  const sum = small.reduce((all, part) => all + part.tokens, 0);
  const count = small.every((part) => part.count !== undefined)
    ? small.reduce((all, part) => all + part.count!, 0)
    : undefined;
  return [...large, { name: `${small.length} others`, tokens: sum, count, parts: [] }];
}

function jsonOf(contents: AgentContents) {
  const { session, agent = "main", model, turn, at, level } = contents;
  return {
    ...{ session, agent, model, turn, at: new Date(at).toISOString(), context_tokens: level },
    parts: contentsTree(contents),
    largest: largestItems(contents),
  };
}
