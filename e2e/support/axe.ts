import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import type axe from "axe-core";

const SOURCE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
/** The rules that look at colors: themes differ in nothing else. */
const COLOR_RULES = ["color-contrast", "link-in-text-block"];

/**
 * WCAG 2.2 AA violations of the page in its current state, in both themes. The page is in the light theme afterwards.
 * @param within a selector, for what lies over the page and covers other targets
 */
export async function violations(page: Page, within = "html"): Promise<string[]> {
  await showTheme(page, "dark");
  const dark = await violationsOf(page, within, { type: "tag", values: TAGS });
  await showTheme(page, "light");
  const light = await violationsOf(page, within, { type: "rule", values: COLOR_RULES });
  return [...dark.map((found) => `dark: ${found}`), ...light.map((found) => `light: ${found}`)];
}

/** `AxeBuilder` would inject the rules again for each call, and describe each element by a selector, which takes as long as the rules. */
async function violationsOf(page: Page, within: string, runOnly: axe.RunOnly): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(SOURCE);
  return page.evaluate(
    async ({ within, options }) => {
      const { violations } = await (window as unknown as { axe: typeof axe }).axe.run(within, options);
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id} at ${html}: ${failureSummary}`),
      );
    },
    { within, options: { runOnly, resultTypes: ["violations"], selectors: false } satisfies axe.RunOptions },
  );
}

async function showTheme(page: Page, colorScheme: "dark" | "light"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  // Pages of the app follow by a script, the login page by its styles alone.
  await page.waitForFunction((name) => {
    const { theme = name } = document.documentElement.dataset;
    return theme === name;
  }, colorScheme);
  // What fades in or out has no contrast of its own.
  await page.waitForFunction(() =>
    document.getAnimations().every(({ effect, playState }) => {
      return playState !== "running" || effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY;
    }),
  );
}
