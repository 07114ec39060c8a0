import { expect, it } from "vitest";
import { ENDPOINTS } from "./endpoints.ts";
import { queryInputs } from "./queries.ts";

it("asks every route that reads, whatever its parameters are", () => {
  const inputAt = queryInputs(7, Date.UTC(2026, 10, 20), ["s-1"], []);
  const asked = new Set<string>();
  for (let index = 0; index < 8_000; index++) {
    const { method, path } = inputAt(index);
    asked.add(`${method} ${path.split("?", 1)[0]}`);
  }
  const reading = ENDPOINTS.filter(
    ({ method, path, weight }) => method === "GET" && !path.includes("{") && weight >= 20,
  );
  expect(reading.map(({ path }) => path)).toContain("/api/v1/windows/unknown");
  expect(reading.filter(({ method, path }) => !asked.has(`${method} ${path}`))).toEqual([]);
});
