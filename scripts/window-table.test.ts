import { catalogWindow, modelNames, WINDOW_OVERRIDES } from "@plimsoll/fold";
import { expect, it } from "vitest";
import { WINDOW_TABLE } from "../packages/fold/src/history/window-table.ts";
import { libraryWindow, listedNames, windowTable } from "./window-table.ts";

/** Another name, of the same model or of another one. */
const CHANGES = ["", "-2026-01-31", "-latest", "-001", "-preview-05-06", "-mini", "-turbo", "x"];

it("the table has the library's sizes. After an update of the library, run: npm run windows", () => {
  expect(WINDOW_TABLE).toEqual(windowTable());
});

it("the table answers as the library does, for each listed name and names made from it", () => {
  const wrong: string[] = [];
  let asked = 0;
  for (const listed of listedNames()) {
    for (const change of CHANGES) {
      const name = listed + change;
      // Overrides and names that are not looked up as they are have their own tests.
      if (modelNames(name).some((one) => one in WINDOW_OVERRIDES)) continue;
      const expected = modelNames(name)
        .map(libraryWindow)
        .find((tokens) => tokens !== undefined);
      if (/:(?:latest|[a-z]?[\d.]+(?:x[\d.]+)?[bm](?:[-_].*)?)$/i.test(name)) continue;
      asked++;
      if (catalogWindow(name) !== expected) wrong.push(`${name}: ${catalogWindow(name)}, not ${expected}`);
    }
  }
  expect(asked).toBeGreaterThan(5_000);
  // No model has these names. The library's rules for their families differ in what may follow.
  expect(wrong).toEqual([
    "gemini-2.0-flash-preview-05-06: 1000000, not undefined",
    "gemini-2.5-flash-lite-preview-05-06: undefined, not 1000000",
    "gemini-3.1-flash-lite-preview-05-06: undefined, not 1000000",
    "gemini-3.5-flash-latest: 1000000, not undefined",
  ]);
});
