import type { Page } from "@playwright/test";
import { expect, listen, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";
import { EventBuilder } from "./support/event-builder.ts";
import { PlimsollServer } from "./support/server.ts";

let own: PlimsollServer;
test.beforeAll(async () => {
  own = await PlimsollServer.start();
});
test.afterAll(() => own?.stop());

/** An authenticator that has the person's fingerprint, until the test changes that. */
async function addAuthenticator(page: Page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    knowsFinger: (isUserVerified: boolean) =>
      devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
    signsWell: (isGood: boolean) =>
      devtools.send("WebAuthn.setResponseOverrideBits", { authenticatorId, isBogusSignature: !isGood }),
  };
}

/** Signs in with a passkey that fails at each step. The page says why, and the person can try again. */
async function failToSignIn(
  page: Page,
  { knowsFinger, signsWell }: Awaited<ReturnType<typeof addAuthenticator>>,
): Promise<void> {
  const button = page.getByRole("button", { name: "Sign in with a passkey" });
  const fails = async (reason: string) => {
    await button.click();
    await expect(page.getByRole("alert").filter({ hasText: reason })).toBeVisible();
    await expect(button).toBeEnabled();
    expect(new URL(page.url()).pathname).toBe("/login");
  };
  await knowsFinger(false);
  await fails("No passkey was used.");
  await knowsFinger(true);
  await signsWell(false);
  await fails("This passkey was refused.");
  await signsWell(true);
  // Some password managers answer with an object of their own.
  await page.evaluate(() => {
    const { get } = navigator.credentials;
    navigator.credentials.get = async () => {
      navigator.credentials.get = get;
      return {} as Credential;
    };
  });
  await fails("No passkey was used.");
  for (const path of ["/passkey/start", "/passkey"]) {
    await page.route(`**/api/v1/sign-in${path}`, (route) => route.abort(), { times: 1 });
    await fails("The server did not respond.");
  }
}

test("an administrator invites a person, who comes back with a passkey and makes a key", async ({
  browser,
}) => {
  const admin = await (await browser.newContext({ storageState: undefined })).newPage();
  await admin.goto(own.loginUrl);
  await admin.waitForURL(`${own.url}/`);
  await admin.goto(`${own.url}/setup#task-people`);
  await expect(admin.getByText("Invite people to give each an account and a role.")).toBeVisible();
  await admin.getByRole("button", { name: "Invite person" }).click();
  await admin.getByLabel("Name").fill("Ada");
  expect(await violations(admin)).toEqual([]);
  await admin.getByRole("button", { name: "Invite", exact: true }).click();
  const link = (await admin.getByTestId("person-link").textContent())!;
  await admin.getByRole("button", { name: "Done" }).click();
  await expect(admin.getByTestId("people")).toContainText("has not signed in yet");

  // Browsers make passkeys for a name, not for an address.
  const site = own.url.replace("127.0.0.1", "localhost");
  const context = await browser.newContext({ storageState: undefined });
  const page = await context.newPage();
  const errors = listen(page);
  const authenticator = await addAuthenticator(page);
  await page.goto(link.replace(own.url, site));
  await page.waitForURL(`${site}/account`);
  await expect(page.getByTestId("account")).toContainText("member");
  await expect(page.getByText("No passkeys yet.")).toBeVisible();
  expect(await violations(page)).toEqual([]);
  await authenticator.knowsFinger(false);
  await page.getByRole("button", { name: "Add passkey" }).click();
  await expect(page.getByText("No passkey was added: you cancelled")).toBeVisible();
  await expect(page.getByText("No passkeys yet.")).toBeVisible();
  await authenticator.knowsFinger(true);
  await page.getByRole("button", { name: "Add passkey" }).click();
  await expect(page.getByText("You can sign in with this passkey from now on.")).toBeVisible();
  await expect(page.getByTestId("passkeys")).toContainText("for localhost · never used");

  await page.getByRole("button", { name: "Sign out", exact: true }).first().click();
  await page.waitForURL(/\/login/);
  await failToSignIn(page, authenticator);
  const isOfNetwork = (error: string) => error.includes("Failed to load resource");
  expect(errors.splice(0).filter((error) => !isOfNetwork(error))).toEqual([]);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  // To the first page, or to where the person was if the open page heard of the sign-out before its button.
  await page.waitForURL(({ pathname }) => pathname !== "/login");
  await page.goto(`${site}/account`);
  await expect(page.getByTestId("passkeys")).toContainText(/used (just now|\d+ s ago)/);

  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByRole("checkbox", { name: /^admin/ })).toHaveCount(0);
  await page.getByLabel("Name").fill("my laptop");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const secret = (await page.getByTestId("secret").textContent())!;
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByTestId("keys")).toContainText("my laptop");

  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const events = new EventBuilder({ harness: "own@laptop", session: "hers", window: 200_000 })
    .turn(40_000)
    .take();
  const sent = await fetch(`${own.url}/api/v1/events`, {
    ...{ method: "POST", headers, body: JSON.stringify(events) },
  });
  expect(sent.status).toBe(200);
  await page.goto(`${site}/`);
  await page.getByRole("button", { name: "Person: Everybody" }).click();
  await page.getByRole("menuitemradio", { name: "Ada" }).click();
  await expect(page.getByTestId("fleet-row")).toHaveText([/hers/]);
  await page.goto(`${site}/sessions`);
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("option", { name: "Ada" }).click();
  await expect(page.getByRole("list", { name: "Filters" })).toContainText("Person Ada");
  await page.getByTestId("session-row").getByRole("link").first().click();
  await expect(page.getByTitle("Person: Ada")).toBeVisible();

  // The project hides names while few people have a role in it.
  await admin.goto(`${own.url}/setup#projects`);
  await admin.getByRole("button", { name: "Actions for default" }).click();
  await admin.getByRole("menuitem", { name: "Hide names of few people" }).click();
  await expect(admin.getByText(/default hides whose a session is/)).toBeVisible();
  await admin.goto(`${own.url}/`);
  await expect(admin.getByTestId("fleet-row")).toHaveText([/hers/]);
  await expect(admin.getByRole("button", { name: "Person: Everybody" })).toHaveCount(0);
  await admin.goto(`${own.url}/setup`);

  await admin.reload();
  await expect(admin.getByTestId("keys")).toContainText("Ada");
  expect(errors).toEqual([]);
  await admin.getByRole("button", { name: "Actions for Ada" }).click();
  await admin.getByRole("menuitem", { name: "Remove" }).click();
  await admin.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(admin.getByText("Ada is removed.")).toBeVisible();
  expect((await fetch(`${own.url}/api/v1/ingest/received`, { headers })).status).toBe(401);
  // The open page goes there by itself.
  await page.waitForURL(/\/login/);
  await context.close();
  await admin.context().close();
});
