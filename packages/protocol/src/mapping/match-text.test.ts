import { expect, it } from "vitest";
import { matchText } from "./match-text.ts";

it.each([
  [{}, "files only"],
  [{ otlp: { scope: "my.tracer" } }, "scope my.tracer"],
  [
    {
      otlp: {
        signal: "logs",
        service: "a",
        name: "call",
        attributes: [{ name: "x" }, { name: "y", equals: 1 }],
      },
    },
    "logs, service a, name call, attribute x, attribute y = 1",
  ],
] as const)("%j reads %s", (match, text) => {
  expect(matchText({ match: structuredClone(match) as never })).toBe(text);
});
