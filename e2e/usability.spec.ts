import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import type { Breakdown, PolicyAnswer, WholePolicy } from "@plimsoll/protocol/api";
import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

const MINUTE = 60_000;
const FULL_SIZE = 200_000;

/** The questions of docs/usability.md, with their clicks. */
const QUESTIONS = [
  ...readFileSync(join(import.meta.dirname, "../docs/usability.md"), "utf8").matchAll(
    /^\| \d+ \| ([^|]+) \| (\d) \|/gm,
  ),
].map(([, question, clicks]) => ({ question: question!, clicks: Number(clicks) }));

const row = (page: Page, name: string) => page.getByTestId("fleet-row").filter({ hasText: name });
const openRow = (page: Page, name: string) => row(page, name).locator("[data-row-link]");

const asked: string[] = [];

/** Walks from Fleet to the answer of a question, and checks that it takes the clicks that the script states. */
async function ask(
  page: Page,
  question: string,
  walk: (click: (target: Locator) => Promise<void>) => Promise<void>,
): Promise<void> {
  await test.step(question, async () => {
    asked.push(question);
    let clicks = 0;
    await page.goto("/");
    await walk(async (target) => {
      clicks += 1;
      await target.click();
    });
    expect({ question, clicks }).toEqual(QUESTIONS.find((one) => one.question === question));
    expect(clicks).toBeLessThanOrEqual(2);
  });
}

/** Two compactions and the parts of each turn. The last fall is `fellAt`. */
function claudeCode() {
  const composition = (tokens: number) => ({
    system: 4_000,
    tools: 6_000,
    history: Math.round((tokens - 10_000) * 0.3),
    tool_output: Math.round((tokens - 10_000) * 0.7),
  });
  const agent = new EventBuilder({
    harness: "claude-code@laptop",
    session: "Fix the login",
    window: FULL_SIZE,
    start: Date.now() - 9 * MINUTE,
    pace: MINUTE / 2,
  });
  const turn = (tokens: number) => agent.turn(tokens, { composition: composition(tokens) });
  for (const tokens of [60_000, 100_000, 150_000]) turn(tokens);
  agent.event("compacted", { trigger: "auto", tokens_before: 150_000, tokens_after: 30_000 });
  for (const tokens of [32_000, 90_000, 140_000]) turn(tokens);
  const fellAt = agent.at;
  agent.event("compacted", { trigger: "manual", tokens_before: 140_000, tokens_after: 25_000 });
  for (const tokens of [26_000, 40_000]) turn(tokens);
  return { events: agent.take(), fellAt };
}

function restarting(harness: string, session: string, restarts: number) {
  const agent = new EventBuilder({ harness, session, window: FULL_SIZE, model: "claude-sonnet-4-5" });
  agent
    .turns(60_000, 90_000)
    .event("masked", { observations: 9, tokens_before: 90_000, tokens_after: 60_000 })
    .turns(61_000, 80_000)
    .event("masked", { observations: 4, tokens_before: 80_000, tokens_after: 68_000 })
    .turns(69_000);
  for (let number = 1; number <= restarts; number += 1)
    agent
      .event("restarted", { number: number + 1, previous_turns: 5, carryover_turns: 3, reason: "hard limit" })
      .turns(12_000, 40_000);
  return agent.take();
}

async function acknowledge(server: PlimsollServer, harness: string): Promise<void> {
  const key = await server.createKey(`for ${harness}`, ["policy:read", "ingest"]);
  const answer = await fetch(`${server.url}/api/v1/policy?harness=${encodeURIComponent(harness)}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { generation, hash } = (await answer.json()) as PolicyAnswer;
  await server.send([
    {
      id: `ack-${generation}`,
      type: "policy_ack",
      at: Date.now(),
      harness,
      generation,
      hash,
      status: "applied",
    },
  ]);
}

async function sendInvalid(server: PlimsollServer): Promise<void> {
  const key = await server.createKey("an old integration", ["ingest"]);
  const turn = { type: "turn", id: "1", at: Date.now(), harness: "legacy@batch", session: "s", model: "m" };
  const answer = await fetch(`${server.url}/api/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify([{ ...turn, usage: { input_tokens: "many" } }]),
  });
  expect(answer.status).toBe(200);
}

test("the questions are answered in at most two clicks from Fleet", async ({
  page,
  context,
  server,
  send,
}) => {
  const { events, fellAt } = claudeCode();
  const settings = { masking: { enabled: true } };
  await server.mutate<WholePolicy>("policies.save", { policy: { settings }, expected: 0, reason: "mask" });
  await send([
    ...events,
    ...new EventBuilder({ harness: "codex@ci", session: "Refactor billing", window: 258_400 })
      .turns(190_000, 200_000, 210_000, 220_000)
      .turn(230_000, { cost_usd: 30 })
      .take(),
    ...restarting("ouroboros@vm-2", "Study the project", 2),
    ...restarting("ouroboros@vm-3", "Write the notes", 1),
    ...new EventBuilder({ harness: "phantom@vm-3", session: "Slack thread", window: FULL_SIZE })
      .turns(20_000, 25_000, 33_000)
      .take(),
    ...new EventBuilder({
      harness: "phantom@vm-3",
      session: "Slack thread",
      agent: "searcher",
      parent: "main",
      window: FULL_SIZE,
    })
      .turns(9_000)
      .take(),
    ...new EventBuilder({ harness: "inhouse@batch", session: "Nightly", model: "mixtral", window: 128_000 })
      .turns(100_000, 150_000)
      .take(),
  ]);
  await acknowledge(server, "phantom@vm-3");
  await sendInvalid(server);
  expect(QUESTIONS).toHaveLength(15);

  await ask(page, "Which agent is next to overflow?", async () => {
    // The agent with the wrong window is above 100% of it, which says nothing.
    await expect(page.getByTestId("next")).toHaveText(
      /^Next: Refactor billing reaches its line in 2 turns, under 1 minute/,
    );
    const first = page.getByTestId("fleet-row").first();
    await expect(first).toContainText("Refactor billing");
    await expect(first).toContainText(/2 turns.*to the line/);
  });

  await ask(page, "Why did X fall at 14:05?", async (click) => {
    await click(openRow(page, "Fix the login"));
    const time = new Date(fellAt).toISOString().slice(11, 16);
    const fall = page
      .getByRole("region", { name: "Turn log" })
      .getByRole("row")
      .filter({ hasText: "Compacted" })
      .filter({ hasText: time });
    await click(fall.getByRole("button", { name: "Compacted (manual)" }));
    const card = page.getByTestId("fall-card");
    await expect(card).toContainText("Compacted (manual): 140,000 to 25,000");
    await expect(card).toContainText("claude-code@laptop, with both levels.");
    await expect(card).toContainText("A summary of the older messages.");
  });

  await ask(page, "What did masking free today?", async () => {
    await expect(page.getByTestId("range")).toHaveText(/24 hours/);
    // Twice 30,000 and 12,000.
    await expect(page.getByTestId("tile-masked").locator("[data-value]")).toHaveText("4");
    await expect(page.getByTestId("tile-masked")).toContainText("84k freed");
  });

  await ask(page, "Which harness restarts most?", async () => {
    const restarts = page.getByRole("region", { name: "Restarts by harness and model" });
    await expect(restarts.getByRole("listitem")).toHaveText([/^ouroboros@vm-2.*2$/, /^ouroboros@vm-3.*1$/]);
  });

  await ask(page, "Which sessions were past the warning?", async (click) => {
    await expect(page.getByTestId("tile-warnings").locator("[data-value]")).toHaveText("4");
    await click(page.getByTestId("tile-warnings"));
    const sessions = page.getByTestId("session-row");
    await expect(sessions).toHaveCount(4);
    // Each against the warning of its own harness: three quarters of the window for Codex, 15% for Phantom.
    for (const name of ["Refactor billing", "Slack thread", "Fix the login", "Nightly"])
      await expect(sessions.filter({ hasText: name })).toHaveCount(1);
  });

  await ask(page, "Is this number believable?", async (click) => {
    await expect(page.getByTestId("suspects")).toContainText("mixtral: 150k of 128k");
    await expect(row(page, "Nightly")).toContainText("window suspect");
    await click(openRow(page, "Refactor billing"));
    await expect(page.getByTitle("258,400 tokens, reported by the harness")).toBeVisible();
    await expect(page.getByText("default lines")).toBeVisible();
  });

  await ask(page, "What fills the window of X?", async (click) => {
    await click(openRow(page, "Fix the login"));
    const parts = page.getByRole("region", { name: "Window composition" });
    await expect(parts).toContainText("What fills the window");
    await expect(parts).toContainText("tool output");
    await expect(parts).not.toContainText("estimated");
  });

  await ask(page, "How often did X compact, and where?", async (click) => {
    await click(openRow(page, "Fix the login"));
    await expect(page.getByTestId("tile-boundaries").locator("[data-value]")).toHaveText("2");
    const chart = page.getByRole("region", { name: "Context tokens of main" });
    await click(chart.getByRole("button", { name: "View as table" }));
    const rows = chart.getByRole("table", { name: "Boundaries" }).locator("tbody tr");
    await expect(rows).toHaveText([/3Compacted \(auto\).*150,000.*30,000/, /6Compacted \(manual\).*140,000/]);
  });

  await ask(page, "Did my policy arrive?", async (click) => {
    await click(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Policies" }));
    const harness = page
      .getByTestId("policy-harnesses")
      .getByRole("listitem")
      .filter({ hasText: "phantom@vm-3" });
    await expect(harness).toContainText("applied");
    await expect(page.getByText("Generation 1", { exact: true })).toBeVisible();
    await expect(
      page.getByText("1 of 1 harness that takes policies runs the one it is offered"),
    ).toBeVisible();
  });

  await ask(page, "What was refused?", async (click) => {
    const notice = page.getByTestId("refusal-notice");
    await expect(notice).toContainText("Events from legacy@batch are being refused");
    await click(notice.getByRole("link", { name: "See what to fix" }));
    await expect(page.getByTestId("refusals")).toContainText("usage.input_tokens");
    await expect(page.getByTestId("refusals")).toContainText("legacy@batch");
  });

  const sent = (await context.cookies()).find(({ name }) => name === "plimsoll_looked")!;
  const hoursAgo = Math.floor(Date.now() / 1_000) - 8 * 3_600;
  await context.addCookies([{ ...sent, value: sent.value.replace(/\.\d+/g, `.${hoursAgo}`) }]);
  await ask(page, "What happened while I was away?", async () => {
    await expect(page.getByTestId("since-looked")).toContainText(
      /Since you looked 8 h ago: .*3 restarts.*6 new harnesses/,
    );
  });

  await ask(page, "Which session cost most?", async (click) => {
    await click(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Sessions" }));
    await click(page.getByRole("columnheader", { name: "Cost", exact: true }).getByRole("button"));
    await expect(page.getByTestId("session-row").first()).toContainText(/Refactor billing.*~\$30\.\d\d/);
  });

  await ask(page, "Which harness and model cost most?", async (click) => {
    const list = page.getByRole("region", { name: "by harness and model" });
    await click(list.getByRole("button", { name: "Sum: Restarts" }));
    await click(page.getByRole("menuitemradio", { name: "Cost" }));
    await expect(list.getByRole("listitem").first()).toHaveText(/^codex@.*~\$30\.\d\d$/);
    await expect(list.getByTestId("breakdown-total")).toContainText(
      /~\$\d+\.\d\d in total.*estimated.*of turns have a cost/,
    );
    const year = { from: "2026-01-01T00:00:00Z", to: "2100-01-01T00:00:00Z" };
    const { total, estimated } = await server.query<Breakdown>("breakdown", { by: "cost_usd", ...year });
    expect(total - estimated).toBeCloseTo(30, 6);
  });

  await ask(page, "Which harness compacts elsewhere than at its line?", async (click) => {
    await click(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Policies" }));
    await expect(page.getByTestId("compaction-line").first()).toContainText(/claude-code@laptop.*150k.*−17k/);
  });

  await ask(page, "What did sub-agents keep out of X?", async (click) => {
    await click(openRow(page, "Slack thread").first());
    await expect(page.getByTestId("kept-apart")).toHaveText(
      "1 sub-agent kept up to 9k tokens out of its window",
    );
  });

  expect(asked.toSorted()).toEqual(QUESTIONS.map(({ question }) => question).toSorted());
});
