import type { Page } from "@playwright/test";
import type { ProjectView } from "@plimsoll/protocol/api";
import { expect, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false });

const switcher = (page: Page) => page.getByTestId("project-switcher").filter({ visible: true });

/** Opens the menu by keyboard alone and picks an entry. */
async function pick(page: Page, role: "menuitem" | "menuitemradio", name: string): Promise<void> {
  await switcher(page).focus();
  await page.keyboard.press("Enter");
  const item = page.getByRole(role, { name });
  await expect(item).toBeVisible();
  await item.focus();
  await page.keyboard.press("Enter");
}

async function createProject(page: Page, name: string): Promise<void> {
  await pick(page, "menuitem", "New project");
  await expect(page.getByRole("dialog").getByLabel("Name")).toBeFocused();
  await page.keyboard.type(name);
  await page.keyboard.press("Enter");
  await expect(switcher(page)).toHaveText(name);
}

async function create(server: PlimsollServer, name: string): Promise<number> {
  return (await server.mutate<ProjectView>("projects.create", { name })).id;
}

async function keyFor(server: PlimsollServer, project: string): Promise<string> {
  const { stdout, stderr } = await server.plimsoll(
    "key",
    "create",
    "--project",
    project,
    "--name",
    project,
    "--scope",
    "ingest,read",
    "--quiet",
  );
  expect(stderr).toBe("");
  return stdout.trim();
}

let serial = 0;
async function send(server: PlimsollServer, key: string, session: string) {
  serial += 1;
  return fetch(`${server.url}/api/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      id: `t${serial}`,
      type: "turn",
      at: Date.now(),
      harness: "story@host",
      session,
      model: "claude-opus-4-6",
      usage: { input_tokens: 10_000 },
    }),
  });
}

test("the switcher creates a project and switches to it @phone", { tag: "@own-server" }, async ({
  page,
  server,
}) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "What do you run?" })).toBeVisible();
  await expect(switcher(page)).toHaveText("");
  await switcher(page).click();
  await expect(page.getByRole("menu")).toBeVisible();
  expect(await violations(page), "the menu of one project").toEqual([]);
  await page.keyboard.press("Escape");
  for (const link of await page.getByRole("navigation").getByRole("link").all())
    expect(await link.getAttribute("href")).not.toContain("project");

  await createProject(page, "billing");
  await expect(page).toHaveURL(`${server.url}/?project=2`);
  await expect(page.getByRole("heading", { name: "What do you run?" })).toBeVisible();
  await live(page);

  // Its own key, its own live numbers.
  const key = await keyFor(server, "billing");
  expect((await send(server, key, "invoice run")).status).toBe(200);
  await expect(page.getByRole("link", { name: "invoice run" })).toBeVisible();
  await send(server, await keyFor(server, "default"), "default work");

  // Every way on stays in the project.
  await page.getByRole("link", { name: "invoice run" }).click();
  await expect(page).toHaveURL(/\/sessions\/[\w-]+\?.*project=2/);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("invoice run");
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "CSV" }).click();
  expect((await download).url()).toContain("project=2");
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("invoice run");
  await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).click();
  await expect(page).toHaveURL(`${server.url}/sessions?project=2`);
  await expect(page.getByRole("link", { name: "invoice run" })).toBeVisible();

  // The other project, with nothing of this one.
  await pick(page, "menuitemradio", "default");
  await expect(page).toHaveURL(`${server.url}/sessions`);
  await expect(page.getByRole("link", { name: "default work" })).toBeVisible();
  await expect(page.getByRole("link", { name: "invoice run" })).toHaveCount(0);
  await page.goBack();
  await expect(page.getByRole("link", { name: "invoice run" })).toBeVisible();
  await expect(switcher(page)).toHaveText("billing");
});

test("Setup renames, archives and deletes a project", async ({ page, server, expectedErrors }) => {
  const id = await create(server, "billing");
  const key = await keyFor(server, "billing");
  await send(server, key, "invoice run");
  await page.goto(`/setup?project=${id}`);
  const row = page.getByTestId("projects").getByRole("listitem").filter({ hasText: "current" });
  await expect(row).toContainText("billing");
  await expect(page.getByTestId("keys")).toContainText("billing");

  const act = async (what: string) => {
    await row.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: what }).click();
  };
  await act("Rename");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("default");
  await dialog.getByRole("button", { name: "Rename" }).click();
  expectedErrors.push(/409 \(Conflict\)/);
  await expect(dialog.getByRole("alert")).toContainText("A project named default already exists");
  await dialog.getByLabel("Name").fill("invoices");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await expect(switcher(page)).toHaveText("invoices");

  await act("Archive");
  await expect(page.getByText("This project is archived.")).toBeVisible();
  const refused = await send(server, key, "too late");
  expect(refused.status).toBe(403);
  expect(((await refused.json()) as { error: { code: string } }).error.code).toBe("project_archived");
  expect(refused.headers.get("retry-after")).toBeNull();
  await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).click();
  await expect(page.getByRole("link", { name: "invoice run" })).toBeVisible();
  await page.getByRole("button", { name: "Unarchive" }).click();
  await expect(page.getByText("This project is archived.")).toHaveCount(0);
  expect((await send(server, key, "in time")).status).toBe(200);

  await page.getByRole("navigation").getByRole("link", { name: "Setup" }).click();
  // The notice of the first archiving has to leave: a notice that goes away takes the focus from an open menu.
  const undo = page.getByRole("button", { name: "Undo" });
  await expect(undo).toHaveCount(0);
  await act("Archive");
  await undo.click();
  await page.mouse.move(0, 0);
  await expect(undo).toHaveCount(0);
  await expect(page.getByText("This project is archived.")).toHaveCount(0);

  await act("Delete");
  const confirm = dialog.getByRole("button", { name: "Delete" });
  await expect(confirm).toBeDisabled();
  await dialog.getByRole("textbox").fill("invoice");
  await expect(confirm).toBeDisabled();
  await dialog.getByRole("textbox").fill("invoices");
  // A query of Setup that is under way finds no project any more.
  expectedErrors.push(/404 \(Not Found\).*\/api\/trpc\//);
  await confirm.click();
  await expect(page).toHaveURL(`${server.url}/setup#projects`);
  await expect(page.getByTestId("projects").getByText("invoices")).toHaveCount(0);
  expect((await send(server, key, "gone")).status).toBe(401);

  // A link from before.
  await page.goto(`/sessions?project=${id}`);
  await expect(page.getByText(`There is no project “${id}”`)).toBeVisible();
  // There is nothing to connect to.
  await expect(page.getByTestId("live")).toHaveCount(0);
  await page.getByRole("link", { name: "Open the default project" }).click();
  await expect(page.getByRole("heading", { name: "What do you run?" })).toBeVisible();
});

test("a long project name leaves the buttons of the header their size @phone-only", async ({
  page,
  server,
  expectedErrors,
}) => {
  expectedErrors.push(/net::ERR_FAILED/);
  const id = await create(server, "Unternehmensarchitekturdokumentationswerkzeug");
  // The longest state.
  await page.route("**/api/v1/live*", (route) => route.abort());
  await page.goto(`/?project=${id}`);
  await expect(page.getByTestId("live").filter({ visible: true })).toContainText("Updates cut");
  const search = await page.getByRole("button", { name: "Search" }).filter({ visible: true }).boundingBox();
  expect(search?.width).toBe(40);
});

test("the project dialogs pass axe @phone", async ({ page, server }) => {
  const billing = await create(server, "billing");
  const long = await create(server, "A project with quite a long name, as people give them");
  await server.plimsoll("project", "archive", "billing");
  for (const path of [
    `/?project=${billing}`,
    `/sessions?project=${long}`,
    `/setup?project=${billing}`,
    "/?project=9999",
  ]) {
    await test.step(path, async () => {
      await page.goto(path);
      await expect(page.locator("main .skeleton:not([class*='rounded-full'])")).toHaveCount(0);
      expect(await violations(page), path).toEqual([]);
    });
  }
  await page.goto(`/?project=${billing}`);
  await expect(page.getByText("To send events to this project, unarchive it.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Create key" })).toHaveCount(0);
  await page.goto(`/setup?project=${long}`);
  await switcher(page).click();
  await expect(page.getByRole("menu")).toBeVisible();
  expect(await violations(page), "the menu").toEqual([]);
  await page.getByRole("menuitem", { name: "New project" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  expect(await violations(page), "creating").toEqual([]);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByRole("button", { name: "Actions for billing" }).click();
  expect(await violations(page), "the actions").toEqual([]);
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  expect(await violations(page), "deleting").toEqual([]);
});
