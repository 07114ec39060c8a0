import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures.ts";
import { EventBuilder } from "./support/event-builder.ts";

test.use({ lines: false });

/** Everything by which two things on the page can be told apart without color. */
async function shapesOf(page: Page) {
  const chart = page.getByRole("region", { name: "Context tokens of main" });
  const shapes = await chart
    .locator("[data-marker]")
    .evaluateAll((marks) =>
      Object.fromEntries(
        marks.map((mark) => [
          mark.getAttribute("data-marker"),
          mark.querySelector("[data-shape]")?.getAttribute("d"),
        ]),
      ),
    );
  const dashes = await chart
    .locator("[data-testid^=saw-threshold-]")
    .evaluateAll((lines) =>
      Object.fromEntries(
        lines.map((line) => [line.getAttribute("data-testid"), getComputedStyle(line).strokeDasharray]),
      ),
    );
  const legend = await chart
    .locator("[data-dash]")
    .evaluateAll((lines) => lines.map((line) => getComputedStyle(line).strokeDasharray));
  const textures = await page
    .locator("[data-texture]")
    .evaluateAll((paths) => paths.map((path) => path.getAttribute("d")));
  return { shapes, dashes, legend, textures };
}

const distinct = (values: readonly unknown[]) => new Set(values).size;

test("marks, lines and bands differ in shape, dash and texture, and stand out under deuteranopia and protanopia", async ({
  page,
  server,
  send,
  harness,
}, info) => {
  await server.mutate("policies.save", {
    policy: {
      settings: {
        thresholds: { warning: "10%", soft: "13%", ceiling: "16%", hard: "20%", reserve: "75%" },
      },
    },
    expected: 0,
    reason: "five lines",
    from: "history",
  });
  const composition = {
    system: 2_000,
    tools: 3_000,
    memory: 1_000,
    history: 4_000,
    tool_output: 9_000,
    other: 500,
  };
  await send(
    new EventBuilder({ harness, session: "every-kind", window: 200_000 })
      .turn(20_000, { composition })
      .turn(40_000, { composition })
      .event("masked", { observations: 2, tokens_before: 40_000, tokens_after: 20_000 })
      .turns(20_000, 42_000)
      .event("compacted", { trigger: "auto", tokens_before: 42_000, tokens_after: 9_000 })
      .turns(9_000, 30_000)
      .event("cleared", { reason: "/clear" })
      .turns(5_000, 41_000)
      .event("subtick", {
        loop: "1",
        tick: 1,
        sub: 1,
        tokens_before: 41_000,
        handoff_tokens: 10,
        reason: "ceiling",
        visible: true,
      })
      .turns(5_000, 30_000)
      .event("restarted", { number: 1, previous_turns: 9, carryover_turns: 0, reason: "requested" })
      .turns(5_000, 30_000, 9_000, 52_000)
      .take(),
  );
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "every-kind" }).click();
  await expect(page.locator("[data-marker]")).toHaveCount(6);
  const { shapes, dashes, legend, textures } = await shapesOf(page);
  expect(Object.keys(shapes).sort()).toEqual([
    "cleared",
    "compacted",
    "masked",
    "restarted",
    "subtick",
    "unexplained",
  ]);
  expect(distinct(Object.values(shapes)), "shapes of marks").toBe(6);
  expect(Object.keys(dashes).length).toBeGreaterThanOrEqual(4);
  expect(distinct(Object.values(dashes)), "dashes of lines").toBe(Object.keys(dashes).length);
  expect(distinct(legend), "dashes of the legend").toBe(legend.length);
  expect([...legend].sort()).toEqual(Object.values(dashes).sort());
  expect(distinct(textures), "textures of the window's parts").toBe(textures.length);
  expect(textures.length).toBeGreaterThanOrEqual(6);

  // The mark of an unexplained fall stands out of the panel in what such an eye sees.
  const mark = page.locator("[data-marker=unexplained]");
  const client = await page.context().newCDPSession(page);
  for (const type of ["deuteranopia", "protanopia"] as const) {
    await client.send("Emulation.setEmulatedVisionDeficiency", { type });
    const seen = await page.screenshot({ clip: (await mark.boundingBox())! });
    await info.attach(`unexplained, ${type}`, { body: seen, contentType: "image/png" });
    expect(await contrastIn(page, seen), `contrast of the mark under ${type}`).toBeGreaterThan(3);
  }
  // What follows looks at shapes, and each frame of the emulation costs time.
  await client.send("Emulation.setEmulatedVisionDeficiency", { type: "none" });

  await page.goto(`/?harness=${harness}`);
  const bars = page.getByRole("region", { name: "Boundaries over time" });
  await expect(bars.getByTestId("bar").first()).toBeVisible();
  const fills = await bars
    .locator("[data-texture]")
    .evaluateAll((paths) => paths.map((path) => path.getAttribute("d")));
  expect(fills).toHaveLength(6);
  expect(distinct(fills), "textures of bars and of their legend").toBe(6);
  for (const bar of await bars.getByTestId("bar").all())
    expect(await bar.getAttribute("fill")).toMatch(/^url\(#/);
});

test("what only a color showed is drawn with forced colors, and warning differs from over the line", async ({
  page,
  server,
  send,
  harness,
}) => {
  await server.mutate("policies.save", {
    policy: { settings: { thresholds: { warning: "10%", ceiling: "20%" } } },
    expected: 0,
    reason: "two lines",
    from: "history",
  });
  const composition = { system: 2_000, tools: 3_000, memory: 1_000, history: 4_000, tool_output: 9_000 };
  const agents = new EventBuilder({ harness, session: "levels", window: 200_000 }).turn(60_000, {
    composition,
  });
  const warned = new EventBuilder({ harness, session: "levels", agent: "warned", window: 200_000 }).turn(
    30_000,
  );
  await send([...agents.take(), ...warned.take()]);
  await page.goto(`/sessions?harness=${harness}`);
  await page.getByRole("link", { name: "levels" }).click();
  const fill = (name: string) =>
    page.getByTestId("agent").filter({ hasText: name }).getByTestId("hull-level");
  const textures: string[] = [];
  for (const name of ["warned", "main"]) {
    await expect(fill(name)).toHaveCSS("background-image", /repeating-linear-gradient\((90|135|45)deg/);
    textures.push(
      await fill(name).evaluate((one) => /\d+deg/.exec(getComputedStyle(one).backgroundImage)![0]),
    );
  }
  expect(textures[0]).not.toBe(textures[1]);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ forcedColors: "active", colorScheme });
    const swatches = page.locator(
      "main :is([data-swatch], [data-status] > span, [data-testid=agent] [role=img]):visible",
    );
    expect(await swatches.count()).toBeGreaterThanOrEqual(4);
    for (const swatch of await swatches.all()) {
      await swatch.scrollIntoViewIfNeeded();
      const box = (await swatch.boundingBox())!;
      const clip = { x: box.x - 3, y: box.y - 3, width: Math.min(box.width, 40) + 6, height: box.height + 6 };
      const seen = await page.screenshot({ clip });
      expect(await contrastIn(page, seen), await swatch.evaluate((one) => one.outerHTML)).toBeGreaterThan(3);
    }
  }
});

/** The WCAG contrast of the darkest and the lightest pixel of a picture. */
function contrastIn(page: Page, png: Buffer): Promise<number> {
  return page.evaluate(async (data) => {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const drawing = canvas.getContext("2d")!;
    drawing.drawImage(image, 0, 0);
    const { data: pixels } = drawing.getImageData(0, 0, image.width, image.height);
    const linear = (value: number) => (value <= 10 ? value / 3294 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    let [least, most] = [1, 0];
    for (let at = 0; at < pixels.length; at += 4) {
      const light =
        0.2126 * linear(pixels[at]!) + 0.7152 * linear(pixels[at + 1]!) + 0.0722 * linear(pixels[at + 2]!);
      least = Math.min(least, light);
      most = Math.max(most, light);
    }
    return (most + 0.05) / (least + 0.05);
  }, png.toString("base64"));
}
