import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";

const PROGRAM = fileURLToPath(new URL("../packages/cli/bin/plimsoll.js", import.meta.url));

let home: string;
test.beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-machine-"));
});
test.afterEach(() => rm(home, { recursive: true, force: true }));

/** Runs the command line on another machine, which knows nothing of this server. */
function onMachine(...args: string[]) {
  const { PATH } = process.env;
  const env: NodeJS.ProcessEnv = {
    PATH,
    HOME: home,
    PLIMSOLL_HOME: home,
    NODE_ENV: "production",
    NO_COLOR: "1",
  };
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { said: () => said, ended };
}

async function codeOf(login: { said(): string }): Promise<string> {
  await expect.poll(() => login.said()).toMatch(/\n {2}[A-Z]{4}-[A-Z]{4}\n/);
  return /\n {2}([A-Z]{4}-[A-Z]{4})\n/.exec(login.said())![1]!;
}

test("a person confirms the code of a machine, which then reports with keys of its own @phone", async ({
  page,
  server,
}) => {
  const login = onMachine("login", server.url, "--name", "build box");
  const code = await codeOf(login);
  expect(login.said()).toContain(`Open ${server.url}/device in a browser`);
  await page.goto("/device");
  await page.getByRole("textbox", { name: "Code" }).fill(code.toLowerCase().replace("-", ""));
  await page.getByRole("button", { name: "Continue" }).click();
  const machine = page.getByTestId("machine");
  await expect(machine).toContainText("build box");
  await expect(machine).toContainText("127.0.0.1");
  await expect(page.getByText("If somebody sent you this code")).toBeVisible();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Log this machine in" }).click();
  await expect(page.getByRole("status").filter({ hasText: "build box" })).toContainText("is logged in");
  expect(await login.ended, login.said()).toBe(0);
  expect((await stat(join(home, "login.json"))).mode & 0o777).toBe(0o600);
  const { project } = JSON.parse(await readFile(join(home, "login.json"), "utf8"));
  expect(login.said()).toContain(`in the project ${project}, as build box`);

  const status = onMachine("status", "--json");
  expect(await status.ended, status.said()).toBe(0);
  expect(JSON.parse(status.said())).toMatchObject({ url: server.url });
  await page.goto("/setup");
  await expect(page.getByTestId("activity")).toContainText("Machine login confirmed: build box");

  const logout = onMachine("logout");
  expect(await logout.ended, logout.said()).toBe(0);
  const refused = onMachine("status", "--url", server.url);
  expect(await refused.ended).toBe(1);
});

test("a person refuses a machine, and a wrong code is refused", async ({ page, server, expectedErrors }) => {
  expectedErrors.push(/404 \(Not Found\).*machines\.look/);
  const login = onMachine("login", server.url, "--name", "\u202estranger");
  const code = await codeOf(login);
  await page.goto("/device");
  await page.getByRole("textbox", { name: "Code" }).fill("BBBB-BBBB");
  await page.getByRole("textbox", { name: "Code" }).press("Enter");
  await expect(page.getByRole("alert").filter({ hasText: "No machine waits" })).toBeVisible();
  await page.getByRole("textbox", { name: "Code" }).fill(code);
  await page.getByRole("textbox", { name: "Code" }).press("Enter");
  await expect(page.getByTestId("machine")).toContainText("\\u202estranger");
  await page.getByRole("button", { name: "Refuse" }).click();
  await expect(page.getByRole("status").filter({ hasText: "was refused" })).toBeVisible();
  expect(await login.ended).toBe(1);
  expect(login.said()).toContain("The login of this machine was refused.");
});

test("the page of a machine's code comes after the login", async ({ browser, server }) => {
  const context = await browser.newContext({ storageState: undefined, baseURL: server.url });
  const page = await context.newPage();
  await page.goto("/device");
  await page.waitForURL(/\/login\?next=%2Fdevice$/);
  const { stdout } = await server.plimsoll("login");
  await page.goto(stdout.trim());
  await page.waitForURL(`${server.url}/device`);
  await context.close();
});
