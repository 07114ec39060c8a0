import { readFile } from "node:fs/promises";
import type { AlertNotification } from "@plimsoll/protocol/alerts";
import type { AlertEndpointWithSecret } from "@plimsoll/protocol/api";
import { Webhook } from "standardwebhooks";
import { type Receiver, startReceiver } from "../server/testing/receiver.ts";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import { withPhantom } from "./support/phantom.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

interface Payload {
  type: string;
  data: AlertNotification;
}

let receiver: Receiver;
test.beforeEach(async () => {
  receiver = await startReceiver();
});
test.afterEach(() => receiver.close());

test("an alert fires, reaches a webhook, is silenced, ends and is sent again @phone", async ({
  page,
  send,
}) => {
  await page.goto("/alerts");
  await expect(page.getByText("Nothing fires")).toBeVisible();
  await expect(page.getByText("No rules yet.")).toBeVisible();
  expect(await violations(page), "without alerts").toEqual([]);

  await page.getByRole("button", { name: "Add endpoint" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("ops");
  await dialog.getByRole("button", { name: "Save endpoint" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByLabel("Address").fill(`${receiver.url}/hook`);
  await dialog.getByRole("button", { name: "Save endpoint" }).click();
  const secret = (await page.getByTestId("secret").textContent()) ?? "";
  expect(secret).toMatch(/^whsec_/);
  await page.getByRole("button", { name: "Done" }).click();

  await page.getByRole("button", { name: "Send a test to ops" }).click();
  await expect(page.getByRole("status").filter({ hasText: "Delivered after" })).toBeVisible();
  expect(receiver.requests).toHaveLength(1);

  await page.getByRole("button", { name: /^Stays past its line/ }).click();
  const rules = page.getByRole("list", { name: "Rules" });
  await expect(rules).toContainText("an agent is past its line and does not fall within 3 turns");
  await expect(rules).toContainText("to 1 endpoint");
  await expect(rules.getByRole("img", { name: "Did not fire in the last 24 hours" })).toBeVisible();
  await page.getByRole("button", { name: "Actions for Stays past its line" }).click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  await dialog.getByLabel("Ends after").fill("0s");
  await dialog.getByRole("button", { name: "Save rule" }).click();
  await expect(dialog).toHaveCount(0);

  const agent = new EventBuilder({
    harness: "phantom@vm-1",
    session: "fix the build",
    window: 200_000,
    start: Date.now() - 60_000,
  });
  await send(agent.turns(20_000, 60_000, 61_000, 62_000, 63_000).take());
  const firing = page.getByRole("list", { name: "Firing alerts" });
  await expect(firing).toContainText("phantom@vm-1 · fix the build");
  await expect(
    rules.getByRole("img", { name: /^Fired since \d\d:[03]0 in the last 24 hours/ }),
  ).toBeVisible();
  await expect.poll(() => receiver.requests.length).toBe(2);
  const { body, headers } = receiver.requests[1]!;
  const payload = new Webhook(secret).verify(body, headers as Record<string, string>) as Payload;
  expect(payload.type).toBe("alert.firing");
  expect(await violations(page), "while an alert fires").toEqual([]);

  await firing.getByRole("button", { name: /^Acknowledge/ }).click();
  await expect(firing).toContainText("acknowledged by");
  await firing.getByRole("button", { name: /^Silence/ }).click();
  await dialog.getByLabel("Why").fill("restarting it");
  expect(await violations(page), "the silence").toEqual([]);
  await dialog.getByRole("button", { name: "Silence" }).click();
  await expect(page.getByRole("list", { name: "Silences" })).toContainText("restarting it");
  await expect(firing).toContainText("silenced");
  await page.getByRole("button", { name: /^End the silence of / }).click();
  await expect(page.getByText("Nothing is silenced.")).toBeVisible();
  await expect(firing).not.toContainText("silenced");

  await send(agent.turns(30_000).take());
  await expect(page.getByText("Nothing fires")).toBeVisible();
  await page.getByRole("button", { name: "Alerts: Open" }).click();
  await page.getByRole("menuitemradio", { name: "Ended" }).click();
  await expect(page.getByRole("list", { name: "Ended alerts" })).toContainText("fell from 63k to 30k");

  const deliveries = page.getByRole("list", { name: "Deliveries" });
  await deliveries.getByRole("button", { name: /Resolved/ }).click();
  await expect(dialog.getByRole("list", { name: "Attempts" })).toContainText("Delivered after");
  // A toast of an earlier step may be fading, which axe takes for low contrast.
  await expect(page.locator("[data-sonner-toast]")).toHaveCount(0);
  expect(await violations(page), "the delivery").toEqual([]);
  const before = receiver.requests.length;
  await dialog.getByRole("button", { name: "Send again" }).click();
  await expect.poll(() => receiver.requests.length).toBe(before + 1);
});

/** 150 agents, each over one of six limits. */
async function manyAlerts(server: PlimsollServer): Promise<void> {
  const limits = [50_000, 60_000, 70_000, 80_000, 90_000, 100_000];
  for (const [n, limit] of limits.entries()) {
    await server.mutate("alerts.rules.create", {
      rule: {
        name: `Over ${limit / 1_000}k`,
        condition: { type: "tokens", at_least: limit },
        scope: { harness: `coder-${n}@*` },
        severity: (["warning", "critical", "info"] as const)[n % 3]!,
      },
    });
  }
  const sessions = Array.from({ length: 150 }, (_, n) =>
    new EventBuilder({
      harness: `coder-${n % 6}@vm-${n}`,
      session: `task ${n}`,
      window: 200_000,
      start: Date.now() - 60_000,
    })
      .turns(20_000, 101_000 + n * 100)
      .take(),
  );
  await server.send(sessions.flat());
}

test("150 alerts fit on a screen, open by rule, and are acknowledged at once @phone", async ({
  page,
  server,
}) => {
  await manyAlerts(server);
  await page.goto("/alerts");
  const firing = page.getByRole("list", { name: "Firing alerts" });
  await expect(firing.getByRole("listitem")).toHaveCount(6);
  await expect(firing).toContainText("25 alerts · 25 harnesses");
  const isPhone = page.viewportSize()!.width < 500;
  const { height } = (await page.locator("#firing").boundingBox())!;
  expect(height, "pixels that 150 alerts take").toBeLessThan(isPhone ? 900 : 480);
  expect(await violations(page), "folded").toEqual([]);

  await firing.getByRole("button", { name: "Show 25 alerts of Over 60k" }).click();
  await expect(firing.getByRole("link")).toHaveCount(25);
  await expect(firing).toContainText("See what fills the window");
  expect(await violations(page), "one rule open").toEqual([]);
  await firing.getByRole("button", { name: "Acknowledge all 25 of Over 60k" }).click();
  await expect(firing.getByRole("button", { name: "Acknowledge all 25 of Over 60k" })).toHaveCount(0);
  await expect(firing).toContainText("acknowledged by");
  await firing.getByRole("button", { name: "Hide 25 alerts of Over 60k" }).click();
  await expect(firing).toContainText("25 acknowledged");
});

test("alerts are filtered, and the URL keeps the filters @phone", async ({ page, server }) => {
  await manyAlerts(server);
  await page.goto("/alerts");
  const firing = page.getByRole("list", { name: "Firing alerts" });
  await expect(firing).toContainText("25 alerts");
  const filters = page.getByRole("search", { name: "Alerts" });
  await filters.getByRole("button", { name: "Severity: Any severity" }).click();
  await page.getByRole("menuitemradio", { name: "Critical" }).click();
  await expect(firing.getByRole("listitem")).toHaveCount(2);
  await expect(page.getByText("50 of 150 alerts")).toBeVisible();
  await filters.getByRole("searchbox", { name: "Search alerts" }).fill("VM-13");
  // vm-13 and vm-130 to vm-139, of which rules 1 and 4 are critical.
  const found = async () => (await firing.getByRole("link").allTextContents()).sort();
  await expect
    .poll(found)
    .toEqual(
      [
        "1@vm-13 · task 13",
        "1@vm-133 · task 133",
        "1@vm-139 · task 139",
        "4@vm-130 · task 130",
        "4@vm-136 · task 136",
      ].map((name) => `coder-${name} · main`),
    );
  await expect(page).toHaveURL(/severity=critical/);
  await expect(page).toHaveURL(/q=VM-13/);
  expect(await violations(page), "filtered").toEqual([]);
  await page.reload();
  await expect(firing.getByRole("link")).toHaveCount(5);
  await filters.getByRole("button", { name: "Rule: Any rule" }).click();
  await page.getByRole("menuitemradio", { name: /^Over 50k/ }).click();
  await expect(page.getByText("None of 150 alerts match")).toBeVisible();
  await filters.getByRole("button", { name: "Clear filters" }).click();
  await expect(firing.getByRole("listitem")).toHaveCount(6);

  await firing.getByRole("button", { name: "Acknowledge all 25 of Over 60k" }).click();
  await filters.getByRole("button", { name: "Alerts: Open" }).click();
  await page.getByRole("menuitemradio", { name: "Not handled" }).click();
  await expect(firing.getByRole("listitem")).toHaveCount(5);
  await page.goBack();
  await expect(firing.getByRole("listitem")).toHaveCount(6);
});

test("a message is one row, with its endpoints and attempts inside @phone", async ({ page, server }) => {
  const target = (path: string) => ({ kind: "webhook", url: `${receiver.url}/${path}` });
  for (const name of ["ops", "backup"])
    await server.mutate("alerts.endpoints.create", { name, target: target(name) });
  const { endpoints } = await server.query<{ endpoints: { id: string }[] }>("alerts.endpoints.list", {});
  await server.mutate("alerts.rules.create", {
    rule: {
      name: "Large",
      condition: { type: "tokens", at_least: 50_000 },
      endpoints: endpoints.map(({ id }) => id),
      group_interval: "0s",
    },
  });
  const agent = new EventBuilder({
    harness: "coder@vm-1",
    session: "task",
    window: 200_000,
    start: Date.now() - 60_000,
  });
  await server.send(agent.turns(20_000, 60_000).take());
  await page.goto("/alerts");
  const deliveries = page.getByRole("list", { name: "Deliveries", exact: true });
  const row = deliveries.getByRole("button", { name: /Large at coder@vm-1/ });
  await expect(row).toContainText("2 endpoints");
  await expect(row).toHaveAttribute("aria-expanded", "false");
  await row.click();
  const inside = deliveries.getByRole("list", { name: /^Deliveries of Large/ });
  await expect(inside.getByRole("button")).toHaveCount(2);
  await expect(inside).toContainText("backup");
  expect(await violations(page), "an open message").toEqual([]);
  await inside.getByRole("button", { name: /ops/ }).click();
  await expect(page.getByRole("dialog").getByRole("list", { name: "Attempts" })).toContainText(
    "Delivered after",
  );
  await page.getByRole("dialog").getByRole("button", { name: "Send again" }).click();
  await page.keyboard.press("Escape");
  await expect(row).toContainText("2 endpoints · 3 attempts");
});

test("every page tells that a receiver refuses every message @phone", async ({ page, expectedErrors }) => {
  expectedErrors.push(/400 \(Bad Request\)/);
  await page.goto("/alerts");
  await page.getByRole("button", { name: "Add endpoint" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("pager");
  await dialog.getByLabel("Address").fill("https://10.1.2.3/hook");
  await dialog.getByRole("button", { name: "Save endpoint" }).click();
  await expect(dialog.getByRole("alert")).toContainText("PLIMSOLL_WEBHOOK_ALLOW");
  await dialog.getByLabel("Address").fill(`${receiver.url}/hook`);
  await dialog.getByRole("button", { name: "Save endpoint" }).click();
  await page.getByRole("button", { name: "Done" }).click();

  receiver.answer((_, response) => response.writeHead(400).end("no such key"));
  await page.getByRole("button", { name: "Send a test to pager" }).click();
  await expect(page.getByText("The receiver refused the message (400), and").first()).toBeVisible();
  const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Alerts/ });
  for (const path of ["/", "/sessions", "/alerts"]) {
    await page.goto(path);
    await expect(link).toContainText("Alerts do not reach 1 endpoint");
  }
  expect(await violations(page), "with a mark").toEqual([]);

  receiver.answer((_, response) => response.end("ok"));
  await page.getByRole("button", { name: "Send a test to pager" }).click();
  await expect(link).not.toContainText("do not reach");
});

test("a rule is tried on recorded history before it is saved", async ({ page, send }) => {
  const agent = new EventBuilder({ harness: "coder@vm-1", session: "fills up", window: 200_000 });
  await send(agent.turns(20_000, 190_000, 195_000, 20_000).take());
  await page.goto("/alerts");
  await page.getByRole("button", { name: "New rule" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Save rule" }).click();
  await expect(dialog.getByRole("alert").first()).toBeVisible();
  await dialog.getByLabel("Name", { exact: true }).fill("Nearly full");
  await dialog.getByLabel("Condition").selectOption("utilization");
  await dialog.getByLabel("Utilization at least (%)").fill("90");
  await dialog.getByRole("button", { name: "Backtest" }).click();
  await expect(dialog.getByTestId("backtest")).toContainText("Would have fired 1 time in 7 days");
  await expect(dialog.getByTestId("backtest").getByRole("link")).toContainText("fills up");
  expect(await violations(page), "the rule").toEqual([]);
  await dialog.getByRole("button", { name: "Save rule" }).click();
  const rules = page.getByRole("list", { name: "Rules" });
  await expect(rules).toContainText("90% of the window or more");
  await rules.getByLabel("Rule Nearly full").click();
  await expect(rules.getByLabel("Rule Nearly full")).not.toBeChecked();
  await page.getByRole("button", { name: "Actions for Nearly full" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(rules).toContainText("Nearly full");
});

test("an agent that runs nears its line, and the webhook names it and what ended it", async ({
  page,
  server,
}) => {
  const target = { kind: "webhook", url: `${receiver.url}/hook` };
  const { signing_secret } = await server.mutate<AlertEndpointWithSecret>("alerts.endpoints.create", {
    name: "ops",
    target,
  });
  await page.goto("/alerts");
  await page.getByRole("button", { name: "New rule" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("Half full");
  await dialog.getByLabel("Load at least (%)").fill("50");
  await dialog.getByLabel("Family").fill("phantom");
  await dialog.getByLabel("ops").check();
  await dialog.getByRole("button", { name: "Save rule" }).click();
  await expect(dialog).toHaveCount(0);
  const payloads = () =>
    receiver.requests.map(
      ({ body, headers }) =>
        new Webhook(signing_secret!).verify(body, headers as Record<string, string>) as Payload,
    );
  await withPhantom(server, async () => {
    await expect
      .poll(() => payloads().map(({ type }) => type), { timeout: 120_000 })
      .toEqual(expect.arrayContaining(["alert.firing", "alert.resolved"]));
  });
  const [fired, ...later] = payloads();
  const [alert] = fired!.data.alerts;
  expect(alert).toMatchObject({
    subject: { harness: "phantom@demo" },
    rule: { name: "Half full" },
    level: { line: "ceiling", line_tokens: 40_000, window_tokens: 200_000 },
    resolved_at: null,
  });
  expect(alert!.level!.context_tokens).toBeGreaterThanOrEqual(20_000);
  const ended = later.find(({ type }) => type === "alert.resolved")!.data.alerts[0]!;
  expect(Date.parse(ended.resolved_at!)).toBeGreaterThan(Date.parse(ended.fired_at));
  expect(ended.end_reason).not.toBeNull();
  const ids = receiver.requests.map(({ headers }) => headers["webhook-id"]);
  expect(new Set(ids).size, "each notification comes once").toBe(ids.length);
});

test.describe("mistakes and what cannot be undone", () => {
  test.use({ expectedErrors: [/status of 4\d\d .*alerts\./] });

  test("an endpoint that rules use is not deleted", async ({ page, server }) => {
    const target = { kind: "webhook", url: `${receiver.url}/hook` };
    await server.mutate("alerts.endpoints.create", { name: "ops", target });
    await page.goto("/alerts");
    await page.getByRole("button", { name: /^Stays past its line/ }).click();
    const rules = page.getByRole("list", { name: "Rules" });
    await expect(rules).toContainText("to 1 endpoint");
    const remove = async () => {
      await page.getByRole("button", { name: "Actions for ops" }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete endpoint" }).click();
    };
    await remove();
    await expect(page.getByRole("dialog").getByRole("alert")).toContainText("Remove it from them first");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Actions for Stays past its line" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await expect(rules).toHaveCount(0);
    await remove();
    await expect(page.getByText("Endpoint “ops” deleted.")).toBeVisible();
  });

  test("rules are written to a file, and read from one", async ({ page, server }) => {
    await server.mutate("alerts.rules.createPreset", { preset: "thrash", endpoints: [] });
    await page.goto("/alerts");
    const files = page.getByRole("button", { name: "Import or export rules" });
    await files.click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: "Export as YAML" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("alerts.yaml");
    const yaml = await readFile(await download.path(), "utf8");
    expect(yaml).toContain("name: Compacting again and again");

    await files.click();
    await page.getByRole("menuitem", { name: "Import YAML" }).click();
    const dialog = page.getByRole("dialog");
    await dialog
      .getByLabel("YAML")
      .fill("rules:\n  - name: Half full\n    condition: { type: load, at_last: 0.5 }");
    await dialog.getByRole("button", { name: "Import" }).click();
    await expect(dialog.getByRole("alert")).toContainText("at_last");
    expect(await violations(page), "the import").toEqual([]);
    await dialog.getByLabel("File").setInputFiles({
      name: "alerts.yaml",
      mimeType: "application/yaml",
      buffer: Buffer.from(`${yaml}  - name: Half full\n    condition: { type: load, at_least: 0.5 }\n`),
    });
    await dialog.getByRole("button", { name: "Import" }).click();
    const rules = page.getByRole("list", { name: "Rules" });
    await expect(rules).toContainText("load at 50% of the line or more");
    await expect(rules.getByRole("listitem")).toHaveCount(2);
  });
});

test("a desktop notification appears when an alert starts while the page is open", async ({ page, send }) => {
  // A headless browser shows no notifications. This records the ones that the page creates.
  await page.addInitScript(() => {
    const shown: string[] = [];
    class Recorder extends EventTarget {
      static permission = "granted";
      static requestPermission = async () => Recorder.permission;
      constructor(title: string, options?: NotificationOptions) {
        super();
        shown.push(`${title}: ${options?.body}`);
      }
      close() {}
    }
    Object.assign(window, { shown, Notification: Recorder });
  });
  await page.goto("/alerts");
  await page.getByRole("button", { name: /^Stays past its line/ }).click();
  await page.getByRole("button", { name: "Desktop notifications" }).click();
  await expect(page.getByRole("button", { name: "Desktop notifications on" })).toBeVisible();
  await page.goto("/sessions");
  await page.locator("[data-testid=live][data-state=live]").filter({ visible: true }).waitFor();
  const start = Date.now() - 60_000;
  const agent = new EventBuilder({
    harness: "phantom@vm-1",
    session: "fix the build",
    window: 200_000,
    start,
  });
  await send(agent.turns(20_000, 60_000, 61_000, 62_000, 63_000).take());
  const shown = () => page.evaluate(() => (window as unknown as { shown: string[] }).shown);
  await expect
    .poll(shown)
    .toEqual([
      "Stays past its line: phantom@vm-1 · fix the build · main: 63,000 context tokens, past the ceiling (40,000 tokens) for 4 turns without a fall",
    ]);
  await expect(page).toHaveTitle(/^\(1\) /);
  await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /^data:image\/svg\+xml,.*%3E1%3C/);
});

test("the form of a rule asks only what its condition has, and says what is wrong @phone", async ({
  page,
  send,
}) => {
  for (const [day, cost_usd] of [10, 12, 11, 900].entries()) {
    const start = Date.now() - (4 - day) * 24 * 3_600_000;
    await send(
      new EventBuilder({ harness: "coder@vm", session: `day ${day}`, start })
        .turn(1_000, { cost_usd })
        .take(),
    );
  }
  await page.goto("/alerts");
  await page.getByRole("button", { name: "New rule" }).click();
  const dialog = page.getByRole("dialog");
  const condition = dialog.getByLabel("Condition");
  await expect(dialog.getByRole("textbox", { name: "Agent" })).toBeVisible();
  // What is only for agents does not keep a rule on costs from being saved.
  await dialog.getByRole("textbox", { name: "Agent" }).fill("reviewer");
  await condition.selectOption({ label: "cost of calls" });
  await expect(dialog.getByRole("textbox", { name: "Model" })).toBeVisible();
  for (const name of ["Agent", "Labels"]) await expect(dialog.getByRole("textbox", { name })).toHaveCount(0);
  await expect(dialog.getByRole("combobox", { name: "Session kind" })).toHaveCount(0);
  const amount = dialog.getByLabel("At least (USD)");
  await expect(dialog.getByTestId("usual-cost")).toContainText("A usual day costs $11.50.");
  await dialog.getByRole("button", { name: "Use twice that" }).click();
  await expect(amount).toHaveValue("23");
  await expect(dialog.getByTestId("rule-phrase")).toHaveText(
    "Fires: calls cost $23.00 or more within 24 hours",
  );

  await expect(dialog.getByText("A backtest runs conditions about agents only.")).toBeVisible();
  await test.step("a rule without a name can be tried", async () => {
    await condition.selectOption({ label: "context tokens" });
    await expect(dialog.getByRole("textbox", { name: "Agent" })).toHaveValue("reviewer");
    await dialog.getByRole("textbox", { name: "Agent" }).fill("");
    await dialog.getByLabel("Context tokens, at least").fill("1000");
    await dialog.getByRole("button", { name: "Backtest" }).click();
    await expect(dialog.getByTestId("backtest")).toContainText("Would have fired 4 times in 7 days");
    await dialog.getByLabel("Context tokens, at least").fill("0");
    await expect(dialog.getByRole("button", { name: "Backtest" })).toBeDisabled();
    await condition.selectOption({ label: "cost of calls" });
  });
  await test.step("mistakes are sentences, and the first has the focus", async () => {
    await amount.fill("0");
    await dialog.getByRole("button", { name: "Save rule" }).click();
    await expect(dialog.getByLabel("Name", { exact: true })).toBeFocused();
    await expect(dialog.getByRole("alert")).toHaveText([
      "Must not be empty.",
      "Must be more than 0.",
      "Correct the fields marked above.",
    ]);
    expect(await violations(page, "[role=dialog]:not([hidden])"), "with mistakes").toEqual([]);
    for (const [label, field, text, mistake] of [
      ["quota used", "Used, at least (%)", "-5", "Enter a percentage above 0, such as 90."],
      [
        "forecast to the line",
        "Fewer turns than",
        "",
        "Write a number of turns, a number of minutes, or both.",
      ],
      [
        "session without turns",
        "No turn for",
        "soon",
        "Write a duration of at most 30 days, such as 90s, 5m or 4h.",
      ],
      ["session without turns", "No turn for", "", "Enter a value."],
      ["context tokens", "Context tokens, at least", "0.5", "Must be a whole number."],
    ] as const) {
      await condition.selectOption({ label });
      await dialog.getByLabel(field).fill(text);
      await expect(dialog.getByRole("alert").nth(1)).toHaveText(mistake);
    }
  });
  await condition.selectOption({ label: "quota used" });
  await expect(dialog.getByText("Watches the whole project.")).toBeVisible();
  await dialog.getByLabel("Name", { exact: true }).fill("Quota");
  await dialog.getByRole("button", { name: "Save rule" }).click();
  await expect(page.getByRole("list", { name: "Rules" })).toContainText("90% or more of a quota is used");
});
