import fc from "fast-check";
import { expect, test } from "vitest";
import { COLUMNS, DEFAULT_COLUMNS, parseColumns, serializeColumns, toggleColumn } from "./column-choice.ts";

test.each([
  [null, DEFAULT_COLUMNS],
  ["", DEFAULT_COLUMNS],
  ["nonsense", DEFAULT_COLUMNS],
  ["last,load", ["session", "load", "last"]],
  ["load,nonsense,load", ["session", "load"]],
])("%s is read as %j", (text, columns) => {
  expect(parseColumns(text)).toEqual(columns);
});

test("a choice survives the URL, keeps the session and is never empty", () => {
  const id = fc.constantFrom(...COLUMNS.map((column) => column.id));
  fc.assert(
    fc.property(fc.array(id), (toggled) => {
      let columns = DEFAULT_COLUMNS;
      for (const one of toggled) if (one !== "session") columns = toggleColumn(columns, one);
      expect(columns[0]).toBe("session");
      expect(columns.length).toBeGreaterThan(1);
      expect(parseColumns(serializeColumns(columns))).toEqual(columns);
    }),
  );
});
