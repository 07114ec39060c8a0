import { readFile } from "node:fs/promises";
import type { Locator, Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { parseCsv } from "./support/csv.ts";
import { EventBuilder } from "./support/event-builder.ts";

async function download(page: Page, link: Locator) {
  const [file] = await Promise.all([page.waitForEvent("download"), link.click()]);
  return { name: file.suggestedFilename(), rows: parseCsv(await readFile(await file.path(), "utf8")) };
}

test("CSV exports match the page and escape formulas", async ({ page, send, harness }) => {
  const quoted = 'Fix "login", then\nrest';
  const eventsFor = (session: string, title: string, ...levels: number[]) =>
    new EventBuilder({ harness, session, window: 200_000, start: Date.now() - 60 * 60_000 })
      .event("session", { status: "started", kind: "loop", title })
      .turns(...levels);
  const long = eventsFor("long", quoted, ...Array.from({ length: 640 }, (_, turn) => 8_000 + turn * 40));
  await send([...long.take(), ...eventsFor("formula", "=1+1", 9_000).take()]);

  await page.goto(`/sessions?harness=${harness}&sort=turns`);
  await expect(page.getByTestId("session-row")).toHaveCount(2);
  const sessions = await download(page, page.getByRole("link", { name: "CSV" }));
  expect(sessions.name).toBe("plimsoll-sessions.csv");
  expect(sessions.rows.map(({ session, title, turns }) => ({ session, title, turns }))).toEqual([
    { session: "long", title: quoted, turns: "640" },
    { session: "formula", title: "'=1+1", turns: "1" },
  ]);
  expect(sessions.rows[0]).toMatchObject({
    context_tokens: String(8_000 + 639 * 40),
    window_tokens: "200000",
    kind: "loop",
    status: "live",
  });

  await page.getByRole("searchbox").fill("formula");
  await expect(page.getByTestId("session-row")).toHaveCount(1);
  const filtered = await download(page, page.getByRole("link", { name: "CSV" }));
  expect(filtered.rows.map(({ session }) => session)).toEqual(["formula"]);
  await page.getByRole("searchbox").fill("");

  await page.getByRole("link", { name: 'Fix "login", then' }).click();
  const log = page.getByRole("region", { name: "Turns", exact: true });
  await expect(log.getByTestId("log-turn").first()).toContainText("33,560");
  const turns = await download(page, log.getByRole("link", { name: "CSV" }));
  expect(turns.name).toMatch(/^plimsoll-turns-\w{8}\.csv$/);
  // The export spans several pages of the log, with each turn once.
  expect(turns.rows).toHaveLength(640);
  expect(new Set(turns.rows.map(({ number }) => number)).size).toBe(640);
  expect(turns.rows[0]).toMatchObject({
    number: "640",
    context_tokens: "33560",
    change: "40",
    model: "claude-opus-4-6",
  });
});
