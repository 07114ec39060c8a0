import type { Locator, Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

const MODEL = "registry.internal.example/team/qwen3-coder-480b-a35b-instruct-fp8-2026-10-31-experimental";

async function fits(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth))
    .toBeLessThanOrEqual(0);
}

test("a long model name is fully visible in Setup @phone", async ({ page, send, harness }) => {
  await send(new EventBuilder({ harness, session: "long", model: MODEL }).turn(9_000).take());
  await page.goto("/setup");
  const whole = (name: Locator) =>
    name.evaluate(
      (element) => element.scrollWidth <= element.clientWidth && element.scrollHeight <= element.clientHeight,
    );
  const unknownModel = page.getByRole("button", { name: `Set the size of ${MODEL}` });
  await expect(unknownModel).toHaveText(MODEL);
  expect(await whole(unknownModel)).toBe(true);
  await fits(page);
  await unknownModel.click();
  await page.getByLabel("Tokens").fill("128k");
  await page.getByRole("button", { name: "Set size", exact: true }).click();
  const set = page.getByTestId("windows").getByText(MODEL);
  await expect(set).toBeVisible();
  await expect(unknownModel).toHaveCount(0);
  expect(await whole(set)).toBe(true);
  await expect(page.getByTestId("activity").getByText(MODEL)).toBeVisible();
  await fits(page);
  await page.getByRole("button", { name: `Remove the size of ${MODEL}` }).click();
  await expect(set).toHaveCount(0);
});

test("a long title is fully visible on a phone @phone-only", async ({ page, send, harness }) => {
  const title = "Investigate why the nightly reconciliation of supplier invoices disagrees with the ledger";
  const agent = new EventBuilder({ harness, session: "titled", window: 200_000 });
  await send(agent.event("session", { status: "started", title }).turn(9_000).take());
  await page.goto(`/sessions?harness=${harness}`);
  await page.locator("[data-row-link]").click();
  const heading = page.getByRole("heading", { level: 1 });
  await expect(heading).toHaveText(title);
  expect(
    await heading.evaluate(
      ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
        scrollWidth <= clientWidth && scrollHeight <= clientHeight,
    ),
  ).toBe(true);
  await fits(page);
});

test("names of 120 characters do not overflow @phone", async ({ page, send, server, harness }) => {
  const long = harness.padEnd(120, "h");
  const agent = new EventBuilder({
    harness: long,
    session: "s".repeat(120),
    model: "m".repeat(120),
    window: 200_000,
  });
  await send(agent.turn(9_000).take());
  const inside = (shown: Locator) =>
    expect
      .poll(() =>
        shown.evaluate((element) => {
          const { left, right } = element.getBoundingClientRect();
          return left >= 0 && right <= window.innerWidth && element.scrollWidth <= element.clientWidth;
        }),
      )
      .toBe(true);
  await page.goto("/");
  await page.getByRole("button", { name: "Harness: All harnesses" }).click();
  const choice = page.getByRole("menuitemradio", { name: long });
  await expect(choice).toBeVisible();
  await inside(page.getByRole("menu"));
  await choice.click();
  await expect(page.getByTestId("fleet-row")).toHaveCount(1);
  await fits(page);

  await page.getByRole("button", { name: "Search" }).filter({ visible: true }).click();
  await page.getByPlaceholder("Search sessions, pages, ranges").fill(harness);
  const found = page.getByRole("option").filter({ hasText: long });
  await expect(found).toContainText("9k tokens");
  await inside(found);
  await found.click();
  // A long model name does not hide the window size.
  await expect(page.getByText("200k reported")).toBeInViewport({ ratio: 1 });
  await fits(page);

  await server.createKey("k".repeat(100), ["ingest"]);
  await page.goto("/setup");
  await page.getByRole("button", { name: /^Actions for k{100}$/ }).click();
  await page.getByRole("menuitem", { name: "Revoke" }).click();
  await inside(page.getByRole("dialog"));
  await page.getByRole("button", { name: "Cancel" }).click();
  await fits(page);
});

test("a clipped Arabic or Hebrew name keeps its beginning, and turns nothing around it", async ({
  page,
  send,
  harness,
}) => {
  const names = [
    "إصلاح تسجيل الدخول إلى الخادم الرئيسي بعد التحديث الأخير لقاعدة البيانات وإعادة بناء جميع الفهارس القديمة في النظام",
    "תיקון ההתחברות לשרת הראשי לאחר העדכון האחרון של מסד הנתונים ובנייה מחדש של כל האינדקסים הישנים במערכת כולה היום",
  ];
  for (const [at, title] of names.entries())
    await send(
      new EventBuilder({ harness, session: `rtl-${at}`, window: 200_000 })
        .event("session", { status: "started", title })
        .turn(9_000)
        .take(),
    );
  await page.goto(`/sessions?harness=${harness}`);
  for (const title of names) {
    const name = page.locator("[data-row-link] bdi").filter({ hasText: title });
    const place = await name.evaluate((element) => {
      const text = element.firstChild!;
      const rectOf = (at: number) => {
        const range = document.createRange();
        range.setStart(text, at);
        range.setEnd(text, at + 1);
        return range.getBoundingClientRect();
      };
      const { left, right } = element.getBoundingClientRect();
      const [first, last] = [rectOf(0), rectOf(text.textContent!.length - 1)];
      return { clipped: last.left < left, kept: first.left >= left && first.right <= right + 1 };
    });
    expect(place).toEqual({ clipped: true, kept: true });
  }
  await page.locator("[data-row-link]").first().click();
  const heading = page.getByRole("heading", { level: 1 });
  await expect(heading).toHaveCSS("direction", "rtl");
  await expect(heading).toHaveCSS("text-align", "left");
});
