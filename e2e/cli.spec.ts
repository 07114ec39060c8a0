import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";
import type { PlimsollServer } from "./support/server.ts";

const RECORDINGS = fileURLToPath(new URL("../../shared/fixtures", import.meta.url));
/** Recordings of real agents; the folder also has small cases. */
const FOLDERS = ["agentd", "claude-code"].map((folder) => join(RECORDINGS, folder));

const inProject = ({ project }: PlimsollServer) => ["--project", String(project)];

test("plimsoll status and the Fleet page show the same figures", async ({ page, server, send, harness }) => {
  await send(
    new EventBuilder({ harness, session: "same-figures", window: 200_000 })
      .turns(18_000, 20_000, 22_000, 24_000)
      .event("masked", { observations: 3, tokens_before: 24_000, tokens_after: 20_000 })
      .turns(20_000)
      .take(),
  );
  await page.goto(`/?harness=${harness}`);
  const row = page.getByTestId("fleet-row");
  await expect(row.getByTestId("load")).toContainText("50%");

  const { code, stdout } = await server.plimsoll("status", "--harness", harness, ...inProject(server));
  expect(code).toBe(0);
  expect(stdout).toContain("1 live agent in 1 session of 1 harness");
  expect(stdout).toMatch(/same-figures .* 50% +20,000 .*10\.0% of 200k reported/);
  expect(stdout).toContain("masked 1");

  const json = await server.plimsoll("status", "--json", "--harness", harness, ...inProject(server));
  const { fleet } = JSON.parse(json.stdout) as {
    fleet: { agents: { load: number; context_tokens: number }[] };
  };
  expect(fleet.agents).toMatchObject([{ load: 0.5, context_tokens: 20_000 }]);
});

test("plimsoll status reports an unreachable server", async ({ server }) => {
  const { code, stderr } = await server.plimsoll("status", "--url", "http://127.0.0.1:2");
  expect(code).toBe(1);
  expect(stderr).toContain("Cannot reach Plimsoll at http://127.0.0.1:2");
  expect(stderr).toContain("Is it running?");
});

test.describe("recordings of real agents", () => {
  test.skip(!existsSync(RECORDINGS), "the recordings are not on this machine");
  test.use({ lines: false });

  async function open(page: Page, search: string): Promise<void> {
    await page.goto(
      `/sessions?range=2020-01-01T00:00:00Z..2030-01-01T00:00:00Z&q=${encodeURIComponent(search)}`,
    );
    await page.locator("[data-row-link]").first().click();
    await expect(page.getByTestId("tile-now")).toBeVisible();
  }

  test("the Session page shows the figures of the recordings", async ({ page, server }) => {
    const first = await server.plimsoll("import", ...FOLDERS, ...inProject(server));
    expect(first.stderr + first.stdout).toContain("0 rejected");
    expect(first.code).toBe(0);
    const sessions = await server.query<{ items: { id: string; title: string | null; session: string }[] }>(
      "sessions.list",
      { from: "2020-01-01T00:00:00Z", to: "2030-01-01T00:00:00Z" },
    );
    const runs = readdirSync(join(RECORDINGS, "agentd")).filter((name) => name.endsWith(".jsonl"));
    expect(sessions.items).toHaveLength(runs.length + 1);
    const named = (title: string) => {
      const found = sessions.items.find((row) => row.title?.includes(title));
      expect(found, title).toBeDefined();
      return `/sessions/${found!.id}`;
    };

    await test.step("a run over its window shows its real level", async () => {
      await page.goto(named("early-needle (none)"));
      await expect(page.getByTestId("tile-peak").locator("[data-value]")).toHaveAttribute(
        "title",
        "5,115 tokens",
      );
      await expect(page.getByTestId("tile-peak")).toContainText("255.8%");
      await expect(page.getByText("window suspect")).toBeVisible();
    });

    await test.step("each garbage collection is a boundary", async () => {
      await page.goto(named("distractor-update (stack)"));
      await expect(page.getByTestId("tile-boundaries")).toContainText("23 masked");
      await expect(page.locator("[data-marker=masked]")).toHaveCount(23);
      await expect(page.locator("[data-marker=unexplained]")).toHaveCount(0);
    });

    await test.step("a nested inference has its own window", async () => {
      await page.goto(named("generation-offload"));
      await expect(page.getByTestId("agent")).toHaveText([/^main.*2\.8k/, /infer-2.*208/]);
      await expect(page.getByTestId("tile-now").locator("[data-value]")).toHaveAttribute(
        "title",
        "2,762 tokens",
      );
    });

    await test.step("a sub-agent of Claude Code counts once and never moves the main agent", async () => {
      const row = sessions.items.find(
        (item) =>
          !runs.some((run) => run.startsWith(item.title ?? "?")) && item.title?.includes("(") !== true,
      );
      await page.goto(`/sessions/${row!.id}`);
      await expect(page.getByTestId("tile-now").locator("[data-value]")).toHaveAttribute(
        "title",
        "144,227 tokens",
      );
      await expect(page.getByTestId("log-turn")).toHaveCount(2);
      await expect(page.getByTestId("log-turn").nth(1)).toContainText("141,275");
      await expect(page.getByTestId("agent")).toHaveCount(2);
      await page.getByTestId("agent").nth(1).click();
      await expect(page.getByTestId("tile-now").locator("[data-value]")).toHaveAttribute(
        "title",
        "19,833 tokens",
      );
      await expect(page.getByTestId("log-turn")).toHaveCount(1);
    });

    await test.step("importing again changes nothing", async () => {
      const before = await server.query("sessions.list", {
        from: "2020-01-01T00:00:00Z",
        to: "2030-01-01T00:00:00Z",
      });
      const second = await server.plimsoll("import", ...FOLDERS, ...inProject(server));
      expect(second.code).toBe(0);
      expect(second.stderr + second.stdout).toContain(": 0 accepted");
      expect(
        await server.query("sessions.list", { from: "2020-01-01T00:00:00Z", to: "2030-01-01T00:00:00Z" }),
      ).toEqual(before);
    });

    await test.step("the sessions are found by their titles", async () => {
      await open(page, "early-needle (none)");
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("early-needle (none)");
    });
  });
});
