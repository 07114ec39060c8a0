import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fit } from "../fit.ts";
import {
  ASK,
  CEILING_ONLY,
  counted,
  filler,
  OUROBOROS,
  SYSTEM,
  testGuard,
  toolTurn,
  usage,
  words,
} from "../testing/test-guard.ts";
import type { Message } from "../view/shape.ts";
import { recallTool } from "./recall-tool.ts";

function withStore(options: object = {}) {
  const texts = new Map<string, string>();
  const store = {
    put: (key: string, text: string) => void texts.set(key, text),
    get: (key: string) => texts.get(key),
  };
  return { ...testGuard({ store, policy: CEILING_ONLY, ...options }), texts };
}

/** One read of a file, whose text names the file. */
const read = (path: string, tokens = 400): Message[] => {
  const [call, result] = toolTurn(tokens, "file_read", { path }) as [Message, Message];
  return [call, { ...result, content: `${path} ${result.content}` }];
};

type Guard = ReturnType<typeof withStore>["guard"];

/** Runs an agent that reads these files, with a summary that says nothing of them. */
async function readAll(guard: Guard, paths: readonly string[], tokens?: number) {
  const history: Message[] = [SYSTEM, ASK];
  let sent: Message[] = [];
  for (const [at, path] of paths.entries()) {
    history.push(...read(path, tokens));
    sent = (await fit(guard, history, { summarize: () => "much was read" })).messages;
    guard.observe(usage(counted(sent), `t${at}`));
  }
  return { history, sent, text: sent.map(({ content }) => content).join("\n") };
}

const files = (count: number) => Array.from({ length: count }, (_, at) => `src/f${at}.ts`);
/** The keys of the lines that name a file. */
const keysOf = (text: string, path: string) =>
  text.split("\n").flatMap((line) => (line.endsWith(` file_read: ${path}`) ? [line.split(" ")[1]!] : []));

describe("the results that a summary removes with their turns", () => {
  it("are listed beside it, each with the key of its whole text", async () => {
    const { guard, of } = withStore();
    const { text } = await readAll(guard, files(16));
    expect(of("compacted").length).toBeGreaterThan(0);
    const recall = recallTool(guard);
    const gone = files(16).filter((path) => !text.includes(`${path} word`));
    expect(gone.length).toBeGreaterThan(5);
    for (const path of gone) {
      const [key] = keysOf(text, path);
      expect(recall.execute({ key: key! }), path).toBe(`${path} ${filler(400)}`);
    }
  });

  it("stay listed after the next summaries and a restart", async () => {
    const { guard, of } = withStore({ policy: { ...OUROBOROS, mask: null, compact: null } });
    const { text } = await readAll(guard, files(60));
    expect(of("restarted").length).toBeGreaterThan(0);
    expect(guard.recall(keysOf(`${text}\n${guard.recall("removed-results")}`, "src/f0.ts")[0]!)).toContain(
      "src/f0.ts",
    );
  });

  it("are listed once for the same call, with the newest key", async () => {
    const { guard } = withStore();
    const { text } = await readAll(guard, Array<string>(16).fill("src/a.ts"));
    expect(keysOf(text, "src/a.ts")).toHaveLength(1);
  });

  it("have at most a twentieth of the line in the context; the key of the list has the rest", async () => {
    const { guard } = withStore();
    const { sent, text } = await readAll(guard, files(300), 100);
    const list = /\[Results of tools before it[\s\S]*\[(\d+) more: recall key removed-results\]/.exec(text)!;
    expect(words(list[0])).toBeLessThanOrEqual(5_000 / 20);
    expect(Number(list[1])).toBeGreaterThan(100);
    const listed = guard.recall("removed-results")!;
    for (const path of files(200)) expect(guard.recall(keysOf(listed, path)[0]!)).toContain(path);
    expect(counted(sent)).toBeLessThan(10_000);
  });

  it("are listed up to the newest 500", async () => {
    const { guard } = withStore();
    await readAll(guard, files(700), 60);
    expect(guard.recall("removed-results")!.split("\n")).toHaveLength(500);
  });

  it("are not listed without a store, nor if the store fails", async () => {
    const { guard } = testGuard({ policy: CEILING_ONLY });
    const { text } = await readAll(guard, files(16));
    expect(text).not.toContain("recall key");
    expect(guard.recall("removed-results")).toBeUndefined();
    const failing = {
      put() {
        throw new Error("disk full");
      },
      get: () => undefined,
    };
    const { guard: other, of } = testGuard({ policy: CEILING_ONLY, store: failing });
    expect((await readAll(other, files(16))).text).not.toContain("recall key");
    expect(of("compacted").length).toBeGreaterThan(0);
  });

  it("are still found by the guard of another process", async () => {
    const { guard, texts } = withStore();
    await readAll(guard, files(16));
    const state = JSON.parse(JSON.stringify(guard.snapshot()));
    const store = { put: () => {}, get: (key: string) => texts.get(key) };
    const { guard: restored } = testGuard({ policy: CEILING_ONLY, store, state });
    expect(restored.recall("removed-results")).toBe(guard.recall("removed-results"));
  });

  it("are forgotten with the history that had them", async () => {
    const { guard } = withStore();
    await readAll(guard, files(16));
    guard.prepare([SYSTEM, { role: "user", content: "something else" }]);
    expect(guard.recall("removed-results")).toBeUndefined();
  });

  it("leave room for the prompt and its answer, however many there are", async () => {
    const turn = fc.record({
      tokens: fc.integer({ min: 30, max: 6_000 }),
      path: fc.string({ maxLength: 90 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 5, maxLength: 40 }), async (turns) => {
        const { guard } = withStore({ policy: {} });
        const history: Message[] = [ASK];
        for (const [at, { tokens, path }] of turns.entries()) {
          history.push(...read(path, tokens));
          const { messages, actions } = await fit(guard, history, {
            summarize: () => "read",
            outputTokens: 1_000,
          });
          if (actions.some(({ type }) => type === "stop")) continue;
          expect(counted(messages) + 1_000).toBeLessThanOrEqual(10_000);
          guard.observe(usage(counted(messages), `t${at}`));
        }
      }),
      { numRuns: 30 },
    );
  });
});
