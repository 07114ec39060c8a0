import type { Page } from "@playwright/test";
import type { PolicyAnswer, WholePolicy } from "@plimsoll/protocol/api";
import type { PolicySettings } from "@plimsoll/protocol/policy";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

const save = (server: PlimsollServer, settings: PolicySettings, expected = 0, reason = "an earlier change") =>
  server.mutate<WholePolicy>("policies.save", { policy: { settings }, expected, reason });

/** What a harness that takes policies says of the one it is offered. */
async function acknowledge(server: PlimsollServer, harness: string, more: object = {}): Promise<void> {
  const key = await server.createKey(`for ${harness}`, ["policy:read", "ingest"]);
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${server.url}/api/v1/policy?harness=${encodeURIComponent(harness)}`, {
    headers,
  });
  const { generation, hash } = (await answer.json()) as PolicyAnswer;
  const ack = {
    id: `ack-${generation}`,
    type: "policy_ack",
    at: Date.now(),
    harness,
    generation,
    hash,
    status: "applied",
  };
  await server.send([{ ...ack, ...more }]);
}

const DAY = 24 * 3_600_000;

const yaml = (page: Page) => page.getByRole("textbox", { name: "Policy as YAML" });

async function saveWith(page: Page, reason: string): Promise<void> {
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill(reason);
  await dialog.getByRole("button", { name: "Save policy" }).click();
}

test("the form, the YAML and the lines are in step, and saving shows the difference", async ({
  page,
  server,
}) => {
  await save(server, { thresholds: { warning: "50%", ceiling: "70%" } });
  await page.goto("/policies");
  await expect(yaml(page)).toContainText("ceiling: 70%");
  await expect(page.getByTestId("load-line")).toContainText("140k");

  await page.getByLabel("ceiling in percent").fill("80");
  await expect(yaml(page)).toContainText("ceiling: 80%");
  await expect(page.getByTestId("load-line")).toContainText("160k");

  await yaml(page).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("settings:\n  thresholds:\n    warning: 90%\n    ceiling: 85% # for Opus\n");
  await expect(page.getByLabel("ceiling in percent")).toHaveValue("80");
  await expect(page.getByText("1 mistake (line 3)")).toBeVisible();
  await expect(
    page.getByText("90% must be below ceiling, which is 85%. Lower warning or raise ceiling"),
  ).toBeVisible();
  await expect(page.getByRole("button", { name: "Review and save" })).toBeDisabled();

  await page.getByLabel("warning in percent").fill("60");
  await expect(page.getByLabel("ceiling in percent")).toHaveValue("85");
  await expect(yaml(page)).toContainText("# for Opus");
  await page.getByRole("button", { name: "Review and save" }).click();
  const changes = page.getByRole("dialog").getByRole("region", { name: "Changes" });
  await expect(changes.getByRole("row").filter({ hasText: "removed" })).toContainText([
    "warning: 50%",
    "ceiling: 70%",
  ]);
  await expect(changes.getByRole("row").filter({ hasText: "added" })).toContainText([
    "warning: 60%",
    "ceiling: 85%",
  ]);
  await expect(page.getByRole("button", { name: "Save policy" })).toBeDisabled();
  expect(await violations(page), "the dialog").toEqual([]);
  await page.getByLabel("Reason").fill("Opus loses the thread above 60%");
  await page.getByRole("button", { name: "Save policy" }).click();
  await expect(page.getByText("Generation 2", { exact: true })).toBeVisible();
  const newest = page.getByTestId("versions").getByRole("listitem").first();
  await expect(newest).toContainText("Opus loses the thread above 60%");
  await expect(newest).toContainText("Chrome on Linux");
});

test("comments survive saving, and a ceiling below the default warning is shown @phone", async ({
  page,
  server,
  send,
}) => {
  const late = Date.now() + 42 * 60_000;
  const early = { type: "harness", id: "hello", at: late, harness: "claude-code@laptop", status: "hello" };
  await expect(server.send([{ ...early, name: "Claude Code" }])).rejects.toThrow("in_the_future");
  await send(new EventBuilder({ harness: "claude-code@vm-1", session: "s" }).turns(20_000).take());
  await page.goto("/policies?edit=yaml&scope=family%3Dclaude-code");
  await yaml(page).click();
  await page.keyboard.insertText(
    "# Opus loses the thread\nsettings:\n  thresholds:\n    ceiling: 40% # measured\n",
  );
  const clash =
    "warning (the default of claude-code) is at 140,000 tokens, and ceiling (from all agents) at 80,000";
  await expect(page.getByText(clash)).toBeVisible();
  await page.getByRole("button", { name: "Review and save" }).click();
  await expect(
    page.getByRole("dialog").getByText("For all agents: warning (the default) is at"),
  ).toBeVisible();
  await page.screenshot({ path: test.info().outputPath("clash.png") });
  await page.getByRole("dialog").getByLabel("Reason").fill("with a comment");
  await page.getByRole("dialog").getByRole("button", { name: "Save policy" }).click();
  await expect(page.getByText("Saved as generation 1.")).toBeVisible();
  await page.reload();
  await expect(yaml(page)).toContainText("# Opus loses the thread");
  await expect(yaml(page)).toContainText("# measured");
  const harnesses = page.getByTestId("policy-harnesses");
  await expect(harnesses.getByRole("listitem").filter({ hasText: "claude-code@laptop" })).toContainText(
    "its clock is off",
  );
  await expect(harnesses).toContainText("Its clock is 42 minutes ahead of the server's clock");
  expect(await violations(page), "the page").toEqual([]);
  await page.screenshot({ path: test.info().outputPath("page.png"), fullPage: true });
});

test("a text that is no number and a setting that is misspelled are pointed out @phone", async ({ page }, {
  project,
}) => {
  await page.goto("/policies");
  await page
    .getByRole("group", { name: "Settings" })
    .getByText(/^Compaction/)
    .click();
  await page.getByLabel("put rules back").selectOption("on");
  const turns = page.getByLabel("keep turns", { exact: true }).filter({ visible: true });
  await turns.fill("two");
  await expect(page.getByText("Not a number, so nothing changes")).toBeVisible();
  await turns.fill("1.5");
  await expect(page.getByText("must be a whole number")).toBeVisible();
  await turns.fill("2");
  await expect(page.getByText("1 mistake")).toHaveCount(0);
  expect(await violations(page)).toEqual([]);

  if (project.name === "phone") await page.getByRole("button", { name: "YAML" }).click();
  await expect(yaml(page)).toContainText("reinject: true");
  await yaml(page).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("settings:\n  compaction:\n    reinjekt: true\n");
  const mark = page.locator(".cm-lintRange-warning");
  await expect(mark).toHaveText("true");
  await expect(page.getByText("1 mistake")).toHaveCount(0);
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("settings:\n  compaction:\n    reinject: sometimes\n");
  await expect(page.getByText("1 mistake (line 3)")).toBeVisible();
  await expect(page.locator(".cm-lintRange-error")).toHaveText("sometimes");
  await page.getByRole("button", { name: "Discard changes" }).click();
  await expect(yaml(page)).not.toContainText("reinject");
});

test("suggests keys and values while YAML is typed", async ({ page }) => {
  await page.goto("/policies");
  await expect(page.getByText("Nothing saved yet.")).toBeVisible();
  await yaml(page).click();
  await page.keyboard.type("set");
  const list = page.getByRole("listbox");
  await expect(list.getByRole("option", { name: "settings" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("settings:\n  enforcement: ");
  await page.keyboard.press("Control+Space");
  await expect(list.getByRole("option")).toHaveText(["enforce", "warn_only"]);
});

test("each harness shows how far it is with the policy, live", async ({ page, server, send }) => {
  const { generation } = await save(server, { thresholds: { ceiling: "70%" } });
  for (const harness of ["phantom@vm-3", "claude-code@laptop", "strict@ci", "other@prod"]) {
    const builder = new EventBuilder({ harness, session: `work of ${harness}`, window: 200_000 });
    await send(builder.turns(20_000, 40_000).take());
  }
  await page.goto("/policies");
  const row = (harness: string) =>
    page.getByTestId("policy-harnesses").getByRole("listitem").filter({ hasText: harness });
  await expect(row("phantom@vm-3")).toContainText("takes no policies");

  await acknowledge(server, "phantom@vm-3");
  await expect(row("phantom@vm-3")).toContainText("applied");
  await expect(row("phantom@vm-3")).toContainText(`generation ${generation}`);
  await acknowledge(server, "claude-code@laptop", {
    status: "overridden",
    code: "clamped",
    effective: { thresholds: { ceiling: 67_000 } },
    differences: [{ path: "thresholds.ceiling", code: "clamped", wanted: "70%", effective: 67_000 }],
  });
  await expect(row("claude-code@laptop")).toContainText(
    "ceiling: wanted 70%, runs 67,000 (it cannot express this value)",
  );
  const managed = "autoCompactWindow in managed settings /etc/claude-code/managed-settings.d/10-org.json";
  await acknowledge(server, "claude-code@laptop", {
    id: "managed",
    status: "overridden",
    code: "local_override",
    effective: { thresholds: { ceiling: 367_000 } },
    differences: [
      { path: "thresholds.ceiling", code: "local_override", wanted: "70%", effective: 367_000, by: managed },
    ],
  });
  await expect(row("claude-code@laptop")).toContainText(
    `ceiling: wanted 70%, runs 367,000 (${managed} wins)`,
  );
  const message = "thresholds.ceiling is 70%, and this harness takes at most 50%";
  await acknowledge(server, "strict@ci", { status: "rejected", code: "out_of_bounds", message });
  await expect(row("strict@ci")).toContainText("rejected: outside its own limits");
  await expect(row("strict@ci")).toContainText(message);
  await expect(page.getByText("2 of 3 harnesses that take policies")).toBeVisible();

  await save(server, { thresholds: { ceiling: "60%" } }, generation, "another change");
  await expect(row("phantom@vm-3")).toContainText("not acknowledged yet");
  await acknowledge(server, "phantom@vm-3");
  await expect(row("phantom@vm-3")).toContainText(`generation ${generation + 1}`);
});

test("an acknowledged line moves the harness' agents, and its session leads to the policy", async ({
  page,
  server,
  send,
}) => {
  const harness = "mine@host";
  const builder = new EventBuilder({ harness, session: "long work", window: 200_000 });
  await send(builder.turns(20_000, 40_000, 60_000).take());
  await page.goto("/");
  await expect(page.getByTestId("load")).toContainText("30%");
  await save(server, { thresholds: { ceiling: 80_000 } });
  await acknowledge(server, harness);
  await expect(page.getByTestId("load")).toContainText("75%");

  await page.locator("[data-row-link]").click();
  await expect(page.getByText("policy 1, acknowledged")).toBeVisible();
  await page.getByRole("link", { name: "Adjust this line" }).click();
  await expect(page.getByRole("button", { name: harness, pressed: true })).toBeVisible();
  await page.getByLabel("ceiling", { exact: true }).selectOption("% of window");
  await page.getByLabel("ceiling in percent").fill("50");
  await saveWith(page, "this one is careful");
  await expect(page.getByTestId("versions")).toContainText("this one is careful");
  const { policy } = await server.query<WholePolicy>("policies.get");
  expect(policy.layers).toEqual([{ scope: { harness }, settings: { thresholds: { ceiling: "50%" } } }]);
});

test.describe("with a version saved elsewhere", () => {
  test.beforeEach(({ expectedErrors }) => {
    expectedErrors.push(/412/);
  });

  test("two editors collide: the second sees both versions and goes on from there", async ({
    page,
    server,
  }) => {
    await save(server, { thresholds: { warning: "50%", ceiling: "70%" } });
    await page.goto("/policies");
    await page.getByLabel("ceiling in percent").fill("80");
    await save(server, { thresholds: { warning: "40%", ceiling: "70%" } }, 1, "somebody else was faster");
    await expect(page.getByText("Generation 2 was saved elsewhere.")).toBeVisible();
    await saveWith(page, "mine");
    const dialog = page.getByRole("dialog");
    await expect(dialog).toContainText("Somebody else saved this policy");
    await expect(dialog).toContainText("somebody else was faster");
    await expect(dialog.getByRole("row").filter({ hasText: "removed" })).toContainText([
      "warning: 40%",
      "ceiling: 70%",
    ]);
    await expect(dialog.getByRole("row").filter({ hasText: "added" })).toContainText([
      "warning: 50%",
      "ceiling: 80%",
    ]);
    expect(await violations(page), "the dialog").toEqual([]);
    await dialog.getByRole("button", { name: "Review mine against theirs" }).click();
    await dialog.getByRole("button", { name: "Save policy" }).click();
    await expect(page.getByTestId("versions").getByRole("listitem").first()).toContainText("mine");
    expect((await server.query<WholePolicy>("policies.get")).generation).toBe(3);
  });

  test("an editor without changes shows the newest version, and one with changes can give them up", async ({
    page,
    server,
  }) => {
    await save(server, { thresholds: { ceiling: "70%" } });
    await page.goto("/policies");
    await expect(yaml(page)).toContainText("ceiling: 70%");
    await save(server, { thresholds: { ceiling: "60%" } }, 1);
    await expect(yaml(page)).toContainText("ceiling: 60%");
    await page.getByLabel("ceiling in percent").fill("55");
    await save(server, { thresholds: { ceiling: "65%" } }, 2);
    await expect(page.getByText("Generation 3 was saved elsewhere.")).toBeVisible();
    await saveWith(page, "mine");
    await page.getByRole("button", { name: "Discard mine" }).click();
    await expect(yaml(page)).toContainText("ceiling: 65%");
    await expect(page.getByRole("button", { name: "Discard changes" })).toBeDisabled();
  });
});

test("a rollback saves an old version again", async ({ page, server }) => {
  await save(server, { thresholds: { ceiling: "70%" } }, 0, "the good one");
  await save(server, { thresholds: { ceiling: "20%" } }, 1, "the bad one");
  await page.goto("/policies");
  await page.getByRole("button", { name: "Show generation 1" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("row").filter({ hasText: "added" })).toContainText("ceiling: 70%");
  await dialog.getByLabel("Reason for rolling back").fill("20% restarts all the time");
  await dialog.getByRole("button", { name: "Roll back to generation 1" }).click();
  const newest = page.getByTestId("versions").getByRole("listitem").first();
  await expect(newest).toContainText("20% restarts all the time");
  await expect(newest).toContainText("repeats generation 1");
  await expect(yaml(page)).toContainText("ceiling: 70%");
});

test("scopes and presets", async ({ page, server }) => {
  await page.goto("/policies");
  await page.getByRole("button", { name: "Add scope" }).click();
  await page.getByLabel("Harness family, the part of its name before @").fill("phantom");
  await page.getByRole("dialog").getByRole("button", { name: "Add scope" }).click();
  await expect(page.getByRole("button", { name: "phantom", pressed: true })).toBeVisible();
  await expect(page.getByText("20%, the default of phantom")).toBeVisible();
  await page.getByRole("button", { name: "Preset: Presets" }).click();
  await page.getByRole("menuitemradio", { name: "Ouroboros" }).click();
  await expect(page.getByLabel("soft in percent")).toHaveValue("70");
  await saveWith(page, "Phantom masks first here");
  await expect(page.getByText("Generation 1", { exact: true })).toBeVisible();
  const { policy } = await server.query<WholePolicy>("policies.get");
  expect(policy.layers).toMatchObject([
    { scope: { family: "phantom" }, settings: { thresholds: { soft: "70%", hard: "90%" } } },
  ]);
  await page.getByRole("button", { name: "Remove phantom" }).click();
  await expect(page.getByRole("button", { name: "All agents", pressed: true })).toBeVisible();
  await expect(page.getByRole("button", { name: "phantom", exact: true })).toHaveCount(0);
});

test("Policies passes axe, empty and with data @phone", async ({ page, server, send }) => {
  await page.goto("/policies");
  await expect(page.getByText("Nothing saved yet.")).toBeVisible();
  expect(await violations(page), "empty").toEqual([]);
  await save(server, { thresholds: { ceiling: "70%" }, masking: { enabled: true } });
  await send(
    new EventBuilder({ harness: "mine@host", session: "work", window: 200_000 }).turns(20_000).take(),
  );
  await acknowledge(server, "mine@host", { status: "rejected", code: "invalid", message: "no" });
  await expect(page.getByText("rejected: the policy is not valid for it")).toBeVisible();
  for (const group of await page.locator("summary").all()) {
    if ((await group.locator("..").getAttribute("open")) === null) await group.click();
  }
  expect(await violations(page), "with data").toEqual([]);
});

test("what a new ceiling did to failed calls, and the way back @phone", async ({
  page,
  server,
  send,
  harness,
}) => {
  // Agents are counted half a minute after their latest event.
  test.slow();
  const savedAt = Date.now() - 16 * DAY;
  const sessions = async (name: string, start: number, to: number) => {
    const events = Array.from({ length: 32 }, (_, session) => {
      const agent = new EventBuilder({ harness, session: `${name}-${session}`, window: 200_000, start });
      const step = 2_000 + 60 * session;
      for (let turn = 0; turn < 40; turn++) {
        const tokens = step * (1 + (turn % Math.floor(to / step)));
        const failed = (turn + session) % (tokens >= 50_000 ? 3 : 12) === 0 ? 1 : 0;
        agent.turn(tokens, { outcome: { calls: 1, failed } });
      }
      return agent.take();
    });
    for (let first = 0; first < events.length; first += 8) await send(events.slice(first, first + 8).flat());
  };
  const saveForHistory = (ceiling: number, expected: number) =>
    server.mutate<WholePolicy>("policies.save", {
      policy: { settings: { thresholds: { ceiling } } },
      ...{ expected, reason: `a ceiling of ${ceiling}`, from: "history" },
    });
  await saveForHistory(50_000, 0);
  await sessions("before", savedAt - 4 * DAY, 50_000);
  const { generation } = await saveForHistory(150_000, 1);
  const effects = page.getByRole("region", { name: "What generation 2 did" });
  await page.goto("/policies");
  await expect(effects).toHaveCount(0);

  await server.backdatePolicy(generation, savedAt);
  await expect(async () => {
    await page.reload();
    await expect(effects).toContainText("too early to judge", { timeout: 3_000 });
  }).toPass();
  await expect(effects).toContainText(
    "Ceiling 50k to 150k tokens: judged with 30 sessions before it and 30 after it. There are 32 and 0.",
  );
  await expect(effects.getByRole("button")).toHaveCount(0);

  await acknowledge(server, harness, { at: savedAt + DAY });
  await sessions("after", savedAt + 2 * DAY, 150_000);
  await expect(async () => {
    await page.reload();
    await expect(effects).toContainText("more failed calls", { timeout: 3_000 });
  }).toPass();
  await expect(effects).toContainText(
    /failed tool calls went from [\d.]+% to \d+% of calls \(\+[\d.]+ to \+[\d.]+ points, 32 and 32 sessions\)/,
  );
  expect(await violations(page)).toEqual([]);

  await effects.getByRole("button", { name: "Roll back to generation 1" }).click();
  const dialog = page.getByRole("dialog", { name: "Generation 1" });
  await dialog.getByLabel("Reason").fill("more calls failed");
  await dialog.getByRole("button", { name: "Roll back to generation 1" }).click();
  await expect(page.getByTestId("versions").getByRole("listitem").first()).toContainText("more calls failed");
});
