import { homedir } from "node:os";
import {
  type AgentContents,
  type ContentPart,
  contentsTree,
  type Losable,
  largestItems,
  SHOWING,
  whyNotShown,
} from "@plimsoll/harnesses/recordings";
import { LOSABLE_KINDS, type LosableKind, SURVIVALS } from "@plimsoll/protocol/pure";
import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { CliError } from "../errors.ts";
import { readerFor } from "../import/import.ts";
import { planImport } from "../import/plan.ts";
import { sourceLines } from "../import/source.ts";
import { ago, percent, tokens } from "../number-format.ts";
import { fitEnds, painter, printable, printableJson, type Terminal } from "../terminal.ts";
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
    .option("--lost", "show instead what the latest compaction lost")
    .option("--json", "print a JSON array: an object for each agent")
    .addHelpText(
      "after",
      `
Reads recordings of ${SHOWING.slice(0, -1).join(", ")}
and ${SHOWING.at(-1)}. It needs no server, and nothing leaves this machine.

The level is what the provider counted for the latest turn. Its parts are estimates from the texts of the recording; what the recording
does not show is named as the rest. "turn" is the first one that was sent a thing.

With --lost, each sentence of your prompts and each file that was read or changed before the compaction is looked for in the summary and in
what was sent with it. A rule is a sentence with a word such as never, always or prefer.

Examples:
  npx plimsoll context
  npx plimsoll context 3f2a91c0 --lost
  npx plimsoll context ~/.codex/sessions/2026/11/28/rollout-….jsonl --json`,
    )
    .action(
      async (session: string | undefined, { json, lost = false }: { json?: boolean; lost?: boolean }) => {
        const { env, now, out } = context;
        const home = env.HOME || homedir();
        const places = { home, project: process.cwd(), env, platform: process.platform };
        const path = await findRecording(session, places);
        const found = await contentsOf(path);
        const linesOf = lost ? lossLines : contentsLines;
        const jsonOf: (contents: AgentContents) => object = lost ? lossJson : contentsJson;
        out.write(
          json
            ? `${printableJson(found.map(jsonOf))}\n`
            : found.map((one) => `${linesOf(one, out, { now: now(), home }).join("\n")}\n`).join("\n"),
        );
      },
    );
}

/** What the windows of a recording hold, the latest first. */
async function contentsOf(path: string): Promise<AgentContents[]> {
  const { groups } = await planImport([path]);
  const found: AgentContents[] = [];
  let isShown = false;
  let reason: string | undefined;
  for (const { format, files } of groups) {
    const reader = readerFor(format, { titles: false });
    if (reader.contents === undefined) {
      reason ??= whyNotShown(format);
      continue;
    }
    isShown = true;
    for (const file of files)
      for await (const { lines } of sourceLines(file.location))
        for (const line of lines) reader.read(line, file);
    found.push(...reader.contents().filter(({ items }) => items.length > 0));
  }
  if (found.length > 0) return found.sort((a, b) => b.at - a.at);
  throw new CliError(
    isShown ? `There is no turn with its texts in ${path}.` : `${path} does not show what fills the window.`,
    { hint: reason ?? `Recordings of ${SHOWING.join(", ")} do.` },
  );
}

interface Shown {
  now: number;
  home: string;
}

function contentsLines(contents: AgentContents, { color, width }: Terminal, { now, home }: Shown): string[] {
  const paint = painter(color);
  const { model, turn, at, level } = contents;
  const text = textIn({ width, home });
  const line = (part: ContentPart, depth: number) =>
    `${tokens(part.tokens).padStart(7)}  ${percent(part.tokens / level).padStart(5)}  ${"  ".repeat(depth)}${text(
      part.count === undefined || depth === 0 ? part.name : `${part.name} (${part.count})`,
      16 + 2 * depth,
    )}`;
  const tree = (parts: readonly ContentPart[], depth: number): string[] =>
    withoutSmall(parts, level).flatMap((part) => [line(part, depth), ...tree(part.parts, depth + 1)]);
  return [
    paint("bold", text(nameOf(contents), 0)),
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

/** Most sentences or files that are listed of a kind. */
const MOST_LISTED = 20;
const KIND_TITLES = { rule: "rules", prompt: "other sentences of prompts", file: "files" } as const;
const SURVIVAL_TEXTS = { verbatim: "kept", near: "nearly kept", absent: "lost" } as const;

function lossLines(contents: AgentContents, { color, width }: Terminal, { now, home }: Shown): string[] {
  const paint = painter(color);
  const text = textIn({ width, home });
  const { loss } = contents;
  const name = paint("bold", text(nameOf(contents), 0));
  if (loss === undefined) return [name, "The recording shows no compaction with its summary."];
  const { at, turn, before, after, things } = loss;
  const levels =
    before === undefined || after === undefined ? "" : `, ${tokens(before)} to ${tokens(after)} tokens`;
  const ofKind = (kind: LosableKind) => {
    const own = things.filter((thing) => thing.kind === kind);
    if (own.length === 0) return [];
    const counts = SURVIVALS.map(
      (survival) =>
        `${own.filter((thing) => thing.survival === survival).length} ${SURVIVAL_TEXTS[survival]}`,
    );
    const lost = own.filter(({ survival }) => survival !== "verbatim").sort(inOrder);
    return [
      "",
      `${KIND_TITLES[kind]}: ${counts.join(", ")}`,
      ...lost.slice(0, MOST_LISTED).map(({ survival, turn: last, text: thing, again }) => {
        const since = again === undefined ? "" : `, again at turn ${again}`;
        return `  ${SURVIVAL_TEXTS[survival].padEnd(11)}  turn ${String(last).padEnd(5)} ${text(`${thing}${since}`, 27)}`;
      }),
      ...(lost.length > MOST_LISTED ? [`  and ${lost.length - MOST_LISTED} more; --json has all`] : []),
    ];
  };
  return [
    name,
    paint("dim", `compacted after turn ${turn}, ${ago(now - at)}${levels}`),
    ...LOSABLE_KINDS.flatMap(ofKind),
  ];
}

/** What is lost comes first. */
const inOrder = (one: Losable, other: Losable) =>
  SURVIVALS.indexOf(other.survival) - SURVIVALS.indexOf(one.survival) || one.turn - other.turn;

const nameOf = ({ session, agent }: AgentContents) =>
  agent === undefined ? session : `${session}, ${agent}`;

/** Fits a text into what is left of a line. Paths at home begin with `~`. */
const textIn =
  ({ width, home }: { width: number; home: string }) =>
  (text: string, taken: number) =>
    fitEnds(printable(text).replaceAll(`${home}/`, "~/"), Math.max(20, width - taken)).trimEnd();

function lossJson({ session, agent = "main", model, loss }: AgentContents) {
  return {
    session,
    agent,
    model,
    loss: loss === undefined ? null : { ...loss, at: new Date(loss.at).toISOString() },
  };
}

function contentsJson(contents: AgentContents) {
  const { session, agent = "main", model, turn, at, level } = contents;
  return {
    ...{ session, agent, model, turn, at: new Date(at).toISOString(), context_tokens: level },
    parts: contentsTree(contents),
    largest: largestItems(contents),
  };
}
