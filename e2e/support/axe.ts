import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
/** The rules that look at colors: themes differ in nothing else. */
const COLOR_RULES = ["color-contrast", "link-in-text-block"];

/**
 * WCAG 2.2 AA violations of the page in its current state, in both themes. The page is in the light theme afterwards.
 * @param within a selector, for what lies over the page and covers other targets
 */
export async function violations(page: Page, within = "html"): Promise<string[]> {
  // The legacy mode judges in the page itself. The other one opens a page for each result, for frames of other origins.
  const axe = new AxeBuilder({ page })
    .options({ resultTypes: ["violations"] })
    .include(within)
    .setLegacyMode();
  await showTheme(page, "dark");
  const dark = await axe.withTags(TAGS).analyze();
  await showTheme(page, "light");
  const light = await axe.withRules(COLOR_RULES).analyze();
  return Object.entries({ dark, light }).flatMap(([theme, { violations: found }]) =>
    found.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${theme}: ${id} at ${target.join(" ")}: ${failureSummary}`),
    ),
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
