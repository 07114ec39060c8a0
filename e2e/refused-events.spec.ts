import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.use({ lines: false });

test("Fleet says that events are refused, and Setup which field, which harness and the rule @phone", async ({
  page,
  server,
  send,
  harness,
}) => {
  await send(new EventBuilder({ harness, session: "right", window: 200_000 }).turns(10_000, 12_000).take());
  await page.goto("/");
  await live(page);
  const notice = page.getByTestId("refusal-notice");
  await expect(notice).toBeEmpty();

  const key = await server.createKey("wrong", ["ingest"]);
  const sendWrong = () =>
    fetch(`${server.url}/api/v1/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify([
        {
          type: "turn",
          id: "a secret id",
          at: Date.now(),
          harness: "claude-code@laptop",
          session: "a secret session",
          model: "claude-opus-4-6",
          usage: { input_tokens: "many" },
        },
      ]),
    });
  expect((await sendWrong()).status).toBe(200);
  await expect(notice).toContainText("Events from claude-code@laptop are being refused");
  await expect(notice).toContainText("usage.input_tokens");
  expect(await violations(page)).toEqual([]);

  await notice.getByRole("link", { name: "See what to fix" }).click();
  const refusals = page.getByTestId("refusals");
  await expect(refusals).toContainText("Invalid field usage.input_tokens in turn events");
  await expect(refusals).toContainText("claude-code@laptop");
  await refusals.getByText("Newest example").click();
  await expect(refusals.locator("pre")).toContainText("(text of 16 characters)");
  await expect(refusals).not.toContainText("secret");
  await refusals.getByRole("link", { name: "See the rule" }).click();
  await expect(page.locator("#rule-usage")).toBeVisible();
  await expect(page.locator("#rule-usage")).toContainText("whole numbers from 0");
  expect(await violations(page)).toEqual([]);
  // The count follows without a reload.
  await sendWrong();
  await expect(refusals.getByText(/^2, last/)).toBeVisible();
});
