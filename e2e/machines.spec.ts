import { expect, live, test } from "./fixtures.ts";
import { changeAnswer } from "./support/change-answer.ts";
import { EventBuilder } from "./support/event-builder.ts";

const MINUTE = 60_000;

/** A live session of a machine and a repository. */
const session = (harness: string, name: string, origin: Record<string, unknown>, level = 40_000) =>
  new EventBuilder({ harness, session: name, window: 200_000 })
    .event("session", { status: "started", title: name, ...origin })
    .turn(level, origin)
    .take();

const LAPTOP = { machine: "anns-laptop", repository: "git@example.org:acme/billing.git", branch: "main" };
const SERVER = { machine: "build-7", repository: "https://example.org/acme/web.git", branch: "next" };

test("Fleet and Sessions filter by machine and repository @phone", async ({ page, send, harness }) => {
  await send([
    ...session(harness, "on the laptop", LAPTOP),
    ...session(harness, "on the server", SERVER),
    ...session(harness, "somewhere", {}),
  ]);
  await page.goto("/");
  const agents = page.getByTestId("fleet-row");
  await expect(agents).toHaveCount(3);
  await page.getByRole("button", { name: "Machine: All machines" }).click();
  await page.getByRole("menuitemradio", { name: "anns-laptop" }).click();
  await expect(page).toHaveURL(/machine=anns-laptop/);
  await expect(agents).toHaveText([/on the laptop/]);
  await expect(page.getByText("count all people, machines and repositories")).toBeVisible();
  await live(page);
  await send(session(harness, "on the server", SERVER, 60_000));
  await send(session(harness, "on the laptop too", LAPTOP));
  await expect(agents).toHaveText([/on the laptop/, /on the laptop/]);

  await page.getByRole("button", { name: "Machine: anns-laptop" }).click();
  await page.getByRole("menuitemradio", { name: "All machines" }).click();
  await page.getByRole("button", { name: "Repository: All repositories" }).click();
  await page.getByRole("menuitemradio", { name: "example.org/acme/web" }).click();
  await expect(agents).toHaveText([/on the server/]);
  await page.reload();
  await expect(agents).toHaveText([/on the server/]);

  await page.goto("/sessions?repository=example.org/acme/billing");
  const rows = page.getByTestId("session-row");
  await expect(rows).toHaveCount(2);
  const chips = page.getByRole("list", { name: "Filters" });
  await expect(chips).toContainText("Repository example.org/acme/billing");
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("option", { name: "main", exact: true }).click();
  await expect(page).toHaveURL(/branch=main/);
  await expect(rows).toHaveCount(2);
  await page.getByRole("button", { name: "Remove filter Repository" }).click();
  await page.getByRole("button", { name: "Remove filter Branch" }).click();
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("option", { name: "build-7" }).click();
  await expect(rows).toHaveText([/on the server/]);
  await rows.getByRole("link").first().click();
  await expect(page.getByText("example.org/acme/web, next")).toBeVisible();
  await expect(page.getByText("build-7")).toBeVisible();
});

test("the same session on two machines is one row, which follows to the machine that goes on", async ({
  page,
  send,
  harness,
}) => {
  const name = crypto.randomUUID();
  const family = harness.split("@", 1)[0]!;
  const start = Date.now() - 5 * MINUTE;
  const on = (machine: string, at: number) =>
    new EventBuilder({
      harness: `${family}@${machine}`,
      session: name,
      window: 200_000,
      start: at,
      pace: 5_000,
    });
  const laptop = on("laptop", start).turn(30_000, { id: "a", machine: "laptop" }).take();
  await send(laptop);
  await page.goto("/sessions?columns=harness,machine,turns");
  const rows = page.getByTestId("session-row");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("laptop");
  await live(page);
  // A synchronised home: the other machine reads the first call too.
  await send(laptop.map((event) => ({ ...event, harness: `${family}@desktop`, machine: "desktop" })));
  await send(
    on("desktop", start + MINUTE)
      .turn(50_000, { id: "b", machine: "desktop" })
      .take(),
  );
  await expect(rows).toContainText("desktop");
  await expect(rows).toHaveCount(1);
  await rows.getByRole("link").first().click();
  await expect(page.getByTestId("log-turn")).toHaveCount(2);
});

test("a machine that stopped reporting is named, with what to run there, until it reports again @phone", async ({
  page,
  send,
  harness,
}) => {
  await send(session(harness, "at work", LAPTOP));
  let minutes = 25;
  // Ten minutes of silence are longer than a story.
  await changeAnswer(page, "machines.list", (data) => {
    for (const machine of data.machines as { last_at: string; stopped: object | null }[]) {
      machine.last_at = new Date(Date.now() - minutes * MINUTE).toISOString();
      machine.stopped = minutes > 10 ? { sessions: 1 } : null;
    }
  });
  await page.goto("/");
  const notice = page.getByTestId("stopped-machines");
  // The page arrives with the answer of the server; the first refetch has the other one.
  await expect(async () => {
    await send(session(harness, "another", LAPTOP));
    await expect(notice).toBeVisible({ timeout: 5_000 });
  }).toPass();
  await expect(notice).toContainText("anns-laptop stopped reporting 25 min ago");
  await notice.locator("summary").click();
  await expect(notice).toContainText("npx plimsoll connections");
  await expect(notice).toContainText("with 1 session at work");

  minutes = 0;
  await expect(async () => {
    await send(session(harness, "again", LAPTOP));
    await expect(notice).toBeHidden({ timeout: 5_000 });
  }).toPass();
});
