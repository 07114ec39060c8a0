import type { PolicyAnswer } from "@plimsoll/protocol/api";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

const HARNESS = "coder@vm-1";
const MINUTE = 60_000;

/** Saves a ceiling, which the harness acknowledges as applied at a time of its own. */
async function apply(server: PlimsollServer, ceiling: string, expected: number, at: number): Promise<void> {
  await server.mutate("policies.save", {
    policy: { settings: { thresholds: { ceiling } } },
    expected,
    reason: `a ceiling of ${ceiling}`,
  });
  const key = await server.createKey(`to ask ${expected}`, ["policy:read"]);
  const headers = { authorization: `Bearer ${key}` };
  const path = `/api/v1/policy?harness=${encodeURIComponent(HARNESS)}`;
  const { generation, hash } = (await (await fetch(server.url + path, { headers })).json()) as PolicyAnswer;
  await server.send([
    {
      id: `ack-${generation}`,
      type: "policy_ack",
      at,
      harness: HARNESS,
      generation,
      hash,
      status: "applied",
    },
  ]);
}

test("a threshold is drawn as it stood, with a mark where it changed @phone", async ({
  page,
  server,
  send,
}) => {
  const start = Date.now() - 30 * MINUTE;
  const builder = new EventBuilder({
    harness: HARNESS,
    session: "long work",
    window: 200_000,
    start,
    pace: MINUTE,
  });
  await apply(server, "70%", 0, start - MINUTE);
  await apply(server, "40%", 1, start + 4.5 * MINUTE);
  await send(builder.turns(20_000, 40_000, 60_000, 80_000, 90_000, 60_000, 70_000, 78_000).take());

  await page.goto("/?range=1h");
  const fleet = page.getByRole("region", { name: "Context window utilization" });
  await expect(fleet.getByText("changed where they step")).toBeVisible();
  // The ceiling, and the default warning and end of the window before it and since.
  await expect.poll(() => fleet.getByTestId("threshold").count()).toBeGreaterThan(4);

  await page.goto("/sessions");
  await page.getByRole("link", { name: "long work" }).first().click();
  const chart = page.getByRole("region", { name: /^Context tokens of/ });
  await expect(chart.getByText("ceiling 40%")).toBeVisible();
  await expect(page.getByText("policy 2, acknowledged")).toBeVisible();
  await expect(chart.getByText("thresholds changed")).toBeVisible();
  const mark = chart.getByTestId("saw-line-change");
  await expect(mark).toHaveCount(1);
  await mark.focus();
  await expect(chart.getByText("ceiling 70% to 40%, acknowledged policy 2")).toBeVisible();
  // It steps down once: two levels, joined by an edge.
  const path = await chart.getByTestId("saw-threshold-ceiling").getAttribute("d");
  const levels = [...path!.matchAll(/[ML][\d.]+ ([\d.]+)/g)].map(([, level]) => Number(level));
  expect(levels).toHaveLength(4);
  expect([levels[0] === levels[1], levels[1]! < levels[2]!, levels[2] === levels[3]]).toEqual([
    true,
    true,
    true,
  ]);
  expect(await violations(page), "the session").toEqual([]);
  await chart.getByRole("button", { name: "Time" }).click();
  await expect(mark).toHaveCount(1);
});
