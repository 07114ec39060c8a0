import { describe, expect, it } from "vitest";
import { referenceOf, withRatios } from "./measurement.ts";

const batch = {
  name: "ingest.batch",
  value: 50_000,
  unit: "events/s",
  server_cpu_us: 12,
  database_cpu_us: 8,
};
const shared = { ...batch, name: "ingest.shared", value: 40_000, server_cpu_us: 22 };

describe("ratios", () => {
  it("divide a row by its reference of the same run", () => {
    expect(withRatios(shared, [batch])).toMatchObject({ ratio: 0.8, cpu_ratio: 1.5 });
  });

  it("are left out without the reference", () => {
    expect(withRatios(shared, [])).toBe(shared);
    expect(withRatios({ name: "start.page", value: 2, unit: "s" }, [batch])).not.toHaveProperty("ratio");
  });

  it("leave out the CPU time if either row has none", () => {
    const { server_cpu_us: _server, ...unknown } = shared;
    expect(withRatios(unknown, [batch])).not.toHaveProperty("cpu_ratio");
  });

  it("take the row with the exact name, not one that it begins with", () => {
    expect(referenceOf("ingest.late")).toBe("ingest.batch");
    expect(referenceOf("ingest.late_event")).toBeUndefined();
  });
});
