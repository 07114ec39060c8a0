import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

/** Collects what the policy refused, from the first script of each page on. */
async function violationsOf(page: Page): Promise<() => Promise<string[]>> {
  const seen: string[] = [];
  await page.exposeFunction("noteViolation", (text: string) => seen.push(text));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      const { effectiveDirective, blockedURI, sourceFile, sample } = event;
      const { noteViolation } = window as unknown as { noteViolation(text: string): void };
      noteViolation(`${effectiveDirective} ${blockedURI} ${sourceFile} ${sample}`);
    });
  });
  return async () => {
    await page.waitForLoadState("networkidle").catch(() => {});
    return seen.splice(0);
  };
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`nothing of ours breaks the content security policy, in ${colorScheme}`, async ({
    page,
    send,
    harness,
    expectedErrors,
  }) => {
    expectedErrors.push(/404 \(Not Found\)/);
    await page.emulateMedia({ colorScheme });
    const builder = new EventBuilder({ harness, session: "strict", window: 200_000 });
    await send(builder.turns(40_000, 80_000, 120_000, 30_000).take());
    const violations = await violationsOf(page);

    await page.goto(`/?harness=${harness}`);
    await expect(page.getByText("strict").first()).toBeVisible();
    // Menus and dialogs lock scrolling with a style element of their own.
    await page.keyboard.press("Control+k");
    await expect(page.getByRole("dialog")).toBeVisible();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /theme/i }).first().click();
    await page.keyboard.press("Escape");
    expect(await violations(), "Fleet").toEqual([]);

    await page.goto(`/sessions?harness=${harness}`);
    await page.getByTestId("session-row").first().click();
    await expect(page).toHaveURL(/\/sessions\/.+/);
    expect(await violations(), "Session").toEqual([]);

    await page.goto("/setup");
    await page.getByRole("button", { name: /copy/i }).first().click();
    expect(await violations(), "Setup").toEqual([]);

    await page.goto("/login");
    await page.goto("/nothing-is-here");
    expect(await violations(), "Login, not found").toEqual([]);
  });
}

test("a script that was put into a page does not run", async ({ page, expectedErrors }) => {
  expectedErrors.push(/Content Security Policy/, /ERR_UNKNOWN_URL_SCHEME/);
  const response = await page.goto("/");
  expect(response?.headers()["content-security-policy"]).toMatch(/script-src 'self' 'nonce-[^']+';/);
  const ran = await page.evaluate(async () => {
    const state = window as unknown as { ran?: string[] };
    state.ran = [];
    let refused = 0;
    const allRefused = new Promise<void>((resolve) => {
      document.addEventListener("securitypolicyviolation", () => {
        refused += 1;
        if (refused === 3) resolve();
      });
    });
    const script = document.createElement("div");
    script.innerHTML = `<img src="x:" onerror="window.ran.push('handler')">`;
    document.body.append(script);
    const inline = document.createElement("script");
    inline.textContent = "window.ran.push('inline')";
    document.body.append(inline);
    const link = document.createElement("a");
    link.href = "javascript:window.ran.push('link')";
    document.body.append(link);
    link.click();
    await allRefused;
    return state.ran;
  });
  expect(ran).toEqual([]);
  const again = await page.goto("/");
  expect(again?.headers()["content-security-policy"]).not.toBe(
    response?.headers()["content-security-policy"],
  );
});
