import type { Browser, Page } from "@playwright/test";
import { ROLES } from "@plimsoll/protocol/api";
import { freePort, startTestProvider, type TestProvider } from "../server/testing/test-provider.ts";
import { expect, listen, live, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { PlimsollServer } from "./support/server.ts";

const NAMES = { viewer: "Vera", member: "Mika", editor: "Edda", admin: "Ada" } as const;

let provider: TestProvider;
let own: PlimsollServer;

test.beforeAll(async () => {
  const port = await freePort();
  provider = await startTestProvider({
    accounts: {
      ...Object.fromEntries(
        ROLES.map((role) => [
          role,
          { name: NAMES[role], email: `${role}@example.com`, email_verified: true },
        ]),
      ),
      new: { name: "Nora" },
      left: { name: "Lena" },
      guest: { name: "Gus" },
    },
    redirectUris: [`http://127.0.0.1:${port}/api/v1/sign-in/callback`],
  });
  own = await PlimsollServer.start({
    ...provider.env,
    PORT: String(port),
    PLIMSOLL_OIDC_NAME: "Example login",
    PLIMSOLL_OIDC_ADMIN: "admin@example.com",
  });
});
test.afterAll(async () => {
  await own?.stop();
  await provider?.stop();
});

/** Signs in as a person does, through the pages of the provider. */
async function signIn(browser: Browser, login: string, path = "/setup"): Promise<Page> {
  const context = await browser.newContext({ storageState: undefined, baseURL: own.url });
  const page = await context.newPage();
  await page.goto(path);
  await page.getByRole("link", { name: "Sign in with Example login" }).click();
  await page.getByPlaceholder("Enter any login").fill(login);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL((url) => url.origin === own.url && url.pathname === path);
  return page;
}

test("a person signs in with the identity provider, and an administrator gives them a role", async ({
  browser,
}) => {
  const newcomer = await signIn(browser, "new", "/sessions");
  await expect(newcomer.getByText("Nora, you have no role in Plimsoll yet")).toBeVisible();
  await expect(newcomer.getByText("Ask an administrator for one.")).toBeVisible();

  const admin = await signIn(browser, "admin");
  const errors = listen(admin);
  const people = admin.getByTestId("people");
  await expect(people.getByText("Nora")).toBeVisible();
  expect(await violations(admin)).toEqual([]);
  await admin.getByRole("button", { name: "Role of Nora in Every project: No role" }).click();
  await admin.getByRole("menuitemradio", { name: /^Viewer/ }).click();
  await expect(admin.getByText("Nora: Viewer in Every project.")).toBeVisible();
  await newcomer.reload();
  await expect(newcomer.getByRole("heading", { name: "Sessions", exact: true })).toBeVisible();

  await admin.getByRole("button", { name: "Actions for Nora" }).click();
  await admin.getByRole("menuitem", { name: "Remove" }).click();
  await admin.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(people.getByText("Nora")).toBeHidden();
  // The open page goes there by itself.
  await expect(newcomer).toHaveURL(/\/login/);
  await expect(admin.getByText("Role changed").first()).toBeVisible();
  expect(errors).toEqual([]);
  await newcomer.context().close();
  await admin.context().close();
});

/** The person as the server knows them, after their first sign-in. */
async function personId(name: string): Promise<string> {
  const { people } = await own.query<{ people: { id: string; name: string }[] }>("people.list", {});
  return people.find((person) => person.name === name)!.id;
}

test("a person whose role is taken away reads whom to ask, and nothing of an outage", async ({ browser }) => {
  const first = await signIn(browser, "left", "/sessions");
  const id = await personId("Lena");
  await own.mutate("people.setRole", { id, project_id: null, role: "viewer" });
  await first.reload();
  await live(first);
  await own.mutate("people.setRole", { id, project_id: null, role: null });
  const outage = first.getByTestId("outage").waitFor();
  outage.catch(() => {});
  const noRole = first.getByText("Lena, you have no role in Plimsoll yet").waitFor();
  expect(await Promise.race([outage.then(() => "outage"), noRole.then(() => "no role")])).toBe("no role");
  await first.context().close();
});

test("a person with a role in one project opens it without naming it", async ({ browser }) => {
  const { id } = await own.mutate<{ id: number }>("projects.create", { name: "billing" });
  const first = await signIn(browser, "guest", "/sessions");
  await own.mutate("people.setRole", { id: await personId("Gus"), project_id: id, role: "viewer" });
  await first.reload();
  await expect(first.getByRole("heading", { name: "Sessions", exact: true })).toBeVisible();
  await expect(first.getByText("There is no project")).toBeHidden();
  await expect(first.getByTestId("outage")).toBeHidden();
  await first.context().close();
});

for (const role of ["viewer", "member", "editor"] as const) {
  test(`Setup shows a ${role} what they may do there`, async ({ browser }) => {
    const first = await signIn(browser, role);
    await own.mutate("people.setRole", { id: await personId(NAMES[role]), project_id: null, role });
    await first.reload();
    await expect(first.getByRole("heading", { name: "Signed-in browsers" })).toBeVisible();
    await expect(first.getByText(`You are ${role} in this project`).first()).toBeVisible();
    await expect(first.getByRole("heading", { name: "Keys", exact: true })).toBeHidden();
    await expect(first.getByRole("heading", { name: "People", exact: true })).toBeHidden();
    await expect(first.getByRole("button", { name: /^Role of/ })).toHaveCount(0);
    await expect(first.getByText("Retention", { exact: true })).toBeVisible({ visible: role === "editor" });
    expect(await violations(first)).toEqual([]);
    await first.context().close();
  });
}
