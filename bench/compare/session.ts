import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Message } from "../../packages/guard/src/index.ts";
import { numbers } from "../guard-policy.ts";

/** Something that the agent must still know at the end, word for word. */
export interface PlantedFact {
  text: string;
  /** The file in whose text it stands. Undefined for what the user said. */
  file: string | undefined;
}

/** A session of an agent, whatever its model answers: what every harness under comparison is driven with. */
export interface ComparedSession {
  /** The messages that are new before each call of the model. The first list begins with the system prompt. */
  calls: readonly (readonly Message[])[];
  userFacts: readonly PlantedFact[];
  toolFacts: readonly PlantedFact[];
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDERS = ["packages/fold/src", "packages/protocol/src", "server"];

/** Tool turns, and how many of them lie between two facts. */
const TURNS = 120;
const EVERY = 12;
/** Most that a tool returns, as most harnesses limit it. Characters. */
const MOST_CHARS = 24_000;
/** Shorter files are left out, so that a turn adds what one of a coding agent does. Characters. */
const LEAST_CHARS = 2_000;
const PART_LINES = 60;
const GREP_FILES = 14;
const PATTERNS = ["export function", "await ", "interface ", "throw new", "new Map", "return undefined"];

let sources: { path: string; lines: readonly string[] }[] | undefined;

/** The source files of this repository, by path. */
function sourceFiles() {
  sources ??= FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((path) => `${folder}/${path}`),
  )
    .filter((path) => /\.tsx?$/.test(path) && !/generated|node_modules|dist\//.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8").slice(0, MOST_CHARS) }))
    .filter(({ text }) => text.length >= LEAST_CHARS)
    .map(({ path, text }) => ({ path, lines: text.split("\n") }));
  return sources;
}

/** A coding agent that reads and searches the sources of this repository. The same for a seed and a commit. */
export function comparedSession(seed: number): ComparedSession {
  const next = numbers(seed * 7_919);
  const files = sourceFiles();
  const pick = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)]!;
  const userFacts: PlantedFact[] = [];
  const toolFacts: PlantedFact[] = [];
  const calls: Message[][] = [];

  const said = (turn: number): string => {
    const code = `${1_000 + Math.floor(next() * 9_000)}`;
    const text = `Rule ${code}: do not touch the folder vendor-${code}, and name ticket PLIM-${code} in its commit.`;
    userFacts.push({ text, file: undefined });
    // One of them pastes a log after what it wants.
    if (turn === 4 * EVERY)
      return `${text}\nThis is what I see:\n${pick(files).lines.slice(0, 80).join("\n")}`;
    return `${text} Then go on with part ${turn / EVERY + 1}.`;
  };

  const used = (turn: number): { name: string; input: Record<string, unknown>; output: string } => {
    const kind = next();
    const plants = turn % EVERY === EVERY / 2;
    if (kind >= 0.85 && !plants) {
      const pattern = pick(PATTERNS);
      const from = Math.floor(next() * files.length);
      const found = files
        .slice(from, from + GREP_FILES)
        .flatMap(({ path, lines }) =>
          lines.flatMap((line, at) => (line.includes(pattern) ? [`${path}:${at + 1}:${line.trim()}`] : [])),
        );
      return { name: "grep", input: { pattern }, output: found.slice(0, 80).join("\n") };
    }
    const { path, lines } = pick(files);
    const from = kind < 0.7 ? 0 : Math.floor(next() * Math.max(1, lines.length - PART_LINES));
    const shown = kind < 0.7 ? [...lines] : lines.slice(from, from + PART_LINES);
    if (plants) {
      const limit = 1_000 + Math.floor(next() * 9_000);
      const text = `// measured for ${path}: more than ${limit} rows need ${limit * 3} ms`;
      toolFacts.push({ text, file: path });
      shown.splice(Math.floor(next() * shown.length), 0, text);
    }
    return { name: "read", input: { path, from }, output: shown.join("\n") };
  };

  const system = `You work on a TypeScript repository with the tools you have. Files:\n${files
    .filter((_, at) => at % 40 === 0)
    .map(({ path }) => path)
    .join("\n")}`;
  let added: Message[] = [{ role: "system", content: system }];
  for (let turn = 0; turn < TURNS; turn++) {
    if (turn % EVERY === 0) {
      if (turn > 0) {
        calls.push(added);
        added = [{ role: "assistant", content: `Part ${turn / EVERY} is done, and its tests pass.` }];
      }
      added.push({ role: "user", content: said(turn) });
    }
    calls.push(added);
    const { name, input, output } = used(turn);
    const id = `call_${turn}`;
    added = [
      {
        role: "assistant",
        content: `Next I look at step ${turn}.`,
        toolCalls: [{ id, name, arguments: input }],
      },
      { role: "tool", toolCallId: id, toolName: name, content: output === "" ? "no matches" : output },
    ];
  }
  calls.push(added);
  return { calls, userFacts, toolFacts };
}
