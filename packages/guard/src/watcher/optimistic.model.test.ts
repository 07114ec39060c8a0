import fc from "fast-check";
import { expect, it } from "vitest";
import { Conversation } from "../conversation/conversation.ts";
import { fit } from "../fit.ts";
import type { GuardState } from "../state/state.ts";
import { counted, expectPaired, filler, usage, words } from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";
import { limitOf, resolveBudget } from "./budget.ts";
import { optimistic } from "./index.ts";

const LINE = 1_000;
const LIMIT = limitOf(resolveBudget({ total: LINE }));
const MIN_TOKENS = 45;
/** Above `MIN_TOKENS` whatever the calibration has learnt. */
const LARGE = 70;
const KEEP_TURNS = 1;

const op = fc.record({
  what: fc.constantFrom(
    ...(["tools", "tools", "tools", "says", "says", "asks", "trim", "edit", "back"] as const),
    ...(["restart", "process", "send", "send", "settle"] as const),
  ),
  size: fc.integer({ min: 5, max: 250 }),
  where: fc.nat(30),
  mood: fc.constantFrom("short", "slow", "hangs", "throws", "rejects", "empty", "long" as const),
  /** Which of the slow calls end after this step. */
  release: fc.nat(3),
});
type Op = typeof op extends fc.Arbitrary<infer O> ? O : never;

const idsIn = (value: unknown) => [...JSON.stringify(value).matchAll(/@\d+;/g)].map(([id]) => id);
const unique = <T>(values: Iterable<T>) => [...new Set(values)];

/** A harness with one conversation, whose texts all begin with an id of their own. */
class Harness {
  history: Message[] = [{ role: "system", content: "rules" }];
  guard: Conversation<Message>;
  ahead: ReturnType<typeof optimistic>;
  mood: Op["mood"] = "short";
  readonly seen = new Set<string>();
  #pending: (() => void)[] = [];
  #ids = 0;
  #turns = 0;
  #calls = 0;

  constructor() {
    [this.guard, this.ahead] = this.#begin();
    this.ask(10);
  }

  #begin(state?: GuardState) {
    const guard = new Conversation<Message>({
      identity: { harness: "h", session: "s" },
      tokenizer: words,
      model: "m",
      window: 2_000,
      policy: {
        thresholds: { warning: null, ceiling: LINE, soft: null, hard: null, reserve: null },
        mask: { keepTurns: KEEP_TURNS, minTokens: MIN_TOKENS, minGain: 0 },
        compact: { keepTurns: 2, minGain: 0.05 },
        pace: { minTurns: 0, roomTurns: 0 },
        restart: null,
      },
      ...(state && { state }),
    });
    const ahead = optimistic(guard, {
      patienceMs: 60_000,
      compact: ({ content }, signal) =>
        this.#answer(`short ${unique(idsIn(content)).join(" ")}`, content, signal),
      summarize: async ({ messages, signal }) => {
        this.seen.add("summarised");
        return (
          (await this.#answer(`summary ${unique(idsIn(messages)).join(" ")}`, said(messages), signal)) ?? ""
        );
      },
    });
    return [guard, ahead] as const;
  }

  /** What the summariser answers in its mood. */
  #answer(
    text: string,
    given: string,
    signal: AbortSignal,
  ): Promise<string | undefined> | string | undefined {
    const { mood } = this;
    signal.addEventListener("abort", () => this.seen.add("aborted"));
    if (mood === "throws") throw new Error("unavailable");
    if (mood === "rejects") return Promise.reject(new Error("unavailable"));
    if (mood === "empty") return "";
    if (mood === "long") return `${text} ${given}`;
    if (mood === "short") return text;
    return new Promise((resolve) => {
      // A hanging call ends at last, after its text is long gone.
      if (mood === "slow") this.#pending.unshift(() => resolve(text));
      else this.#pending.push(() => resolve(text));
    });
  }

  async release(calls: number): Promise<void> {
    for (const end of this.#pending.splice(0, calls)) end();
    for (let tick = 0; tick < 30; tick++) await Promise.resolve();
  }

  /** Lets every preparation end. */
  async settle(): Promise<void> {
    let done = false;
    void this.ahead.settled().then(() => {
      done = true;
    });
    while (!done) await this.release(Number.POSITIVE_INFINITY);
  }

  #text(size: number): string {
    const id = `@${++this.#ids};`;
    return `${id} ${filler(size, `of${id}`)}`;
  }

  ask(size: number): void {
    this.history.push({ role: "user", content: this.#text(size) });
  }

  act(what: "tools" | "says", size: number, results: number): void {
    if (what === "says") {
      this.history.push({ role: "assistant", content: this.#text(size) });
      return;
    }
    const ids = Array.from({ length: results }, () => `call-${++this.#calls}`);
    this.history.push({
      role: "assistant",
      content: "",
      toolCalls: ids.map((id) => ({ id, name: "read", arguments: { path: `${id}.ts` } })),
    });
    for (const id of ids) this.history.push({ role: "tool", toolCallId: id, content: this.#text(size) });
  }

  /** Index of a message that begins a turn, from `where` on. */
  #begins(where: number): number {
    const first = 1 + (where % Math.max(1, this.history.length - 1));
    const at = this.history.findIndex(({ role }, index) => index >= first && role === "user");
    return at < 0 ? this.history.length : at;
  }

  trim(where: number): void {
    const at = this.#begins(where);
    if (at < this.history.length) this.history.splice(1, at - 1);
  }

  back(where: number): void {
    this.history.length = Math.max(2, this.#begins(where));
  }

  edit(where: number): void {
    const at = 1 + (where % (this.history.length - 1));
    const message = this.history[at]!;
    if (message.content !== "")
      this.history[at] = { ...message, content: this.#text(words(message.content)) };
  }

  restartProcess(): void {
    this.ahead.stop();
    this.history = JSON.parse(JSON.stringify(this.history));
    [this.guard, this.ahead] = this.#begin(JSON.parse(JSON.stringify(this.guard.snapshot())));
  }

  /** Sends the history, and checks what the model would get. */
  async send(): Promise<{ messages: Message[]; level: number }> {
    const before = JSON.stringify(this.history);
    const { guard } = this;
    const cutBefore = guard.state.cut;
    const first = guard.prepare(this.history);
    expect(first.messages).toBeInstanceOf(Array);
    const cut = guard.state.cut;
    if (first.actions.some(({ type }) => type === "compacted")) {
      this.seen.add("applied a summary");
      const covered = this.history.slice(0, cut!.at);
      const known = new Set([...idsIn(covered), ...idsIn(cutBefore?.head ?? "")]);
      const told = new Set(idsIn(cut!.summary));
      expect(
        [...told].filter((id) => !known.has(id)),
        "ids of a stale or foreign summary",
      ).toEqual([]);
      const own = this.history.slice(cutBefore?.at ?? 1, cut!.at).filter(({ role }) => role !== "tool");
      expect(
        idsIn(own).filter((id) => !told.has(id)),
        "ids that the summary does not cover",
      ).toEqual([]);
    }
    const { messages, level } = await fit(guard, this.history, { summarize: () => "asked for at the line" });
    expectPaired(messages);
    expect(JSON.stringify(this.history)).toBe(before);
    const results = new Map(this.history.map(({ toolCallId, content }) => [toolCallId, content]));
    for (const { role, toolCallId, content } of messages) {
      if (role !== "tool" || !content.startsWith("short ")) continue;
      this.seen.add("applied a text");
      const now = unique(idsIn(results.get(toolCallId)));
      // The masking notice is in the same message.
      expect(unique(idsIn(content)), "a text of another result").toEqual(now);
    }
    return { messages, level: level.tokens };
  }

  async turn(): Promise<void> {
    const { messages } = await this.send();
    this.guard.observe(usage(counted(messages), `t${++this.#turns}`));
  }

  /** After a check and all its work, the budget holds, or nothing that may be shortened is left. */
  async checkBudget(): Promise<void> {
    // The second check follows one that may have been overtaken; its result is applied before the third.
    for (let round = 0; round < 3; round++) {
      await this.turn();
      await this.settle();
    }
    const { messages, level } = await this.send();
    if (level <= LIMIT) {
      this.seen.add("within");
      return;
    }
    this.seen.add("exhausted");
    const newest = this.history.map(({ role }) => role).lastIndexOf("assistant");
    const open = this.history
      .slice(0, newest)
      .filter(({ role, content }) => role === "tool" && words(content) >= LARGE)
      .filter((result) => messages.some(({ content }) => content.startsWith(result.content)));
    expect(open, "texts that could be shorter").toEqual([]);
  }
}

const said = (messages: readonly Message[]) => JSON.stringify(messages);

async function run(ops: readonly Op[], seen: Set<string>): Promise<void> {
  const harness = new Harness();
  for (const { what, size, where, mood, release } of ops) {
    harness.mood = mood;
    if (what === "tools" || what === "says") {
      harness.act(what, size, 1 + (where % 3));
      await harness.turn();
    } else if (what === "asks") harness.ask(size);
    else if (what === "trim" || what === "back" || what === "edit") harness[what](where);
    else if (what === "restart") harness.guard.restart();
    else if (what === "process") harness.restartProcess();
    else if (what === "settle") await harness.settle();
    else await harness.turn();
    await harness.release(release);
  }
  harness.mood = "short";
  await harness.settle();
  await harness.checkBudget();
  for (const one of harness.seen) seen.add(one);
}

it("whatever the harness and the summariser do, no edit is stale or foreign, no result is alone, and the budget holds [W6 W7]", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 8, maxLength: 50 }), (ops) => run(ops, seen)),
    { numRuns: 500 },
  );
  for (const kind of ["summarised", "aborted", "applied a summary", "applied a text", "within", "exhausted"])
    expect([...seen]).toContain(kind);
});
