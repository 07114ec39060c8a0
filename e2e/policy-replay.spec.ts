import type { FleetStatus, SessionPage } from "@plimsoll/protocol/api";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

const levels = (from: number, to: number, step: number) =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, n) => from + n * step);

test("a draft is replayed over recorded turns before it is saved @phone", async ({ page, server, send }) => {
  await server.mutate("policies.save", {
    policy: { settings: { thresholds: { ceiling: "90%" } } },
    expected: 0,
    reason: "the usual",
  });
  const full = new EventBuilder({ harness: "coder@vm-1", session: "fills up", window: 200_000 });
  await send(full.turns(...levels(20_000, 160_000, 4_000)).take());
  const calm = new EventBuilder({ harness: "coder@vm-2", session: "stays low", window: 200_000 });
  await send(calm.turns(...levels(10_000, 40_000, 1_000)).take());

  await page.goto("/policies");
  const panel = page.getByRole("region", { name: "Replay", exact: true });
  await page.getByLabel("ceiling in percent").fill("50");
  await panel.getByRole("button", { name: "Replay", exact: true }).click();
  const result = panel.getByTestId("replay-result");
  await expect(result).toContainText(/67 turns of 2 agents in 2 sessions: the draft keeps out \S+ tokens/);
  await expect(result.getByTestId("replay-error")).toContainText(
    "None of these agents acknowledged a policy before its first turn, so the current policy is not replayed",
  );
  const row = (name: string) => result.getByRole("row").filter({ hasText: name });
  // Recorded levels rise from 20k to 160k, over 50 %.
  await expect(row("maskings").getByRole("cell")).toHaveText(["0", "not run", /^[1-9]$/]);
  await expect(row("highest level").getByRole("cell").nth(0)).toHaveText("160k");
  await expect(result.getByRole("region", { name: "One session under each policy" })).toContainText(
    "Happened, up to 160k",
  );
  expect(await violations(page), "the result").toEqual([]);

  await row("maskings").getByRole("button").click();
  const dialog = page.getByRole("dialog", { name: "Maskings, this draft" });
  await expect(dialog.getByRole("listitem")).toHaveCount(1);
  const [opened] = await Promise.all([
    page.waitForEvent("popup"),
    dialog.getByRole("link", { name: "fills up" }).click(),
  ]);
  await expect(opened.getByRole("heading", { name: "fills up" })).toBeVisible();
  await opened.close();
  await dialog.getByRole("button", { name: "Close" }).click();

  await result.getByText("What is assumed").click();
  await expect(result).toContainText(
    "200k window: masking frees 95% of the tokens added since the last response (assumed",
  );
  await page.getByLabel("ceiling in percent").fill("55");
  await expect(panel.getByText("The draft has changed since.")).toBeVisible();
  await panel.getByRole("button", { name: "Replay again" }).click();
  await expect(panel.getByText("The draft has changed since.")).toBeHidden();
  await expect(row("maskings").getByRole("cell").nth(2)).toHaveText(/^[1-9]$/);
});

test("a replay is kept to the scope that is edited, and says if nothing is recorded", async ({
  page,
  send,
}) => {
  await page.goto("/policies?scope=family%3Dphantom");
  const panel = page.getByRole("region", { name: "Replay", exact: true });
  await panel.getByRole("button", { name: "Replay", exact: true }).click();
  await expect(panel).toContainText("No turns are recorded in this range.");
  for (const harness of ["phantom@vm-1", "coder@vm-1"]) {
    const builder = new EventBuilder({ harness, session: `of ${harness}`, window: 200_000 });
    await send(builder.turns(10_000, 20_000).take());
  }
  await panel.getByRole("button", { name: "Replay again" }).click();
  await expect(panel).toContainText("2 turns of 1 agent in 1 session");
  await panel.getByRole("button", { name: /^Agents/ }).click();
  await page.getByRole("menuitemradio", { name: "all agents" }).click();
  await panel.getByRole("button", { name: "Replay again" }).click();
  await expect(panel).toContainText("4 turns of 2 agents in 2 sessions");
});

test("history is judged again by a policy, with its progress, also after the server was killed", {
  tag: "@own-server",
}, async ({ page, server, expectedErrors }) => {
  // The browser reports each failed attempt to reconnect.
  expectedErrors.push(/ERR_|Failed to load resource/);
  await recordLongWork(server, 40, 5_000);
  // By default a warning is at 80 %, which the last cycle does not reach.
  const warned = async () => {
    const range = { from: new Date(0).toISOString(), to: new Date(Date.now() + 3_600_000).toISOString() };
    const { items } = await server.query<SessionPage>("sessions.list", { ...range, limit: 100 });
    return items.filter(({ warnings }) => warnings === 63).length;
  };
  await page.goto("/policies");
  await page.getByLabel("warning", { exact: true }).selectOption("percent");
  await page.getByLabel("warning in percent").fill("40");
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("a warning for the past as well");
  await dialog.getByLabel("also to recorded history").check();
  await dialog.getByRole("button", { name: "Save policy" }).click();
  const progress = page.getByTestId("rejudging");
  await expect(progress).toContainText("Recorded turns are being judged again");
  await server.kill();
  await server.begin();
  await expect.poll(warned).toBe(40);
  await expect(progress).toBeHidden();
});

/** Sends sessions that fill up to 168k of their window again and again. */
async function recordLongWork(server: PlimsollServer, agents: number, turns: number): Promise<void> {
  const start = Date.now() - 80 * 3_600_000;
  for (let agent = 0; agent < agents; agent++) {
    const events = Array.from({ length: turns }, (_, n) => ({
      id: `t${n}`,
      type: "turn",
      at: start + n * 30_000,
      harness: `coder@vm-${agent}`,
      session: `long ${agent}`,
      model: "claude-sonnet-4-5",
      context_window: 200_000,
      usage: { input_tokens: 10_000 + (n % 80) * 2_000 },
    }));
    await server.send(events);
  }
  const range = { from: new Date(start).toISOString(), to: new Date().toISOString() };
  // The projector reads the table that the stories lock.
  await expect.poll(async () => (await server.query<FleetStatus>("status", range)).behind).toBeNull();
}

test("a long replay shows its progress and can be cancelled", async ({ page, server }) => {
  await recordLongWork(server, 30, 1_000);
  await page.goto("/policies");
  const panel = page.getByRole("region", { name: "Replay", exact: true });
  // The replay waits for this table, however fast the machine is.
  const free = await server.lockTable("boundaries");
  try {
    await panel.getByRole("button", { name: "Replay", exact: true }).click();
    await expect(panel.getByRole("progressbar")).toBeVisible();
    await panel.getByRole("button", { name: "Cancel" }).click();
    await expect(panel.getByText("Cancelled.")).toBeVisible();
  } finally {
    await free();
  }
  await panel.getByRole("button", { name: "Replay again" }).click();
  await expect(panel.getByTestId("replay-result")).toContainText("30,000 turns of 30 agents");
});

test("a replay that is cancelled before it began ends as well", async ({ page, server }) => {
  await recordLongWork(server, 1, 100);
  await page.goto("/policies");
  const panel = page.getByRole("region", { name: "Replay", exact: true });
  let begin = () => {};
  const held = new Promise<void>((resolve) => {
    begin = resolve;
  });
  await page.route(/replays\.start/, async (route) => {
    await held;
    await route.continue();
  });
  const free = await server.lockTable("boundaries");
  try {
    await panel.getByRole("button", { name: "Replay", exact: true }).click();
    await panel.getByRole("button", { name: "Cancel" }).click();
    begin();
    await expect(panel.getByText("Cancelled.")).toBeVisible();
  } finally {
    await free();
  }
});
