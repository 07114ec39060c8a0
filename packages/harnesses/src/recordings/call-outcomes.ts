import { hash } from "node:crypto";
import type { CalledTool } from "@plimsoll/protocol/events";
import { type CallResult, canonicalJson, MOST_CALLED, type ToolOutcome } from "@plimsoll/protocol/pure";
import { ValuesByTime } from "./dated.ts";
import { asArray, asObject, asText } from "./json.ts";
import { fitName } from "./text.ts";

/** A tool call as a recording has it. */
export interface RecordedCall {
  id: string;
  /** Epoch ms. */
  at: number;
  /** The key of the turn that made it. Undefined for the next turn that was counted. */
  turn: string | undefined;
  name: string;
  input: unknown;
}

export const resultOfCode = (code: number): CallResult => (code === 0 ? "ok" : "failed");

const STATUSES: Readonly<Record<string, CallResult>> = {
  success: "ok",
  error: "failed",
  cancelled: "rejected",
};

/** Of Gemini CLI and the harnesses that come from it. Undefined while a call runs. */
export const resultOfStatus = (status: unknown): CallResult | undefined => STATUSES[asText(status) ?? ""];

/** What is kept of a call: enough to count it, its tool, and none of its words. */
interface KeptCall {
  id: string;
  at: number;
  turn: string | undefined;
  tool: string;
  /** Equal for equal calls. */
  key: string;
  isCommand: boolean;
  runsTests: boolean;
  /** What tells the files apart that it changes. */
  edits: readonly string[];
}

interface TurnPlace {
  key: string;
  /** Epoch ms. */
  at: number;
}

/** Tools that change a file, and tools that run a command, by the end of their names in lower case. */
const EDITS =
  /(^|[._:-])(edit|write|multi_?edit|notebook_?edit|apply_?patch|write_?file|edit_?file|replace|str_replace(_based_edit_tool|_editor)?|create_?file)$/;
const COMMANDS =
  /(^|[._:-])(bash|shell|sh|exec|exec_command|local_shell|run_shell_command|run_command|execute_command|execute_bash|terminal|powershell)$/;
/** Commands that run tests, as far as their names tell. */
const TESTS =
  /(^|[\s;&|(])((npm|pnpm|yarn|bun|deno)\s+(run\s+)?(test|t)\b|npx\s+(vitest|jest|mocha|playwright)|vitest|jest|mocha|pytest|py\.test|tox|nox|go\s+test|cargo\s+(test|nextest)|(\.\/)?(gradlew?|mvnw?)\s.*\b(test|check|verify)\b|ctest|rspec|phpunit|dotnet\s+test|make\s+(test|check)\b|python3?\s+-m\s+(pytest|unittest)|python3?\s+\S*runtests\.py)/;
/** How a person who corrects an agent begins, in English. */
const CORRECTS =
  /^\W*(no[,.!\s]|nope\b|wrong\b|that(['’]s| is) (wrong|not)\b|this is (wrong|not)\b|(please )?(revert|undo|roll back)\b|stop\b|i (said|told you|asked)\b|as i said\b|not what i\b|you (broke|forgot|missed|ignored|didn['’]t)\b|don['’]t\b|why did you\b|still (broken|fail|not|wrong))/i;

/** The tool calls of one agent. What it counts depends on the set of calls, results and prompts, not on their order. */
export class CallLog {
  readonly #calls = new Map<string, KeptCall>();
  readonly #results = new Map<string, CallResult>();
  /** When a person corrected the agent. */
  readonly #corrections = new Set<number>();

  add({ id, at, turn, name, input }: RecordedCall): void {
    const known = this.#calls.get(id);
    if (known !== undefined) {
      // A copy may be later.
      known.at = Math.min(known.at, at);
      return;
    }
    const tool = name.toLowerCase();
    const command = COMMANDS.test(tool) ? commandOf(input) : undefined;
    const edits = command === undefined && EDITS.test(tool) ? [...filesOf(input)].map(digest) : [];
    this.#calls.set(id, {
      ...{ id, at, turn, edits, tool: fitName(name || "unnamed", LONGEST_TOOL) },
      // Models write the fields of an object in any order.
      key: digest(`${name}\n${jsonOf(input)}`),
      isCommand: command !== undefined,
      runsTests: command !== undefined && TESTS.test(command),
    });
  }

  /** One that a person rejected stays that, and one that failed. */
  addResult(call: string, result: CallResult): void {
    const known = this.#results.get(call);
    if (known === undefined || RANK[result] > RANK[known]) this.#results.set(call, result);
  }

  /** What a person said to the agent. Epoch ms. */
  addPrompt(at: number, text: string): void {
    if (CORRECTS.test(text)) this.#corrections.add(at);
  }

  /**
   * What came of the calls of each turn, by its key. Turns without calls and corrections are left out.
   * @param isOwn whether a call is one of the agent, if the log has those of several
   */
  outcomes(
    turns: readonly TurnPlace[],
    isOwn: (call: string) => boolean = () => true,
  ): Map<string, ToolOutcome> {
    const outcomes = new Map<string, ToolOutcome>();
    if (this.#calls.size === 0 && this.#corrections.size === 0) return outcomes;
    const byTime = [...turns].sort(inOrder);
    const calls = this.#made(isOwn);
    const counts = countCalls(calls, this.#results);
    for (const [turn, made] of callsByTurn(calls, byTime)) {
      outcomes.set(turn, sumOf(made.map((call) => counts.get(call.id)!)));
    }
    const turnAt = new ValuesByTime(byTime.map(({ key, at }) => ({ at, value: key })));
    for (const at of this.#corrections) {
      const turn = turnAt.at(at - 1);
      if (turn === undefined) continue;
      const outcome = outcomes.get(turn);
      outcomes.set(turn, { ...outcome, corrected: (outcome?.corrected ?? 0) + 1 });
    }
    return outcomes;
  }

  /**
   * The calls that some of the turns asked for, by tool and day: the latest days, if there are too many.
   * @param turns all of the agent
   * @param isSent whether a turn counts, by its key
   */
  called(
    turns: readonly TurnPlace[],
    isSent: (turn: string) => boolean,
    isOwn: (call: string) => boolean = () => true,
  ): CalledTool[] {
    const sums = new Map<string, CalledTool>();
    for (const [turn, made] of callsByTurn(this.#made(isOwn), [...turns].sort(inOrder))) {
      if (!isSent(turn)) continue;
      for (const { id, at, tool } of made) {
        const key = `${Math.floor(at / DAY_MS)} ${tool}`;
        let sum = sums.get(key);
        if (sum === undefined) {
          sum = { tool, day: new Date(at).toISOString().slice(0, 10), calls: 0, failed: 0 };
          sums.set(key, sum);
        }
        sum.calls += 1;
        sum.failed += Number(this.#results.get(id) === "failed");
      }
    }
    return [...sums.values()].sort(latestDaysFirst).slice(0, MOST_CALLED);
  }

  #made(isOwn: (call: string) => boolean): KeptCall[] {
    return [...this.#calls.values()].filter(({ id }) => isOwn(id)).sort(callsInOrder);
  }
}

const DAY_MS = 86_400_000;
/** Characters that the protocol takes of a name. */
const LONGEST_TOOL = 128;

const latestDaysFirst = (a: CalledTool, b: CalledTool) =>
  b.day.localeCompare(a.day) || b.calls - a.calls || (a.tool < b.tool ? -1 : 1);

/** The calls of each turn, by its key. Both in order. */
function callsByTurn(calls: readonly KeptCall[], turns: readonly TurnPlace[]): Map<string, KeptCall[]> {
  const byTurn = new Map<string, KeptCall[]>();
  const nextTurn = nextOf(turns);
  for (const call of calls) {
    const turn = call.turn ?? nextTurn(call.at);
    if (turn === undefined) continue;
    const known = byTurn.get(turn);
    if (known === undefined) byTurn.set(turn, [call]);
    else known.push(call);
  }
  return byTurn;
}

const RANK: Record<CallResult, number> = { ok: 0, failed: 1, rejected: 2 };

const inOrder = (a: TurnPlace, b: TurnPlace) => a.at - b.at || (a.key < b.key ? -1 : 1);
const callsInOrder = (a: KeptCall, b: KeptCall) => a.at - b.at || (a.id < b.id ? -1 : 1);

/** The first turn at or after a time. Times that are asked for must not fall. */
function nextOf(turns: readonly TurnPlace[]): (at: number) => string | undefined {
  let next = 0;
  return (at) => {
    while (next < turns.length && turns[next]!.at < at) next += 1;
    return turns[next]?.key;
  };
}

type CallCounts = Record<"failed" | "repeated" | "reedited" | "rejected" | "failed_tests", boolean> & {
  hasResult: boolean;
};

/** Whether a call repeats another depends on all before it. */
function countCalls(
  calls: readonly KeptCall[],
  results: ReadonlyMap<string, CallResult>,
): Map<string, CallCounts> {
  const seen = new Set<string>();
  /** Commands that had run when a file was last changed, by file. */
  const changedAt = new Map<string, number>();
  let commands = 0;
  const counts = new Map<string, CallCounts>();
  for (const { id, key, isCommand, runsTests, edits } of calls) {
    const result = results.get(id);
    if (isCommand) commands += 1;
    counts.set(id, {
      failed: result === "failed",
      rejected: result === "rejected",
      repeated: seen.has(key),
      reedited: edits.some((file) => (changedAt.get(file) ?? commands) < commands),
      failed_tests: result === "failed" && runsTests,
      hasResult: result !== undefined,
    });
    seen.add(key);
    for (const file of edits) changedAt.set(file, commands);
  }
  return counts;
}

function sumOf(calls: readonly CallCounts[]): ToolOutcome {
  const count = (name: keyof CallCounts) => calls.reduce((sum, call) => sum + Number(call[name]), 0);
  const made = { calls: calls.length, repeated: count("repeated"), reedited: count("reedited") };
  // Without any result, that none failed is not known.
  if (count("hasResult") === 0) return made;
  return {
    ...made,
    failed: count("failed"),
    rejected: count("rejected"),
    failed_tests: count("failed_tests"),
  };
}

const digest = (text: string) => hash("sha256", text, "base64url").slice(0, 22);

/** JSON may have numbers that become infinite when they are read, and infinite numbers have no canonical form. */
function jsonOf(input: unknown): string | undefined {
  try {
    return canonicalJson(input ?? null);
  } catch {
    return JSON.stringify(input);
  }
}

function commandOf(input: unknown): string | undefined {
  if (typeof input === "string") return input;
  const { command, cmd, script } = asObject(input) ?? {};
  const given = command ?? cmd ?? script;
  return Array.isArray(given) ? given.filter((part) => typeof part === "string").join(" ") : asText(given);
}

const PATHS = ["file_path", "path", "filePath", "filename", "notebook_path", "target_file"] as const;
const PATCHED = /^\*\*\* (?:Update|Add|Delete) File: (.+)$/gm;

/** The files that an edit names. */
function filesOf(input: unknown): Set<string> {
  const object = asObject(input);
  const named = PATHS.map((field) => asText(object?.[field])).filter((path) => path !== undefined);
  const patch = typeof input === "string" ? input : (asText(object?.patch) ?? asText(object?.input));
  const patched = patch === undefined ? [] : [...patch.matchAll(PATCHED)].map(([, path]) => path!);
  const several = asArray(object?.edits).map((edit) => asText(asObject(edit)?.file_path));
  return new Set([...named, ...patched, ...several.filter((path) => path !== undefined)]);
}
