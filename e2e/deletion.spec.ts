import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";

const DAY_MS = 86_400_000;

test("a session is deleted in its menu, and brought back for ten seconds", async ({
  page,
  send,
  harness,
  expectedErrors,
}) => {
  // The page asks for its session once more while it is left.
  expectedErrors.push(/404/);
  await send(
    new EventBuilder({ harness, session: "to-delete", window: 200_000 }).turns(20_000, 22_000).take(),
  );
  await send(new EventBuilder({ harness, session: "to-keep", window: 200_000 }).turns(20_000).take());
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "to-delete" }).click();
  await page.getByRole("button", { name: "More actions" }).filter({ visible: true }).click();
  const entry = page.getByRole("menuitem", { name: "Delete session" });
  await expect(entry).toBeVisible();
  expect(await violations(page)).toEqual([]);
  await entry.click();
  await expect(page).toHaveURL(/\/sessions\?/);
  const notice = page.getByText("Deleted 1 session and 2 turns.");
  await expect(notice).toBeVisible();
  await expect(page.getByRole("link", { name: "to-delete" })).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("Restored 1 session.")).toBeVisible();
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("session-row")).toHaveCount(2);
});

test("the page of a deleted session says that it is gone", async ({
  page,
  server,
  send,
  harness,
  expectedErrors,
}) => {
  expectedErrors.push(/404/);
  await send(new EventBuilder({ harness, session: "gone", window: 200_000 }).turns(20_000, 30_000).take());
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "gone" }).click();
  await expect(page.getByTestId("saw-path")).toBeVisible();
  const id = new URL(page.url()).pathname.split("/").at(-1);
  // Somebody else deletes it.
  await server.mutate("sessions.delete", { ids: [id] });
  await expect(page.getByRole("heading", { name: "Session not found" })).toBeVisible();
});

test("a harness is deleted on Setup with all of its sessions", async ({ page, send, harness }) => {
  for (const session of ["one", "two"])
    await send(new EventBuilder({ harness, session, window: 200_000 }).turns(20_000, 21_000).take());
  await page.goto("/setup");
  await page.getByRole("button", { name: `Delete ${harness} and its sessions` }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("This deletes 1 harness with 2 sessions and 4 turns.");
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Keep it" }).click();
  await expect(dialog).toHaveCount(0);
  await page.getByRole("button", { name: `Delete ${harness} and its sessions` }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("Deleted 1 harness with 2 sessions and 4 turns.")).toBeVisible();
  await expect(page.getByTestId("harnesses").getByText(harness)).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByTestId("harnesses").getByText(harness)).toBeVisible();
  await page.goto(`/sessions?harness=${harness}`);
  await expect(page.getByTestId("session-row")).toHaveCount(2);
});

test.describe("on a server of its own", () => {
  test.use({ lines: false });

  test("what the demo recorded is removed with one click", async ({ page, send }) => {
    for (const harness of ["phantom@demo", "watcher@demo", "mine@host"])
      await send(new EventBuilder({ harness, session: "s", window: 200_000 }).turns(20_000).take());
    await page.goto("/setup");
    await page.getByRole("button", { name: "Delete demo data" }).click();
    await expect(page.getByText("Deleted 2 harnesses with 2 sessions and 2 turns.")).toBeVisible();
    await expect(page.getByRole("button", { name: "Delete demo data" })).toHaveCount(0);
    await expect(page.getByTestId("harnesses").getByRole("listitem")).toHaveText([/mine@host/]);
  });

  test("a retention is set on Setup, which says what it removes and what is on the disk", async ({
    page,
    send,
    server,
  }) => {
    const old = new EventBuilder({ harness: "h@host", session: "old", window: 200_000 });
    await send(
      old
        .turns(20_000, 21_000)
        .take()
        .map((event) => ({ ...event, at: Date.now() - 40 * DAY_MS })),
    );
    await send(new EventBuilder({ harness: "h@host", session: "new", window: 200_000 }).turns(20_000).take());
    await page.goto("/setup#retention");
    const section = page.getByRole("region", { name: "Retention" });
    const sessions = section.getByLabel("Sessions, in days");
    const charts = section.getByLabel("Charts, in days");
    const save = section.getByRole("button", { name: "Save" });
    await expect(save).toBeDisabled();
    await expect(section.getByTestId("disk-use")).toContainText(/All projects together\s*[\d.]+ [kMG]B/);
    await sessions.fill("30");
    await expect(section).toContainText("Removes 1 session with 2 turns now.");
    await charts.fill("10");
    await expect(section).toContainText("Charts outlive sessions. Keep them for at least 30 days.");
    await expect(save).toBeDisabled();
    await charts.fill("365");
    expect(await violations(page)).toEqual([]);
    await save.click();
    await expect(page.getByText("Retention saved.")).toBeVisible();
    await expect
      .poll(async () => (await server.query<{ horizon: string | null }>("retention.get", {})).horizon)
      .not.toBeNull();
    await page.reload();
    await expect(sessions).toHaveValue("30");
    await expect(section).toContainText("Nothing is old enough to be removed now.");
    await expect(section).toContainText("The oldest chart of this project is 40 days old.");
  });
});
