import { chord, expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

const MINUTE = 60_000;

/** Adds turns to an agent by what they read from a cache and wrote to it. Tokens. */
const turnsOf = (agent: EventBuilder) => (read: number, written: number) =>
  agent.turn(0, {
    usage: { input_tokens: 10, cache_read_tokens: read, cache_write_tokens: written, output_tokens: 300 },
  });

test("why caches were rebuilt, what it cost, and the turn at which it happened @phone", async ({
  page,
  send,
  harness,
}, { project }) => {
  const agent = new EventBuilder({
    harness,
    session: "caches",
    window: 200_000,
    start: Date.now() - 40 * MINUTE,
    pace: MINUTE,
  });
  const turn = turnsOf(agent);
  turn(0, 40_000);
  turn(40_000, 10_000);
  agent.pause(10 * MINUTE);
  turn(0, 52_000);
  turn(52_000, 1_000);
  // The first message is not what it was.
  turn(0, 54_000);
  turn(54_000, 1_000);
  await send(agent.take());

  await page.goto(`/?harness=${harness}`);
  await expect(page.getByTestId("fleet-row")).toHaveCount(1);
  if (project.name === "desktop") await chord(page, "g", "i");
  else await page.goto(`/insights?harness=${harness}`);
  await expect(page).toHaveURL(/\/insights\?harness=/);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Insights");

  const panel = page.getByRole("region", { name: "Why caches were rebuilt" });
  const causes = panel.getByTestId("rebuild-causes").getByRole("listitem");
  await expect(causes).toHaveCount(2);
  await expect(causes.first()).toContainText(/tools or instructions changed.*53k.*\$0\.3048/);
  await expect(causes.last()).toContainText(/idle for longer than the cache lives.*50k.*\$0\.2875/);
  await expect(panel.getByText(/^\$0\.592\d above the price of reading them from the cache/)).toBeVisible();
  await expect(panel.getByTestId("bar").first()).toBeVisible();
  expect(await violations(page)).toEqual([]);

  await test.step("the table leads to the sessions of the hour, and a session marks the turns", async () => {
    await panel.getByRole("button", { name: "View as table" }).click();
    await expect(panel.getByRole("columnheader")).toHaveText([
      "From",
      "idle for longer than the cache lives",
      "tools or instructions changed",
    ]);
    expect(await violations(page), "as a table").toEqual([]);
    await panel.getByRole("row").nth(1).getByRole("link").click();
    await page.getByTestId("session-row").first().getByRole("link").first().click();
    const marks = page.getByText("of the cache rebuilt: ");
    await expect(marks).toHaveText([
      /^53k tokens of the cache rebuilt: tools or instructions changed/,
      /^50k tokens of the cache rebuilt: idle for longer than the cache lives/,
    ]);
  });
});

test("what falls were worth, over all and one by one @phone", async ({ page, send, harness }) => {
  const agent = new EventBuilder({
    harness,
    session: "falls",
    window: 200_000,
    start: Date.now() - 40 * MINUTE,
    pace: MINUTE,
  });
  const turn = turnsOf(agent);
  for (let level = 40_000; level <= 160_000; level += 20_000) turn(level - 20_000, 20_000);
  agent.event("compacted", {
    trigger: "auto",
    survived: {
      rule: { verbatim: 8, near: 1, absent: 3 },
      prompt: { verbatim: 10, near: 4, absent: 26 },
      file: { verbatim: 6, near: 1, absent: 2 },
    },
  });
  turn(10_000, 30_000);
  for (let level = 60_000; level <= 160_000; level += 20_000) turn(level - 20_000, 20_000);
  agent.event("compacted", { trigger: "auto" });
  turn(10_000, 145_000);
  agent.event("compacted", { trigger: "auto" });
  turn(10_000, 20_000);
  await send(agent.take());

  await page.goto(`/insights?harness=${harness}`);
  const panel = page.getByRole("region", { name: "What falls were worth" });
  await expect(panel.getByTestId("falls-total")).toContainText(
    /^3 falls\. .*1 of 3 with a list price have paid back/,
  );
  await expect(panel.getByRole("row", { name: /claude-opus-4-6 · compacted/ })).toContainText("1 of 3");
  await expect(panel.getByRole("row", { name: /^150k to 200k/ })).toContainText("1 of 3");
  await expect(
    panel.getByRole("table", { name: "What compactions kept" }).getByRole("row").last(),
  ).toContainText(/1 of 3.*75% of 12.*78% of 9/);
  const lost = panel.getByTestId("falls").getByRole("listitem");
  await expect(lost).toHaveCount(1);
  await expect(lost).toContainText(/Compacted, 160k to 155k · falls|compacted, 160k to 155k · falls/);
  await expect(lost).toContainText("full again at once");
  expect(await violations(page)).toEqual([]);

  await lost.getByRole("link", { name: "falls" }).click();
  const own = page.getByRole("region", { name: "What falls were worth" });
  await expect(own.getByRole("listitem")).toHaveText([
    /compacted, 155k to 30k.*1 turn since.*what it lost cannot be seen/,
    /compacted, 160k to 155k.*not paid back.*full again at once/,
    /compacted, 160k to 40k.*paid back after 3 turns · full again after 7 turns · cost \$0\.17\d\d; saved \$0\.42\d\d.*lost 3 of 12 rules, 26 of 40 other sentences, 2 of 9 files/,
  ]);
  expect(await violations(page), "a session").toEqual([]);
});

test("what fills a window, and what tools take over all sessions @phone", async ({ page, send, harness }) => {
  const start = Date.now() - 40 * MINUTE;
  const agent = new EventBuilder({ harness, session: "full", window: 200_000, start, pace: MINUTE });
  agent.turn(20_000).turn(90_000);
  const long = "mcp__a_server_with_a_long_name__a_tool_whose_name_is_longer_still";
  agent.turn(150_000, {
    contents: {
      parts: [
        { kind: "tool", tool: "Read", tokens: 60_000, count: 14 },
        { kind: "tool", tool: "mcp__github__search_code", tokens: 30_000, count: 3 },
        { kind: "tool", tool: "mcp__github__get_issue", tokens: 6_000, count: 2 },
        { kind: "tool", tool: long, tokens: 9_000, count: 1 },
        { kind: "tool_definition", tool: "mcp__idle__search", tokens: 3_000 },
        { kind: "user", tokens: 2_000, count: 4 },
      ],
      called: [{ tool: "Read", day: new Date(start).toISOString().slice(0, 10), calls: 1_214, failed: 2 }],
      largest: [
        { kind: "tool", tool: "Read", tokens: 31_000, at: start + MINUTE },
        { kind: "tool", tool: long, tokens: 9_000, at: start + 2 * MINUTE },
      ],
    },
  });
  await send(agent.take());

  await page.goto(`/insights?harness=${harness}`);
  const tools = page.getByRole("region", { name: "What tools take" });
  await expect(tools.getByRole("row")).toHaveText([
    /Tokens/,
    /^Read.*1,21460k40.0%$/,
    /^MCP server github.*never36k24.0%$/,
    /^search_code.*never30k20.0%$/,
    /^get_issue.*never6k4.0%$/,
    /^MCP server a_server.*never9k6.0%$/,
    /^a_tool_whose.*never9k6.0%$/,
    /^MCP server idle.*never3k2.0%$/,
    /^search.*never3k2.0%$/,
  ]);
  expect(await violations(page)).toEqual([]);

  const line = page.getByTestId("tools-in-windows");
  const inShort =
    "Tools in windows: Read 40.0%, github 24.0%, a_server_with_a_long_name 6.0% · 3 loaded and never";
  await page.goto(`/?harness=${harness}`);
  await expect(line).toContainText(inShort);
  await line.click();
  await expect(page).toHaveURL(/\/insights\?.*harness=.*#tools$/);
  await expect(tools).toBeInViewport();

  await page.goto(`/sessions?harness=${harness}`);
  await expect(line).toContainText(inShort);
  await page.getByTestId("session-row").first().getByRole("link").first().click();
  const window = page.getByRole("region", { name: "What fills the window" });
  await expect(window).toContainText("150k tokens at turn 3");
  await expect(window.getByTestId("held-parts").getByRole("row")).toHaveText([
    /^Read14.*60k40.0%$/,
    /^MCP server github5.*36k24.0%$/,
    /^MCP server a_server.*9k6.0%$/,
    /^MCP server idle.*3k2.0%$/,
    /^prompts and notices4.*2k1.3%$/,
    /^not reported.*40k26.7%$/,
  ]);
  const largest = window.getByTestId("held-largest").getByRole("listitem");
  await expect(largest).toHaveText([/^Readturn 231k$/, /^a_tool_whose.*turn 39k$/]);
  expect(await violations(page), "a session").toEqual([]);
  await largest.first().getByRole("button").click();
  await expect(page).toHaveURL(/turn=/);
});

test("from which level on calls fail more often, and a policy draft from it @phone", async ({
  page,
  send,
  harness,
  expectedErrors,
}) => {
  // Agents are counted half a minute after their latest event, if not at once. The first four stay below 50k tokens.
  test.slow();
  const start = Date.now() - 50 * MINUTE;
  const sessions = Array.from({ length: 36 }, (_, session) => {
    const agent = new EventBuilder({ harness, session: `s-${session}`, window: 200_000, start });
    for (let turn = 1; turn <= 50; turn++) {
      const tokens = turn * (800 + 50 * session);
      const failed = (turn + session) % (tokens >= 50_000 ? 4 : 10) === 0 ? 1 : 0;
      agent.turn(tokens, { outcome: { calls: 1, failed, repeated: 0, retried: turn % 25 === 0 ? 1 : 0 } });
    }
    return agent.take();
  });
  for (let first = 0; first < sessions.length; first += 6)
    await send(sessions.slice(first, first + 6).flat());

  const panel = page.getByRole("region", { name: "Where quality falls" });
  await expect(async () => {
    await page.goto(`/insights?harness=${harness}`);
    await expect(panel.getByTestId("quality-sentence")).toContainText(
      /^Failed tool calls rise from [\d.]+% to \d+% of calls from 50k tokens on \(32 sessions, [\d.]+ to [\d.]+ points\)/,
      { timeout: 3_000 },
    );
  }).toPass();
  await expect(panel.getByRole("row", { name: /^50k to 100k/ })).toContainText(/\+[\d.]+ to \+[\d.]+/);
  expect(await violations(page)).toEqual([]);

  await panel.getByRole("button", { name: "By share of the line" }).click();
  await expect(panel.getByRole("columnheader", { name: "Share of the line" })).toBeVisible();
  await panel.getByRole("button", { name: /^Repeated calls/ }).click();
  await expect(panel.getByTestId("quality-sentence")).toContainText("are not certainly more at any level");
  expect(await violations(page), "by share").toEqual([]);
  await panel.getByRole("button", { name: "Sent again 4%" }).click();
  await expect(panel.getByRole("columnheader", { name: "Of requests" })).toBeVisible();

  await test.step("a signal that fails to load leaves the others to choose", async () => {
    expectedErrors.push(/net::ERR_FAILED/);
    const reads = /\/api\/trpc\/[^?]*\bquality\b/;
    await page.route(reads, (route) => route.abort());
    await panel.getByRole("button", { name: /^Rejected/ }).click();
    await expect(panel.getByRole("alert")).toContainText("Failed to load the outcomes of tool calls");
    expect(await violations(page), "failed").toEqual([]);
    // What was loaded before may be of a range that has moved on since.
    await page.unroute(reads);
  });
  await panel.getByRole("button", { name: /^Failed calls/ }).click();
  await expect(panel.getByRole("alert")).toHaveCount(0);
  await panel.getByRole("link", { name: "Draft a ceiling of 50k tokens" }).click();
  await expect(page).toHaveURL(/\/policies\?scope=/);
  await expect(page).not.toHaveURL(/ceiling=/);
  await expect(page.getByRole("status").filter({ hasText: ", changed" })).toBeVisible();
  await expect(page.getByLabel("ceiling in tokens")).toHaveValue("50000");
});

test("what goes wrong after compactions, with rules put back and without @phone", async ({
  page,
  send,
  harness,
}, { project }) => {
  test.slow();
  const start = Date.now() - 50 * MINUTE;
  const outcome = (failed: number) => ({ outcome: { calls: 20, failed, rejected: 0 } });
  const session = (number: number, isPutBack: boolean) => {
    const agent = new EventBuilder({ harness, session: `s-${number}-${isPutBack}`, window: 200_000, start });
    agent.turn(90_000, outcome(2)).event("compacted", { trigger: "auto" });
    if (isPutBack)
      agent.event("reinjected", { tokens: 90, checkpoint: false, rules: 2, lines: 1, left_out: 0 });
    return agent.turn(20_000, outcome(isPutBack ? 2 : 8)).take();
  };
  const sessions = Array.from({ length: 36 }, (_, number) => session(number, number < 32));
  for (let first = 0; first < sessions.length; first += 6)
    await send(sessions.slice(first, first + 6).flat());

  const table = page.getByRole("table", { name: "Calls that went wrong around compactions" });
  await expect(async () => {
    await page.goto(`/insights?harness=${harness}`);
    await expect(table.getByRole("row").nth(1)).toContainText("32", { timeout: 3_000 });
    await expect(table.getByRole("row").nth(2)).toContainText("4", { timeout: 1_000 });
  }).toPass();
  const cells = (row: number) => table.getByRole("row").nth(row).getByRole("cell");
  const shown = (row: number) => cells(row).filter({ visible: true });
  if (project.name === "desktop") {
    await expect(shown(1)).toHaveText(["32", "32", "10%", "10%", "0 to 0"]);
    await expect(shown(2)).toHaveText(["4", "4", "10%", "40%", "+30 to +30"]);
  } else await expect(shown(2)).toHaveText(["4", "+30 to +30"]);
  // It takes 30 sessions to say more.
  await expect(table.getByRole("row").nth(1)).not.toHaveClass(/text-faint/);
  await expect(table.getByRole("row").nth(2)).toHaveClass(/text-faint/);
  expect(await violations(page)).toEqual([]);
});

test("a range in which no cache was rebuilt says so", async ({ page, send, harness }) => {
  const agent = new EventBuilder({ harness, session: "steady", window: 200_000 });
  await send(agent.turns(10_000, 20_000, 30_000).take());
  await page.goto(`/insights?harness=${harness}&range=1h`);
  await expect(page.getByRole("region", { name: "Why caches were rebuilt" })).toContainText(
    "No cache was rebuilt in this range",
  );
  await expect(page.getByTestId("rebuild-causes")).toHaveCount(0);
  await expect(page.getByTestId("quality-none")).toContainText(
    "No turn in this range reports the outcome of its tool calls",
  );
  expect(await violations(page)).toEqual([]);
});

test("a rule on lost caches is tried on history, saved, and fires", async ({ page, send, harness }) => {
  const lossy = (session: string, minutesAgo: number) => {
    const start = Date.now() - minutesAgo * MINUTE;
    const agent = new EventBuilder({ harness, session, window: 200_000, start });
    for (const tokens of [40_000, 41_000, 42_000])
      agent.turn(0, { usage: { input_tokens: 10, cache_read_tokens: 0, cache_write_tokens: tokens } });
    return agent.take();
  };
  await send(lossy("earlier", 50));
  await page.goto("/alerts");
  await page.getByRole("button", { name: "New rule" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("Caches lost");
  await dialog.getByLabel("Condition").selectOption({ label: "cache lost" });
  await expect(dialog.getByLabel("Within turns")).toHaveValue("10");
  await dialog.getByLabel("Tokens cached again, at least").fill("50000");
  await dialog.getByRole("button", { name: "Backtest" }).click();
  await expect(dialog.getByTestId("backtest")).toContainText("Would have fired 1 time in 7 days");
  await dialog.getByRole("button", { name: "Save rule" }).click();
  await expect(page.getByRole("list", { name: "Rules" })).toContainText(
    "50,000 tokens or more cached again within 10 turns",
  );
  await send(lossy("now", 1));
  await expect(page.getByRole("list", { name: "Firing alerts" })).toContainText(
    "81,000 tokens were cached again within 10 turns, without a fall or a pause",
  );
});
