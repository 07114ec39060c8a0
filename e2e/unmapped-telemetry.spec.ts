import { expect, test } from "./fixtures.ts";
import { violations } from "./support/axe.ts";

test.use({ lines: false });

const span = (name: string, attributes: Record<string, string | number>) => ({
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  name,
  startTimeUnixNano: `${Date.now()}000000`,
  endTimeUnixNano: `${Date.now()}000000`,
  attributes: Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
  })),
});

test("Setup shows which OpenTelemetry data became no event, with names and without values @phone", async ({
  page,
  server,
}) => {
  const key = await server.createKey("otlp", ["ingest"]);
  const send = async (service: string, spans: ReturnType<typeof span>[]) => {
    const response = await fetch(`${server.url}/otlp/v1/traces`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({
        resourceSpans: [
          {
            resource: { attributes: [{ key: "service.name", value: { stringValue: service } }] },
            scopeSpans: [{ scope: { name: "mine" }, spans }],
          },
        ],
      }),
    });
    expect(response.status).toBe(200);
  };
  await page.goto("/setup");
  await expect(page.getByTestId("ingest-counts").or(page.getByText("No events were sent"))).toBeVisible();
  await expect(page.getByTestId("unmapped")).toHaveCount(0);

  await send("house-agent", [
    span("secret prompt", { "house.tokens.in": 1200, "house.run": "a secret value" }),
    span("secret prompt", { "house.tokens.in": 1300, "house.run": "a secret value" }),
  ]);
  const unmapped = page.getByTestId("unmapped");
  // Without a reload.
  await expect(unmapped).toContainText("Spans of house-agent");
  await expect(unmapped).toContainText("2 spans, last");
  await expect(unmapped).toContainText("Plimsoll knows no dialect with these attributes");
  await unmapped.getByText("Names of the newest record's attributes").click();
  await expect(unmapped).toContainText("house.run, house.tokens.in");
  await expect(page.locator("main")).not.toContainText("secret");
  await expect(unmapped).toContainText("npx plimsoll map propose traces/house-agent/mine");
  expect(await violations(page)).toEqual([]);

  const mapping = {
    match: { otlp: { service: "house-agent", attributes: [{ name: "house.tokens.in" }] } },
    session: "$.attributes['house.run']",
    usage: { input: "$.attributes['house.tokens.in']" },
  };
  const saved = await fetch(`${server.url}/api/v1/mappings/house`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${await server.createKey("mapper", ["admin"])}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ version: 1, ...mapping }),
  });
  expect(saved.status).toBe(200);
  await expect(unmapped).toContainText("The mapping house reads such records from now on.");
  await expect(unmapped).not.toContainText("npx plimsoll map propose");
  const mappings = page.getByTestId("mappings");
  await expect(mappings).toContainText("service house-agent, attribute house.tokens.in");
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Remove the mapping house" }).click();
  await expect(mappings).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(mappings).toContainText("house");

  for (let number = 1; number <= 6; number++)
    await send(`agent-${number}`, [span("run", { [`attribute.${number}`]: 1 })]);
  await expect(unmapped.getByText("2 more")).toBeVisible();
  await expect(unmapped).toContainText("No attribute is named like a count of tokens.");
  await unmapped.getByText("2 more").click();
  await expect(unmapped).toContainText("house-agent");
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
});
