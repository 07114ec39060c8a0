import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { SessionDetail, SessionPage } from "@plimsoll/protocol/api";
import { signed } from "../components/format.ts";
import { boundaryText } from "../components/words.ts";
import { expect, test } from "./fixtures.ts";
import { readTurnLog } from "./support/read-turn-log.ts";

const RECORDINGS = fileURLToPath(new URL("../../shared/fixtures/", import.meta.url));

test.use({ lines: false });

test("a fall has one number in tiles, chart, table and log, over real recordings", async ({
  page,
  server,
}) => {
  test.skip(!existsSync(RECORDINGS), "needs the recordings");
  for (const kind of ["agentd", "claude-code"]) {
    const { code, stderr } = await server.plimsoll(
      "import",
      `${RECORDINGS}${kind}`,
      "--project",
      String(server.project),
    );
    expect(code, stderr).toBe(0);
  }
  const range = { from: "2020-01-01T00:00:00Z", to: new Date().toISOString() };
  const { items } = await server.query<SessionPage>("sessions.list", { ...range, limit: 100 });
  expect(items.length).toBeGreaterThanOrEqual(7);
  let falls = 0;
  for (const { id } of items) {
    const detail = await server.query<SessionDetail>("sessions.get", { id });
    for (const agent of detail.agents) {
      if (agent.turns === 0) continue;
      const own = detail.boundaries.filter(
        ({ agent_id, explains_fall }) => agent_id === agent.id && explains_fall,
      );
      falls += own.length;
      await page.goto(`/sessions/${id}?agent=${agent.id}`);
      const chart = page.getByRole("region", { name: `Context tokens of ${agent.name}` });
      // The path of a single turn has no length, so it is in the chart without being visible.
      await expect(chart.getByTestId("saw-path")).toBeAttached();
      const sum = own.reduce((total, { reclaimed_tokens }) => total + (reclaimed_tokens ?? 0), 0);
      await expect(page.getByTestId("tile-reclaimed").locator("[data-value]")).toHaveAttribute(
        "title",
        `${sum.toLocaleString("en-US")} tokens`,
      );
      await expect(page.getByTestId("tile-boundaries").locator("[data-value]")).toHaveText(
        String(own.length),
      );
      await expect(chart.locator("[data-marker]")).toHaveCount(own.length);
      const log = await readTurnLog(page.getByRole("region", { name: "Turn log" }));
      for (const fall of own) {
        const mark = chart.locator(`[data-boundary="${fall.id}"]`);
        await expect(mark).toHaveAttribute("data-before", String(fall.tokens_before));
        await expect(mark).toHaveAttribute("data-after", String(fall.tokens_after));
        const number = fall.reclaimed_tokens === null ? "" : signed(-fall.reclaimed_tokens);
        expect(
          log.filter((row) => row.includes(boundaryText(fall)) && row.includes(number)).length,
        ).toBeGreaterThan(0);
      }
    }
    const reclaimed = detail.agents.reduce((sum, agent) => sum + agent.reclaimed_tokens, 0);
    expect(reclaimed).toBe(detail.session.reclaimed_tokens);
  }
  expect(falls).toBeGreaterThan(20);
});
