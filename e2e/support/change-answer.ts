import type { Page } from "@playwright/test";

/** Changes one procedure's answers to the page. */
export async function changeAnswer(
  page: Page,
  procedure: string,
  edit: (data: Record<string, unknown>) => void,
): Promise<void> {
  await page.route(/\/api\/trpc\//, async (route) => {
    const procedures = new URL(route.request().url()).pathname.replace("/api/trpc/", "").split(",");
    const index = procedures.indexOf(procedure);
    if (index === -1 || route.request().method() !== "GET") return route.fallback();
    const response = await route.fetch();
    const answers = (await response.json()) as { result?: { data: Record<string, unknown> } }[];
    const data = answers[index]?.result?.data;
    if (data !== undefined) edit(data);
    await route.fulfill({ response, json: answers });
  });
}
