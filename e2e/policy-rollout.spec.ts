import type { Page } from "@playwright/test";
import type { PolicyAnswer, WholePolicy } from "@plimsoll/protocol/api";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

const FLEET = Array.from({ length: 6 }, (_, n) => `phantom@vm-${n}`);

async function startFleet(server: PlimsollServer): Promise<void> {
  for (const harness of FLEET) {
    const builder = new EventBuilder({ harness, session: `work of ${harness}`, window: 200_000 });
    await server.send(builder.turns(20_000, 40_000).take());
  }
}

const policyOf = async (server: PlimsollServer, key: string, harness: string): Promise<PolicyAnswer> => {
  const headers = { authorization: `Bearer ${key}` };
  const path = `/api/v1/policy?harness=${encodeURIComponent(harness)}`;
  return (await (await fetch(server.url + path, { headers })).json()) as PolicyAnswer;
};

/** Instances that are offered a generation. */
async function offered(server: PlimsollServer, key: string, generation: number): Promise<string[]> {
  const answers = await Promise.all(FLEET.map((harness) => policyOf(server, key, harness)));
  return FLEET.filter((_, index) => answers[index]!.generation === generation);
}

async function acknowledge(server: PlimsollServer, key: string, harness: string, more: object = {}) {
  const { generation, hash } = await policyOf(server, key, harness);
  const ack = {
    id: `ack-${generation}-${harness}`,
    type: "policy_ack",
    at: Date.now(),
    harness,
    generation,
    hash,
  };
  const answer = await server.send([{ ...ack, status: "applied", ...more }]);
  expect(answer.rejected).toEqual([]);
}

/** Edits the ceiling and saves it with a rollout of the given kind. */
async function saveCeiling(page: Page, percent: string, kind: string): Promise<void> {
  await page.getByLabel("ceiling in percent").fill(percent);
  await page.getByRole("button", { name: "Review and save" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("try a lower ceiling");
  await dialog.getByLabel(kind).check();
}

const banner = (page: Page) => page.getByTestId("rollout");

test("a canary that rejects a policy halts its rollout, and one click rolls it back @phone", async ({
  page,
  server,
}) => {
  const key = await server.createKey("to ask", ["policy:read"]);
  await startFleet(server);
  await server.mutate<WholePolicy>("policies.save", {
    policy: { settings: { thresholds: { ceiling: "70%" } } },
    expected: 0,
    reason: "the usual",
  });
  await page.goto("/policies");
  await saveCeiling(page, "5", "some first, then the rest");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Share of the harnesses" }).click();
  await page.getByRole("menuitemradio", { name: "50%" }).click();
  await expect(dialog.getByText("3 of 6 connected harnesses first.")).toBeVisible();
  expect(await violations(page), "the dialog").toEqual([]);
  await dialog.getByRole("button", { name: "Save policy" }).click();

  await expect(banner(page)).toContainText("Generation 2 is being rolled out");
  await expect(banner(page)).toContainText("Step 1 of 2: offered to 50% of the harnesses");
  const canaries = await offered(server, key, 2);
  expect(canaries).toHaveLength(3);
  const message = "thresholds.ceiling is 5%, and this harness takes at least 10%";
  await acknowledge(server, key, canaries[0]!, { status: "rejected", code: "out_of_bounds", message });

  await expect(banner(page)).toContainText("Generation 2 is halted");
  await expect(banner(page)).toContainText("Halted because a harness rejected it.");
  await expect(banner(page)).toContainText(`${canaries[0]} rejected it: ${message}`);
  expect(await violations(page), "the banner").toEqual([]);
  await expect.poll(() => offered(server, key, 1)).toHaveLength(FLEET.length - canaries.length);

  await banner(page).getByRole("button", { name: "Roll back" }).click();
  await expect(page.getByText("Generation 1 is saved again as generation 3.")).toBeVisible();
  await expect(banner(page)).toBeHidden();
  await expect.poll(() => offered(server, key, 3)).toEqual(FLEET);
  await expect(page.getByTestId("versions").getByRole("listitem").first()).toContainText(
    "Rolls back generation 2: a harness rejected it",
  );
});

test("a rollout that each of its harnesses rejected is offered to the next ones", async ({
  page,
  server,
}) => {
  const key = await server.createKey("to ask", ["policy:read"]);
  await startFleet(server);
  await server.mutate<WholePolicy>("policies.save", {
    policy: { settings: { thresholds: { ceiling: "5%" } } },
    expected: 0,
    reason: "a trial",
    rollout: { strategy: "canary", share: 0.34, bake_s: 3_600, halt: { rejections: 2 } },
  });
  const first = await offered(server, key, 1);
  expect(first).toHaveLength(2);
  for (const harness of first)
    await acknowledge(server, key, harness, { status: "rejected", code: "out_of_bounds" });
  await page.goto("/policies");
  await expect(banner(page)).toContainText("Halted because a harness rejected it.");
  await expect(banner(page)).toContainText(
    "All harnesses of this step rejected it, so nobody is left to apply it. You can offer it to 2 other harnesses, or save another version.",
  );
  await expect(banner(page).getByRole("button", { name: "Resume" })).toBeHidden();
  expect(await violations(page), "the banner").toEqual([]);
  await page.screenshot({ path: test.info().outputPath("refused.png") });
  await banner(page).getByRole("button", { name: "Try 2 others" }).click();
  await expect(banner(page)).toContainText("4 of 6 connected harnesses, 0 of them run it. Next step");
  await expect.poll(() => offered(server, key, 1)).toHaveLength(4);
});

test("a rollout is advanced, halted and resumed by hand, and another page follows", async ({
  page,
  context,
  server,
}) => {
  const key = await server.createKey("to ask", ["policy:read"]);
  await startFleet(server);
  await page.goto("/policies");
  const other = await context.newPage();
  await other.goto(server.inProject("/policies"));
  await page.getByLabel("ceiling", { exact: true }).selectOption("percent");
  await saveCeiling(page, "60", "more in each step");
  await page.getByRole("dialog").getByRole("button", { name: "Share of the harnesses" }).click();
  await page.getByRole("menuitemradio", { name: "50%" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save policy" }).click();

  await expect(banner(other)).toContainText("Step 1 of 2: offered to 50% of the harnesses");
  await banner(page).getByRole("button", { name: "Halt" }).click();
  await expect(banner(other)).toContainText("Halted because somebody halted it.");
  await banner(other).getByRole("button", { name: "Resume" }).click();
  await expect(banner(page)).toContainText("Generation 1 is being rolled out");
  await expect(banner(page).getByRole("button", { name: "Roll back" })).toBeHidden();
  await banner(page).getByRole("button", { name: "Advance now" }).click();
  await expect(banner(page)).toBeHidden();
  await expect.poll(() => offered(server, key, 1)).toEqual(FLEET);
});

test("a rollout goes on after its server was killed in the middle", { tag: "@own-server" }, async ({
  page,
  server,
  expectedErrors,
}) => {
  // The browser reports each failed attempt to reconnect.
  expectedErrors.push(/ERR_|Failed to load resource/);
  const key = await server.createKey("to ask", ["policy:read"]);
  await startFleet(server);
  await server.mutate("policies.save", {
    policy: { settings: { thresholds: { ceiling: "70%" } } },
    expected: 0,
    reason: "a start",
    rollout: { strategy: "canary", share: 0.5, bake_s: 1 },
  });
  await page.goto("/policies");
  await expect(banner(page)).toContainText(
    "The next step waits until one of this step's harnesses has applied it.",
  );
  const canaries = await offered(server, key, 1);
  await server.kill();
  await server.begin();
  expect(await offered(server, key, 1)).toEqual(canaries);
  await acknowledge(server, key, canaries[0]!);
  await expect.poll(() => offered(server, key, 1)).toEqual(FLEET);
  await expect(banner(page)).toBeHidden();
});
