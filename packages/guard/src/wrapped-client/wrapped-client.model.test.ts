import "../testing/clean-environment.ts";

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GuardState } from "../state/state.ts";
import {
  anthropicHarness,
  type ClientMessage,
  chatHarness,
  type GuardedHarness,
  geminiHarness,
} from "../testing/guarded-clients.ts";
import { MESSAGE_RULES } from "../testing/message-rules.ts";
import {
  type ModelRequest,
  type ScriptedModel,
  startScriptedModel,
} from "../testing/scripted-model/index.ts";
import { withinWindow } from "../testing/scripted-model/window-rules.ts";
import { filler } from "../testing/test-guard.ts";

type Provider = keyof typeof MESSAGE_RULES;

/** Sizes that the harness knows. It does not know that of `unnamed`. Tokens. */
const WINDOWS: Readonly<Record<string, number>> = { large: 9_000, small: 5_000 };
/** @param ceiling far below the window, or close to it. Percent */
const policyOf = (ceiling: number) =>
  ({
    thresholds: {
      warning: null,
      ceiling: `${ceiling}%`,
      soft: `${ceiling - 10}%`,
      hard: null,
      reserve: null,
    },
    mask: { minTokens: 40, keepTurns: 1 },
    compact: { keepTurns: 2, minGain: 0.01 },
    restart: null,
  }) as const;
/** An agent begins with instructions, so that a server's first count proves something. About 1,100 tokens. */
const SYSTEM = `Obey. ${filler(850, "rule")}`;

/** What a server counts instead of the whole prompt, after it counted the first one. Tokens. */
const COUNTS = {
  "the whole prompt": (now: number) => now,
  "new tokens alone": (now: number, before: number) => Math.max(1, now - before),
  "a constant": () => 318,
  "a third": (now: number) => Math.round(now / 3),
  nothing: () => 0,
} as const;

/** The server of a run. */
interface Server {
  provider: Provider;
  counts: keyof typeof COUNTS;
  /** Its tokens per estimated token. */
  scale: number;
  /** Clears old results of tools by itself, as Anthropic's context editing does. */
  edits: boolean;
}

let server: Server;
/** The last prompts, by conversation: their true tokens, and the ids in them. */
const prompts = new Map<string, { tokens: number; ids: Set<string> }>();
let model: ScriptedModel;
beforeAll(async () => {
  model = await startScriptedModel((request) => {
    const { provider, scale } = server;
    const message = MESSAGE_RULES[provider](request.messages);
    if (message !== undefined) return { refuse: { status: 400, message } };
    const cleared = server.edits ? clearable(request) : 0;
    const tokens = Math.round((request.promptTokens - cleared) * scale);
    return withinWindow(windowOf(request), () => {
      const applied = {
        type: "clear_tool_uses_20250919",
        cleared_tool_uses: 1,
        cleared_input_tokens: cleared,
      };
      return {
        text: "ok",
        promptTokens: countOf(request, tokens),
        ...(cleared > 0 && { fields: { context_management: { applied_edits: [applied] } } }),
      };
    })({ ...request, promptTokens: tokens });
  });
});
afterAll(() => model.close());

/** The window of the model that answers: the last one that the call falls back to. */
function windowOf({ body }: ModelRequest): (model: string) => number {
  const { models = [], fallbacks = [] } = body as { models?: string[]; fallbacks?: { model: string }[] };
  const last = [...models, ...fallbacks.map((one) => one.model)].at(-1);
  return (name) => WINDOWS[last ?? name] ?? WINDOWS.large!;
}

/** Estimated tokens of all results but the newest two. */
function clearable({ messages }: ModelRequest): number {
  const results = messages.filter(isResult).map((message) => JSON.stringify(message).split(/\s+/).length);
  return Math.round(results.slice(0, -2).reduce((sum, size) => sum + size, 0));
}

/** What the server counts for a prompt. One that has nothing of the one before begins another conversation. */
function countOf({ messages }: ModelRequest, tokens: number): number {
  const ids = new Set(idsIn(messages));
  const [first] = ids;
  if (first === undefined) return tokens;
  const name = first[1]!;
  const before = prompts.get(name);
  prompts.set(name, { tokens, ids });
  const continues = before !== undefined && [...ids].some((id) => before.ids.has(id));
  return continues ? COUNTS[server.counts](tokens, before.tokens) : tokens;
}

const idsIn = (value: unknown) => [...JSON.stringify(value).matchAll(/#[a-z]+-\d+/g)].map(([id]) => id);

/** As another process reads it from a file. */
const copied = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

function harness(ceiling: number, states?: ReadonlyMap<string, GuardState>): GuardedHarness {
  const options = {
    identity: { harness: "h" },
    window: (name: string) => WINDOWS[name],
    policy: policyOf(ceiling),
    onWarning: () => {},
  };
  const fitting = {
    summarize: ({ messages }: { messages: readonly unknown[] }) =>
      `summary of ${[...new Set(idsIn(messages))].join(" ")}`,
  };
  const { provider } = server;
  const make =
    provider === "anthropic" ? anthropicHarness : provider === "gemini" ? geminiHarness : chatHarness;
  const made = make(model.url, options, fitting);
  for (const [key, state] of states ?? []) made.guard.conversation(key, { state });
  return made;
}

const snapshot = ({ guard }: GuardedHarness) =>
  new Map(guard.conversations().map(([key, one]) => [key, one.snapshot()]));

const MODELS = [["large"], ["small"], ["large", "small"], ["unnamed"]] as const;

/** What a harness may do next to one of its conversations. */
const step = fc.record({
  who: fc.nat({ max: 1 }),
  what: fc.constantFrom(
    ...["turn", "turn", "turn", "tools", "tools", "log"],
    ...["trim", "edit", "back", "retry", "abort", "title", "restart"],
  ),
  size: fc.integer({ min: 20, max: 300 }),
  where: fc.nat({ max: 20 }),
  models: fc.constantFrom(...MODELS),
  answer: fc.constantFrom(50, 400, 1_000),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

class Talk {
  readonly name: string;
  messages: { ids: string[]; json: ClientMessage; begins: boolean; edited?: string[] }[] = [];
  /** Ids of messages that the harness dropped from the beginning. */
  readonly dropped = new Set<string>();
  #said = 0;

  constructor(name: string) {
    this.name = name;
  }

  id(): string {
    return `#${this.name}-${++this.#said}`;
  }

  add(json: ClientMessage, begins: boolean): void {
    this.messages.push({ ids: idsIn(json), json, begins });
  }

  /** Indexes where a question begins. */
  questions(): number[] {
    return this.messages.flatMap(({ begins }, index) => (begins ? [index] : []));
  }
}

/** Longer messages of a user are rarely instructions alone. */
const INSTRUCTION_WORDS = 40;

type Said = Talk["messages"][number];

/** How a harness works. */
interface Habits {
  /** It names its conversations. */
  keyed: boolean;
  /** It loads its history for every call. */
  copies: boolean;
  /** Line of its policy, in percent of the window. */
  ceiling: number;
}

async function run(steps: readonly Step[], { keyed, copies, ceiling }: Habits): Promise<void> {
  const first = model.requests.length;
  prompts.clear();
  let harnessNow = harness(ceiling);
  let sideCalls = 0;
  const talks = [new Talk("a"), new Talk("b")];

  const call = async (talk: Talk, { models, answer }: Step, stream = false) => {
    const { client, guard } = harnessNow;
    const said = talk.messages.map(({ json }) => json);
    const given = copies ? copied(said) : said;
    const before = JSON.stringify(given);
    // Nothing is known of the window of a new conversation's only model.
    const isNew = !keyed || talk.messages.length === 1;
    const asked = models[0] === "unnamed" && isNew ? MODELS[0] : models;
    const options = { key: keyed ? talk.name : undefined, stream, models: [...asked] as never, answer };
    for await (const _ of await client.call(given, { ...options, system: SYSTEM })) break;
    expect(JSON.stringify(given)).toBe(before);
    for (const message of talk.messages) message.edited = [];
    const { messages } = model.requests.at(-1)!;
    const sent = new Set(idsIn(messages));
    // Close to the window, the oldest turns may be cut for a large result. Instructions of the user stay.
    const isInstruction = ({ json, begins }: Said) =>
      begins && JSON.stringify(json).split(" ").length <= INSTRUCTION_WORDS;
    const mayLose = (message: Said) => isResult(message.json) || (ceiling > 50 && !isInstruction(message));
    const must = talk.messages.filter((message) => !mayLose(message)).flatMap(({ ids }) => ids);
    const lost = must.filter((id) => !sent.has(id));
    expect(lost, "messages that were not summarised").toEqual([]);
    const own = new Set([...talk.messages.flatMap(({ ids }) => ids), ...talk.dropped]);
    expect(
      [...sent].filter((id) => !own.has(id)),
      "of another history",
    ).toEqual([]);
    if (!keyed || stream) return;
    const { tokens } = prompts.get(talk.name)!;
    const { level } = guard.conversation(talk.name).state;
    expect(Math.abs(level! - tokens) / tokens, `level ${level} of ${tokens}`).toBeLessThan(0.1);
  };

  for (const now of steps) {
    const { who, what, size, where } = now;
    const talk = talks[who]!;
    const { client } = harnessNow;
    const questions = talk.questions();
    const ask = () => talk.add(client.user(`${talk.id()} ${filler(size, talk.name)}`), true);
    const answer = () => talk.add(client.agent(`${talk.id()} ${filler(size >> 1, talk.name)}`), false);
    const use = (id: string, words: number) => {
      for (const json of client.tool(id, `${talk.id()} ${filler(words, talk.name)}`)) talk.add(json, false);
    };
    switch (what) {
      case "turn":
      case "tools":
      case "log": {
        ask();
        await call(talk, now);
        const results = what === "tools" ? [size, size, size] : what === "log" ? [size * 30] : [];
        for (const [at, words] of results.entries()) {
          use(`call_${at}`, words);
          await call(talk, now);
        }
        answer();
        break;
      }
      case "trim": {
        const at = questions[where % Math.max(1, questions.length)] ?? 0;
        // What was edited and then dropped without a call was never seen to be edited.
        for (const { ids, edited = [] } of talk.messages.splice(0, at))
          for (const id of [...ids, ...edited]) talk.dropped.add(id);
        break;
      }
      case "back": {
        const at = questions.at(-1 - (where % 3));
        if (at !== undefined) talk.messages.length = at;
        break;
      }
      case "edit": {
        const at = questions[where % Math.max(1, questions.length)];
        if (at !== undefined) {
          const json = client.user(`${talk.id()} ${filler(size, talk.name)}`);
          const { ids, edited = [] } = talk.messages[at]!;
          talk.messages[at] = { ids: idsIn(json), json, begins: true, edited: [...edited, ...ids] };
        }
        break;
      }
      case "retry":
      case "abort":
        // Only a question can be sent again.
        if (questions.length === 0) break;
        ask();
        await call(talk, now, what === "abort");
        await call(talk, now);
        answer();
        break;
      case "title": {
        const title = [client.user(`Write a title. ${filler(10, "t")}`)];
        const options = { key: undefined, stream: false, models: MODELS[0], answer: 20, system: "" } as const;
        await client.call(title, { ...options, models: [...options.models] });
        expect(model.requests.at(-1)!.messages).toEqual(title);
        break;
      }
      case "restart":
        sideCalls += harnessNow.guard.sideCalls;
        harnessNow = harness(ceiling, new Map(copied([...snapshot(harnessNow)])));
        for (const one of talks) one.messages = copied(one.messages);
        break;
    }
  }
  sideCalls += harnessNow.guard.sideCalls;
  const turns = [...snapshot(harnessNow).values()].reduce((sum, { allTurns }) => sum + allTurns, 0);
  expect(turns + sideCalls, "counted calls").toBe(model.requests.length - first);
}

const isResult = ({ role, content, parts }: Readonly<ClientMessage>) =>
  role === "tool" ||
  (Array.isArray(content) && (content as ClientMessage[]).some(({ type }) => type === "tool_result")) ||
  (Array.isArray(parts) &&
    (parts as ClientMessage[]).some(({ functionResponse }) => functionResponse !== undefined));

const { FUZZ_RUNS } = process.env;
/** The same inputs in each run of all tests; others in a longer search. */
const LENGTH = FUZZ_RUNS === undefined ? { numRuns: 20, seed: 31 } : { numRuns: Number(FUZZ_RUNS) };
const steps = fc.array(step, { minLength: 5, maxLength: 40 });
const habits = fc.record({ copies: fc.boolean(), ceiling: fc.constantFrom(50, 90) });

describe.each(Object.keys(MESSAGE_RULES) as Provider[])(
  "a harness that does anything, on a server of %s that checks prompt and answer",
  (provider) => {
    it.each([true, false])("loses nothing, mixes nothing and is never refused; keys: %s", async (keyed) => {
      // Tokenizers differ by less than the guard allows for. It has no count of a call that it cannot place.
      const scale = fc.constantFrom(0.9, 1, keyed ? 1.12 : 1.04);
      await fc.assert(
        fc.asyncProperty(steps, habits, scale, fc.boolean(), (list, habits, scale, edits) => {
          server = { provider, counts: "the whole prompt", scale, edits: edits && provider === "anthropic" };
          return run(list, { keyed, ...habits });
        }),
        { ...LENGTH, endOnFailure: true },
      );
    });

    it("keeps the level while the server lies", async () => {
      const counts = fc.constantFrom(...(Object.keys(COUNTS) as (keyof typeof COUNTS)[]));
      await fc.assert(
        fc.asyncProperty(steps, habits, counts, (list, habits, counts) => {
          server = { provider, counts, scale: 1, edits: false };
          return run(list, { keyed: true, ...habits });
        }),
        { ...LENGTH, endOnFailure: true },
      );
    });
  },
);
