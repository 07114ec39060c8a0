import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, listen, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";
import { PlimsollServer } from "./support/server.ts";

test("a login link opens the requested page and works once", async ({ browser, server, send, harness }) => {
  await send(new EventBuilder({ harness, session: "behind-the-door", window: 200_000 }).turns(9_000).take());
  const context = await browser.newContext({ storageState: undefined, baseURL: server.url });
  const page = await context.newPage();
  const errors = listen(page);

  const requested = server.inProject(`/sessions?harness=${harness}`);
  await page.goto(requested);
  await expect(page).toHaveURL(/\/login\?next=/);
  await expect(page.getByRole("heading", { name: "Open the link from your terminal" })).toBeVisible();

  const { code, stdout } = await server.plimsoll("login");
  expect(code).toBe(0);
  const link = new URL(stdout.trim());
  // The link opens from the terminal, without the requested page.
  await page.goto("about:blank");
  await page.goto(link.href);
  await expect(page).toHaveURL(server.url + requested);
  await expect(page.getByTestId("session-row")).toHaveCount(1);
  // The token is not in the history.
  await page.goBack();
  expect(page.url()).not.toContain(link.hash.slice(1));
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({
    name: `plimsoll_session_${new URL(server.url).port}`,
    httpOnly: true,
    sameSite: "Strict",
  });
  expect(errors).toEqual([]);
  await context.close();

  const second = await browser.newContext({ storageState: undefined, baseURL: server.url });
  const late = await second.newPage();
  await late.goto(link.href);
  await expect(late.getByRole("alert").first()).toContainText("was used already");
  await late.goto("/");
  await expect(late).toHaveURL(/\/login/);
  expect(await second.cookies()).toEqual([]);
  await second.close();
});

test("a used login link is rejected, and every route requires a login", async ({ page, browser, server }) => {
  // The fixture has used the link.
  await page.goto("/");
  const context = await browser.newContext({ storageState: undefined, baseURL: server.url });
  const stranger = await context.newPage();
  await stranger.goto(server.loginUrl);
  await expect(stranger.getByRole("alert").first()).toContainText("was used already");
  for (const path of ["/", "/sessions", "/setup"]) {
    const response = await context.request.get(path, { maxRedirects: 0 });
    expect(response.status(), path).toBe(302);
    expect(response.headers().location, path).toMatch(/^\/login/);
  }
  for (const path of [
    "/api/v1/fleet",
    "/api/v1/sessions.csv",
    "/metrics",
    "/api/v1/live",
    "/api/trpc/fleet",
  ]) {
    expect((await context.request.get(path)).status(), path).toBe(401);
  }
  await context.close();
});

test("a service prints no login link; its owner finds it in a file until it is used or the server stops", async ({
  browser,
}) => {
  const server = await PlimsollServer.start();
  try {
    // The first line of output is the address, without unrelated messages before it.
    expect(server.output).toMatch(/^\s*Plimsoll \S+ is listening on/);
    const file = join(server.home, "login-link");
    expect(server.output).toContain(`The login link is in ${file}`);
    expect(server.output).not.toContain("/login#");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const context = await browser.newContext({ storageState: undefined });
    const page = await context.newPage();
    await page.goto(server.loginUrl);
    await expect(page).toHaveURL(`${server.url}/`);
    expect(existsSync(file)).toBe(false);
    await context.close();

    await server.end();
    await server.begin();
    expect(existsSync(file)).toBe(true);
    await server.end();
    expect(existsSync(file)).toBe(false);
  } finally {
    await server.stop();
  }
});

test("a login page says that the server did not check the link", async ({ browser, server }) => {
  const context = await browser.newContext({ storageState: undefined, baseURL: server.url });
  const page = await context.newPage();
  await page.route("**/api/v1/login", (route) => route.abort());
  await page.goto("/login#a-link-that-may-be-valid");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Login failed");
  await expect(page.getByRole("alert").first()).toContainText("open the link again");
  await context.close();
});

test("a login link never redirects to another site", async ({ browser, server }) => {
  const { stdout } = await server.plimsoll("login");
  const context = await browser.newContext({ storageState: undefined, baseURL: server.url });
  const page = await context.newPage();
  await page.goto(`/login?next=${encodeURIComponent("//example.com/")}${new URL(stdout.trim()).hash}`);
  await expect(page).toHaveURL(`${server.url}/`);
  await context.close();
});

test("a person signs in with the access token of the server @phone", async ({ browser }) => {
  const ACCESS_TOKEN = "correct-horse-battery-staple-and-more";
  const server = await PlimsollServer.start({ PLIMSOLL_ACCESS_TOKEN: ACCESS_TOKEN });
  const context = await browser.newContext({ storageState: undefined, baseURL: server.url });
  try {
    const page = await context.newPage();
    await page.goto("/setup");
    const field = page.getByLabel("Access token");
    await field.fill("wrong");
    await field.press("Enter");
    await expect(page.getByText("This is not the access token of this server.")).toBeVisible();
    await field.fill(ACCESS_TOKEN);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForURL(`${server.url}/setup`);
    await expect(page.getByTestId("activity")).toContainText("with the access token");
  } finally {
    await context.close();
    await server.stop();
  }
});
