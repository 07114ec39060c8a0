import { describe, expect, it } from "vitest";
import { readMapping } from "./record-mapping.ts";

const mapping = (change: object = {}) => ({
  version: 1,
  name: "house",
  match: { otlp: { scope: "house.tracer" } },
  usage: { input: "$.attributes['house.in']" },
  ...change,
});

describe("a mapping", () => {
  it.each([
    [{}],
    [{ match: { file: [{ path: "$.a" }, { path: "$.b", equals: true }] } }],
    [{ usage: { input: ["$.a", "$.b"], cache_read: "$.c" }, basis: "exclusive" }],
    [{ time: { path: "$.t", unit: "ns" }, window: "$.w" }],
  ])("with %j is read", (change) => {
    expect(readMapping(mapping(change))).toMatchObject({ ok: true });
  });

  it.each<[object, string]>([
    [{ version: 2 }, "version: Invalid input: expected 1"],
    [{ name: "Two words" }, "name: must have 1 to 64 of the characters"],
    [{ name: "../../etc" }, "name: must have 1 to 64"],
    [{ match: {} }, "match: must hold otlp, file or both"],
    [
      { match: { otlp: { signal: "traces" } } },
      "match.otlp: must name a service, a scope, a name or attributes",
    ],
    [{ match: { otlp: { signal: "metrics", scope: "s" } } }, "match.otlp.signal: "],
    [{ match: { file: [{ path: "$.a" }] } }, "match.file: must name at least two fields"],
    [{ match: { file: [{ path: "$.a" }, { path: "$.a" }] } }, "match.file: must name at least two fields"],
    [{ match: { file: [{ path: "$.a" }, { path: "b" }] } }, 'match.file.1.path: "b" does not start with $'],
    [{ usage: {} }, "usage.input: must be a path, or a list of 1 to 8 paths"],
    [{ usage: { input: 7 } }, "usage.input: must be a path"],
    [{ usage: { input: [] } }, "usage.input: Too small"],
    [{ usage: { input: "$.a[*]" } }, 'usage.input: "$.a[*]" is no path from character 4 on'],
    [{ usage: { input: ["$.a", "$.b["] } }, '"$.b[" is no path from character 4 on'],
    [{ usage: { input: ["$.a", null] } }, "usage.input: must hold paths, not null"],
    [{ time: { path: "$.t", unit: "minutes" } }, "time.unit: "],
    [{ basis: "maybe" }, "basis: "],
    [{ sesion: "$.s" }, 'Unrecognized key: "sesion"'],
  ])("with %j is refused: %s", (change, mistake) => {
    const read = readMapping(mapping(change));
    expect(read.ok ? [] : read.mistakes.join("\n")).toContain(mistake);
  });

  it.each([[undefined], [null], ["a text"], [[]], [7]])("is not %j", (value) => {
    expect(readMapping(value)).toMatchObject({ ok: false, mistakes: [expect.any(String)] });
  });
});
