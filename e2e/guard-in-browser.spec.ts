import { fileURLToPath } from "node:url";
import { expect, test } from "@playwright/test";
import { createGuard } from "@plimsoll/guard";
import { build } from "esbuild";

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Runs a guarded agent and returns every result. Runs in Node and, serialized, in the page. */
function guardedRun(create: typeof createGuard): unknown {
  const events: unknown[] = [];
  const guard = create({
    identity: { harness: "h" },
    window: 8_000,
    policy: { thresholds: { warning: null, ceiling: null, soft: "70%", hard: "90%" } },
    clock: () => 0,
    onEvent: (event) => events.push(event),
  }).conversation("s");
  const history: Parameters<typeof guard.prepare>[0][number][] = [
    { role: "user", content: "Read the sources." },
  ];
  const sent: unknown[] = [];
  for (let turn = 0; turn < 40; turn++) {
    const toolCalls = [{ id: `c${turn}`, name: "read", arguments: { path: `f${turn}.rs` } }];
    history.push({ role: "assistant", content: "", toolCalls });
    history.push({ role: "tool", toolCallId: `c${turn}`, content: "    step();\n".repeat(150) });
    const { messages, actions, level } = guard.prepare(history);
    sent.push(messages, actions);
    guard.observe({ id: `t${turn}`, usage: { prompt_tokens: level.tokens } });
  }
  return JSON.parse(JSON.stringify({ events, sent, state: guard.snapshot() }));
}

test("the guard behaves the same in a browser and in Node", async ({ page }) => {
  const { outputFiles } = await build({
    entryPoints: [at("packages/guard/src/index.ts")],
    tsconfig: at("tsconfig.json"),
    bundle: true,
    write: false,
    format: "iife",
    globalName: "plimsollGuard",
    platform: "browser",
  });
  await page.addScriptTag({ content: outputFiles[0]!.text });
  const there = await page.evaluate(`(${guardedRun.toString()})(plimsollGuard.createGuard)`);
  const here = guardedRun(createGuard) as { events: { type: string }[] };
  expect(here.events.filter(({ type }) => type === "masked").length).toBeGreaterThan(1);
  expect(there).toEqual(here);
});
