import { catalogPrice, catalogWindow, modelNames, plainName } from "@plimsoll/fold";
import { expect, it } from "vitest";
import { PRICE_TABLE } from "../packages/fold/src/history/price-table.ts";
import { WINDOW_TABLE } from "../packages/fold/src/history/window-table.ts";
import { priceTable } from "./price-table.ts";
import { WINDOW_OVERRIDES } from "./window-overrides.ts";
import { isOverridden, libraryEntry, libraryWindow, listedNames, windowTable } from "./window-table.ts";

/** Another name, of the same model or of another one. */
const CHANGES = ["", "-2026-01-31", "-latest", "-001", "-preview-05-06", "-mini", "-turbo", "x"];

const dotted = (name: string) => name.replace(/(?<=\d)-(?=\d(?!\d))/g, ".");

it("the table has the sizes of the library and the overrides. After a change of either, run: npm run windows", () => {
  expect(WINDOW_TABLE).toEqual(windowTable());
});

it("the table answers as the library does, for each listed name and names made from it", () => {
  const wrong: string[] = [];
  let asked = 0;
  for (const listed of listedNames()) {
    for (const change of CHANGES) {
      const name = listed + change;
      // A fine-tuned model has the size of its base, whatever it is named.
      const base = name.replace(/\.ft-.*$/, "");
      // Overrides and names that are not looked up as they are have their own tests.
      if (modelNames(base).some(isOverridden)) continue;
      // The library lists some models with a dot alone, or says only of that spelling what may follow it.
      const expected = modelNames(base)
        .flatMap((one) => [libraryWindow(one), libraryWindow(dotted(one))])
        .find((tokens) => tokens !== undefined);
      if (/:(?:latest|[a-z]?[\d.]+(?:x[\d.]+)?[bm](?:[-_].*)?)$/i.test(name)) continue;
      asked++;
      if (catalogWindow(name) !== expected) wrong.push(`${name}: ${catalogWindow(name)}, not ${expected}`);
    }
  }
  expect(asked).toBeGreaterThan(5_000);
  expect(wrong).toEqual([]);
});

it("an override says where and when it was read, and the catalog has its size in every spelling", () => {
  const seen = new Set<string>();
  for (const { tokens, models, source, date } of WINDOW_OVERRIDES) {
    expect(source).toMatch(/^https:\/\//);
    expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    for (const model of models.split(" ").map((one) => one.replace("$", ""))) {
      expect(model).toBe(plainName(model));
      expect(seen.has(model)).toBe(false);
      seen.add(model);
      for (const name of [model, `vendor/${model}`, dotted(model)])
        expect([name, catalogWindow(name)]).toEqual([name, tokens]);
    }
  }
});

it("an override is needed: without it, the library has no size or another one", () => {
  for (const { tokens, models } of WINDOW_OVERRIDES) {
    const names = models.split(" ").map((one) => one.replace("$", ""));
    const known = [...names, ...names.map(dotted)].map(libraryWindow);
    expect([models, known.every((size) => size === tokens)]).toEqual([models, false]);
  }
});

it("the prices are those of the library. After a change of it, run: npm run windows", () => {
  expect(PRICE_TABLE).toEqual(priceTable());
});

it("a price is found as the library says it, for prompts below and beyond each length", () => {
  const wrong: string[] = [];
  let asked = 0;
  for (const name of listedNames()) {
    const listed = libraryEntry(name)?.model_price;
    if (typeof listed?.input_mtok !== "number") continue;
    const found = catalogPrice(name, 0);
    // Providers that ask for different prices for one name are not told apart.
    if (found === undefined) continue;
    asked += 1;
    const expected = [listed.input_mtok, listed.output_mtok ?? null];
    if (typeof expected[1] !== "object" && (found[1] !== expected[0] || found[4] !== expected[1]))
      wrong.push(`${name}: ${found[1]} and ${found[4]}, not ${expected.join(" and ")}`);
  }
  expect(asked).toBeGreaterThan(200);
  expect(wrong).toEqual([]);
});
