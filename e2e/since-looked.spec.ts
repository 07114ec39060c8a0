import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

/** As if this browser had last shown the page some hours ago. */
const hoursAgo = (hours: number) => (cookie: string) =>
  cookie.replace(/(^|_)([0-9a-z]+)\.\d+/, `$1$2.${Math.floor(Date.now() / 1_000) - hours * 3_600}`);

test("who comes back is told what happened, until it is read @phone", async ({
  page,
  send,
  harness,
  context,
}) => {
  const agent = new EventBuilder({
    harness,
    session: "nightly",
    window: 200_000,
    start: Date.now() - 3_600_000,
  });
  await send(agent.turns(30_000, 38_000, 3_000).take());
  await page.goto(`/?harness=${harness}`);
  const digest = page.getByTestId("since-looked");
  const cookieOf = async () => (await context.cookies()).find(({ name }) => name === "plimsoll_looked");
  await expect.poll(async () => (await cookieOf())?.value).toMatch(/^[0-9a-z]+\.\d+$/);
  await expect(digest).toBeHidden();

  const away = async (hours: number) => {
    const cookie = (await cookieOf())!;
    await context.addCookies([{ ...cookie, value: hoursAgo(hours)(cookie.value) }]);
  };
  await page.goto("about:blank");
  await away(8);
  await page.goto(`/?harness=${harness}`);
  await expect(digest).toContainText("Since you looked 8 h ago: 1 fall without a cause and 1 new harness");
  // A reload is no look at it.
  await page.reload();
  await expect(digest).toContainText("8 h ago");
  await digest.locator("summary").click();
  await expect(digest.getByRole("listitem").first()).toContainText("a fall without a cause, 38k to 3k");
  expect(await violations(page)).toEqual([]);
  await digest.getByRole("link", { name: "nightly" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("nightly");
  await expect(page).toHaveURL(/[?&]turn=/);

  await page.goto(`/?harness=${harness}`);
  await digest.getByRole("button", { name: "I have read it" }).click();
  await expect(digest).toBeHidden();
  // Without the time since which the person was away.
  await expect.poll(async () => (await cookieOf())?.value).toMatch(/^[0-9a-z]+\.\d+$/);
  await page.reload();
  await expect(page.getByTestId("fleet-row").or(page.getByTestId("nothing-live"))).toBeVisible();
  await expect(digest).toBeHidden();

  // The open page would write the cookie again.
  await page.goto("about:blank");
  await away(0.5);
  await page.goto("/?harness=nobody");
  await expect(digest).toContainText("30 min ago: nothing happened that you need to know");
});
