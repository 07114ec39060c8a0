import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const THEMES = ["dark", "light"] as const;

/**
 * WCAG 2.2 AA violations of the page in its current state, in both themes. The page is in the light theme afterwards.
 * @param within a selector, for what lies over the page and covers other targets
 */
export async function violations(page: Page, within = "html"): Promise<string[]> {
  const found: string[] = [];
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    // Pages of the app follow by a script, the login page by its styles alone.
    await page.waitForFunction((name) => {
      const { theme = name } = document.documentElement.dataset;
      return theme === name;
    }, theme);
    found.push(...(await violationsNow(page, within)).map((violation) => `${theme}: ${violation}`));
  }
  return found;
}

async function violationsNow(page: Page, within: string): Promise<string[]> {
  // What fades in or out has no contrast of its own.
  await page.waitForFunction(() =>
    document.getAnimations().every(({ effect, playState }) => {
      return playState !== "running" || effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY;
    }),
  );
  const { violations: found } = await new AxeBuilder({ page }).include(within).withTags(TAGS).analyze();
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target.join(" ")}: ${failureSummary}`),
  );
}
