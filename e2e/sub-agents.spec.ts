import { expect, live, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test("each agent has its own level, and a sub-agent never changes its parent's", async ({
  page,
  send,
  harness,
}) => {
  const shared = { harness, session: "with-helpers", window: 200_000 };
  const main = new EventBuilder(shared).turns(20_000, 22_000, 24_000);
  const researcher = new EventBuilder({ ...shared, agent: "researcher", parent: "main" }).turns(
    10_000,
    36_000,
  );
  const reader = new EventBuilder({ ...shared, agent: "reader", parent: "researcher" }).turns(5_000);
  await send([...main.take(), ...researcher.take(), ...reader.take()]);

  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("session-row")).toContainText("3 agents");
  await page.getByRole("link", { name: "with-helpers" }).click();

  const agents = page.getByTestId("agent");
  await expect(agents).toHaveText([/^main.*24k/, /^researcher.*36k/, /^reader.*5k/]);
  // Each agent is indented below its parent.
  const indents = await agents.evaluateAll((buttons) =>
    buttons.map((button) => Number.parseInt((button.firstElementChild as HTMLElement).style.paddingLeft, 10)),
  );
  expect(indents).toEqual([0, 14, 28]);
  await expect(page.getByTestId("tile-now")).toContainText("24k");
  await expect(page.getByTestId("tile-peak")).toContainText("24k");
  await live(page);

  await expect(page.getByTestId("saw-path")).toBeVisible();
  await expect(page.getByTestId("saw-after")).toHaveCount(0);

  await send(researcher.pause(60_000).turn(90_000).take());
  // Turns after the last turn of the selected agent have their own part of the axis.
  await expect(page.getByTestId("saw-after")).toContainText("after turn 3");
  await expect(agents.nth(1)).toContainText("90k");
  await expect(page.getByTestId("kept-apart")).toHaveText(
    "2 sub-agents kept up to 95k tokens out of its window",
  );
  await expect(page.getByTestId("tile-now")).toContainText("24k");
  await expect(page.getByTestId("tile-peak")).toContainText("24k");

  await agents.nth(1).click();
  await expect(page).toHaveURL(/agent=/);
  await expect(page.getByTestId("tile-now")).toContainText("90k");
  await expect(page.getByTestId("tile-load")).toContainText("225%");
  await expect(page.getByRole("heading", { name: "Turns of researcher" })).toBeVisible();
  await expect(page.getByTestId("log-turn")).toHaveCount(3);

  await page.goto(`/?harness=${harness}`);
  const rows = page.getByTestId("fleet-row");
  await expect(rows).toHaveCount(3);
  await expect(rows.first()).toContainText("researcher");
  await expect(rows.first()).toContainText("225%");
  await expect(rows.nth(1)).toContainText("60%");
  await rows.first().locator("[data-row-link]").click();
  await expect(page.getByRole("heading", { name: "Turns of researcher" })).toBeVisible();
});

/** A sub-agent as its telemetry reports it, which knows only its own session, and as a recording does. */
function reportsOfOneSubAgent(harness: string) {
  const shared = { harness, window: 200_000 };
  const main = new EventBuilder({ ...shared, session: "parent" }).turns(20_000, 22_000).take();
  const calls = new EventBuilder({ ...shared, session: "own" })
    .turn(30_000, { witness: "otlp" })
    .turn(50_000, { witness: "otlp" })
    .take();
  const owner = { session: "parent", agent: "agent-own", parent_agent: "main", own_session: "own" };
  const recording = calls.map((event) => ({
    ...event,
    ...owner,
    id: `line-${event.id}`,
    witness: "transcript",
  }));
  return { telemetry: [...main, ...calls], recording };
}

test("the page of a session leads on once a recording says that it is a sub-agent", async ({
  page,
  send,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/status of 404 .*sessions\./);
  const { telemetry, recording } = reportsOfOneSubAgent(harness);
  await send(telemetry);

  await page.goto(`/sessions?harness=${harness}&range=24h`);
  await expect(page.getByTestId("session-row")).toHaveCount(2);
  await page.getByRole("link", { name: "own" }).click();
  await expect(page.getByTestId("tile-now")).toContainText("50k");
  const link = page.url();
  await live(page);

  await send(recording);

  // The open page goes on by itself, and so does a link to it.
  await expect(page.getByRole("heading", { name: "parent" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Turns of agent-own" })).toBeVisible();
  await expect(page.getByTestId("tile-now")).toContainText("50k");
  await expect(page.getByTestId("agent")).toHaveText([/^main.*22k/, /^agent-own.*50k/]);
  await expect(page.getByTestId("log-turn")).toHaveCount(2);
  await page.goto(link);
  await expect(page.getByRole("heading", { name: "Turns of agent-own" })).toBeVisible();
  expect(page.url()).not.toBe(link);

  await page.goto(`/sessions?harness=${harness}&range=24h`);
  await expect(page.getByTestId("session-row")).toHaveCount(1);
  await expect(page.getByTestId("session-row")).toContainText("2 agents");
});

test("Fleet moves an agent once a recording says that it is a sub-agent", async ({ page, send, harness }) => {
  const { telemetry, recording } = reportsOfOneSubAgent(harness);
  await send(telemetry);
  await page.goto(`/?harness=${harness}`);
  const rows = page.getByTestId("fleet-row");
  await expect(rows).toHaveText([/own.*50k/, /parent.*22k/]);
  await live(page);
  await send(recording);
  await expect(rows).toHaveText([/agent-own.*50k/, /parent.*22k/]);
  await rows.first().locator("[data-row-link]").click();
  await expect(page.getByRole("heading", { name: "parent" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Turns of agent-own" })).toBeVisible();
});
