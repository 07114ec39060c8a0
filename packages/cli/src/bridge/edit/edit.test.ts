import { withChanges } from "@plimsoll/harnesses/fields";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editSettings, parseSettings, UnreadableSettings, UnsafeEdit } from "./edit.ts";

describe("a JSON file", () => {
  it("keeps comments, order, indentation and trailing commas", () => {
    const text = '{\n    // mine\n    "b": 1, /* two */\n    "a": { "x": [1,2], },\n}\n';
    const edited = editSettings("json", text, [
      { path: ["a", "y"], value: 5 },
      { path: ["c"], value: true },
    ]);
    expect(edited).toContain("// mine");
    expect(edited).toContain("/* two */");
    expect(edited).toContain('"x": [1,2]');
    expect(edited).toContain('\n    "c": true');
    expect(parseSettings("json", edited)).toEqual({ b: 1, a: { x: [1, 2], y: 5 }, c: true });
  });

  it("keeps tabs and Windows line ends", () => {
    const edited = editSettings("json", '{\r\n\t"a": 1\r\n}\r\n', [{ path: ["b"], value: 2 }]);
    expect(edited).toBe('{\r\n\t"a": 1,\r\n\t"b": 2\r\n}\r\n');
  });

  it.each(["", "\uFEFF", "  \n"])("begins with an object when it is empty (%j)", (text) => {
    expect(parseSettings("json", editSettings("json", text, [{ path: ["a", "b"], value: 1 }]))).toEqual({
      a: { b: 1 },
    });
  });

  it.each([
    ['{\n  "a": 1 // note on a\n}\n', '{\n  "a": 1, // note on a\n  "k": 5\n}\n'],
    ['{\n  "a": 1, // note on a\n}\n', '{\n  "a": 1, // note on a\n  "k": 5,\n}\n'],
    ['{\n  "a": 1\n  ,\n}\n', '{\n  "a": 1\n  ,\n  "k": 5,\n}\n'],
    ['{"a":1}', '{"a":1, "k": 5}'],
    ["{}", '{\n  "k": 5\n}'],
    ['{\n  "a": [1,2]\n}', '{\n  "a": [1,2],\n  "k": 5\n}'],
    ['{\n  "a": 1\n  // the end\n}', '{\n  "a": 1,\n  "k": 5\n  // the end\n}'],
  ])("gets a key and loses it again (%j)", (before, after) => {
    const edited = editSettings("json", before, [{ path: ["k"], value: 5 }]);
    expect(edited).toBe(after);
    expect(editSettings("json", edited, [{ path: ["k"], value: undefined }])).toBe(before);
  });

  it("loses a key in the middle and keeps the comments around it", () => {
    const before = '{\n  "a": 1, // on a\n  "k": 5, // on k\n  // on b\n  "b": 2\n}\n';
    const edited = editSettings("json", before, [{ path: ["k"], value: undefined }]);
    expect(parseSettings("json", edited)).toEqual({ a: 1, b: 2 });
    for (const comment of ["// on a", "// on k", "// on b"]) expect(edited).toContain(comment);
  });

  it.each([
    ['{ "list": [1, 2] }', '{ "list": [1, 2, 3] }'],
    [
      '{\n  "list": [\n    1, // one\n    2 // two\n  ]\n}\n',
      '{\n  "list": [\n    1, // one\n    2, // two\n    3\n  ]\n}\n',
    ],
    [
      '{\r\n  "list": [\r\n    1,\r\n    2,\r\n  ]\r\n}',
      '{\r\n  "list": [\r\n    1,\r\n    2,\r\n    3,\r\n  ]\r\n}',
    ],
  ])("keeps the comments in a list that becomes longer, and shorter again: %j", (text, longer) => {
    const path = ["list"];
    expect(editSettings("json", text, [{ path, value: [1, 2, 3] }])).toBe(longer);
    expect(editSettings("json", longer, [{ path, value: [1, 2] }])).toBe(text);
  });

  it("keeps the comments in a list of objects", () => {
    const text = '{\n  "list": [\n    // first\n    { "a": [1] }, // one\n  ]\n}\n';
    const path = ["list"];
    const longer = editSettings("json", text, [{ path, value: [{ a: [1] }, { b: 2 }] }]);
    expect(longer).toContain('    // first\n    { "a": [1] }, // one\n    {\n      "b": 2\n    },\n');
    expect(editSettings("json", longer, [{ path, value: [{ a: [1] }] }])).toBe(text);
  });

  it("holds any list that was set, whatever list was there", () => {
    const lists = fc.array(fc.constantFrom<unknown>(1, "a", null, { b: [2] }), { maxLength: 5 });
    fc.assert(
      fc.property(lists, lists, fc.constantFrom(undefined, 2, "\t"), (before, after, space) => {
        const text = JSON.stringify({ before: 1, list: before, after: 2 }, null, space);
        const edited = editSettings("json", text, [{ path: ["list"], value: after }]);
        expect(JSON.parse(edited)).toEqual({ before: 1, list: after, after: 2 });
      }),
    );
  });

  it("keeps a byte order mark", () => {
    const edited = editSettings("json", '\uFEFF{"a":1}', [{ path: ["a"], value: 2 }]);
    expect(edited).toBe('\uFEFF{"a":2}');
  });

  it.each(["{", '{"a":}', "[1]", '"text"', "{a: 1}"])("is refused when it is %s", (text) => {
    expect(() => editSettings("json", text, [{ path: ["a"], value: 1 }])).toThrow(UnreadableSettings);
  });
});

describe("a TOML file", () => {
  const text = `# Codex
model = "gpt-5.1"   # the best
approval_policy = 'on-request'

[profiles.work]
model = "gpt-5.1-mini"

[mcp_servers."my server"]
args = [
  "-y", # yes
  "pkg",
]

[[hooks]]
event = "Stop"
`;

  it("puts a top-level key before the first table and keeps the rest", () => {
    const edited = editSettings("toml", text, [{ path: ["model_auto_compact_token_limit"], value: 120_000 }]);
    expect(parseSettings("toml", edited)).toEqual({
      ...parseSettings("toml", text),
      model_auto_compact_token_limit: 120_000,
    });
    for (const line of text.split("\n")) expect(edited.split("\n")).toContain(line);
    expect(edited).toMatch(/120_?000/);
  });

  it("is the same text after a key is set and removed", () => {
    const path = ["loop_control", "reserved_context_size"];
    const edited = editSettings("toml", text, [{ path, value: 50_000 }]);
    const undone = editSettings("toml", edited, [
      { path, value: undefined },
      { path: ["loop_control"], value: undefined },
    ]);
    expect(parseSettings("toml", undone)).toEqual(parseSettings("toml", text));
    expect(undone.trimEnd()).toBe(text.trimEnd());
  });

  it("writes fractions and integers as such", () => {
    const edited = editSettings("toml", "", [
      { path: ["loop_control", "compaction_trigger_ratio"], value: 0.7 },
      { path: ["loop_control", "reserved_context_size"], value: 50_000 },
    ]);
    expect(edited).toContain("compaction_trigger_ratio = 0.7");
    expect(edited).toMatch(/reserved_context_size = 50_?000\n$/);
  });

  it("loses one element of an array of tables and keeps those of a person", () => {
    const mine = `model = "x"

# before
[[hooks.PostCompact]]
matcher = "auto"
[[hooks.PostCompact.hooks]]
type = "command"
command = "say done" # mine

[[hooks.PostCompact.hooks]]
command = "say two"

# of tui
[tui]
a = 1
`;
    const path = ["hooks", "PostCompact"];
    const own = parseSettings("toml", mine).hooks as { PostCompact: object[] };
    const ours = { hooks: [{ type: "command", command: "plimsoll hook" }] };
    for (const value of [
      [...own.PostCompact, ours],
      [ours, ...own.PostCompact],
    ]) {
      const edited = editSettings("toml", mine, [{ path, value }]);
      const undone = editSettings("toml", edited, [{ path, value: own.PostCompact }]);
      expect(parseSettings("toml", undone)).toEqual(parseSettings("toml", mine));
      for (const line of mine.split("\n")) expect(undone.split("\n")).toContain(line);
    }
    const without = editSettings("toml", mine, [{ path: ["hooks"], value: undefined }]);
    expect(parseSettings("toml", without)).toEqual({ model: "x", tui: { a: 1 } });
  });

  it("keeps the ends of its lines where they differ", () => {
    const mixed = "a = 1\r\n# mine\n\r\n[tui]\nb = 2\r\n";
    const edited = editSettings("toml", mixed, [{ path: ["tui", "c"], value: 3 }]);
    expect(edited).toBe("a = 1\r\n# mine\n\r\n[tui]\nb = 2\r\nc = 3\n");
  });

  it("loses an element beside a text that looks like one", () => {
    const mine = '[[hooks.Stop]]\ncommand = """\n[[hooks.Stop]]\n[x]\n"""\n';
    const path = ["hooks", "Stop"];
    const [own] = (parseSettings("toml", mine).hooks as { Stop: object[] }).Stop;
    const edited = editSettings("toml", mine, [{ path, value: [own, { command: "ours" }] }]);
    expect(editSettings("toml", edited, [{ path, value: [own] }]).trimEnd()).toBe(mine.trimEnd());
  });

  it("is refused when it is broken", () => {
    expect(() => parseSettings("toml", "a = \n[b")).toThrow(UnreadableSettings);
  });
});

describe("a YAML file", () => {
  const text = `# Goose
GOOSE_PROVIDER: anthropic
GOOSE_MODEL: claude-opus-5 # best

extensions:
    developer:
        enabled: true
`;

  it("keeps comments and other keys", () => {
    const edited = editSettings("yaml", text, [{ path: ["GOOSE_AUTO_COMPACT_THRESHOLD"], value: 0.2 }]);
    expect(edited).toContain("# Goose");
    expect(edited).toContain("claude-opus-5 # best");
    expect(parseSettings("yaml", edited)).toEqual({
      ...parseSettings("yaml", text),
      GOOSE_AUTO_COMPACT_THRESHOLD: 0.2,
    });
  });

  it("keeps the indentation of lines that it does not change", () => {
    const edited = editSettings("yaml", text, [{ path: ["GOOSE_AUTO_COMPACT_THRESHOLD"], value: 0.2 }]);
    for (const line of text.split("\n")) expect(edited.split("\n")).toContain(line);
  });

  it("is refused when it is broken", () => {
    expect(() => parseSettings("yaml", "a: [1\nb: 2")).toThrow(UnreadableSettings);
  });
});

describe("a .env file", () => {
  const text = "# mine\nexport A='it is'\n\nB = \"x # y\" # note\nC=1\nbroken line\nC=2";

  it("is read as shells and dotenv read it", () => {
    expect(parseSettings("env", text)).toEqual({ A: "it is", B: "x # y", C: "2" });
  });

  it("keeps its lines, and loses what it got", () => {
    const edited = editSettings("env", text, [{ path: ["D"], value: "x-api-key=plim_1" }]);
    expect(edited).toBe(`${text}\nD=x-api-key=plim_1\n`);
    expect(editSettings("env", edited, [{ path: ["D"], value: undefined }])).toBe(`${text}\n`);
    expect(editSettings("env", text, [{ path: ["A"], value: "b" }])).toContain("# mine\nexport A=b\n\nB");
    expect(editSettings("env", "\uFEFFA=1\r\n", [{ path: ["A"], value: "2" }])).toBe("\uFEFFA=2\r\n");
    expect(editSettings("env", "A=1\nB=2\r\nC=3\n", [{ path: ["B"], value: "4" }])).toBe("A=1\nB=4\r\nC=3\n");
  });

  it("holds every value that it was given", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[ -~]{0,30}$/), (value) => {
        const edited = editSettings("env", text, [{ path: ["D"], value }]);
        expect(parseSettings("env", edited)).toMatchObject({ A: "it is", C: "2", D: value });
      }),
    );
  });
});

describe("the start file of a shell", () => {
  it("keeps everything around a function, which can be replaced and removed", () => {
    const text = "# mine\nPATH=x";
    const one = editSettings("shell", text, [{ path: ["a"], value: "a() { b; }" }]);
    const two = editSettings("shell", one, [{ path: ["c"], value: "c() { d; }" }]);
    expect(parseSettings("shell", two)).toEqual({ a: "a() { b; }", c: "c() { d; }" });
    const other = editSettings("shell", two, [{ path: ["a"], value: "a() { e; }" }]);
    expect(parseSettings("shell", other)).toEqual({ a: "a() { e; }", c: "c() { d; }" });
    const gone = ["a", "c"].reduce(
      (left, key) => editSettings("shell", left, [{ path: [key], value: undefined }]),
      other,
    );
    expect(gone).toBe(`${text}\n`);
  });
});

it("gives a shell no carriage return in a function, whatever the rest of its file has", () => {
  const edited = editSettings("shell", "alias x=y\r\n", [{ path: ["a"], value: "a() { b; }" }]);
  expect(edited).toBe("alias x=y\r\n# >>> plimsoll a >>>\na() { b; }\n# <<< plimsoll a <<<\n");
  expect(editSettings("shell", edited, [{ path: ["a"], value: undefined }])).toBe("alias x=y\r\n");
});

describe("an edit that would not hold what was asked for", () => {
  it.each([
    // The last of two equal keys counts, and the first one is found.
    ["json", '{ "k": 1, "k": 2 }', ["k"], 3],
    ["json", '{ "env": "x" }', ["env", "A"], "1"],
    ["json", '{ "env": ["x"] }', ["env", "A"], "1"],
    ["toml", 'env = "x"', ["env", "A"], "1"],
    ["toml", 'env = [{ A = "2" }]', ["env", "A"], "1"],
    ["yaml", "env: x", ["env", "A"], "1"],
    ["yaml", "env: [x]", ["env", "A"], "1"],
    ["env", "A='x'", ["A"], "a\nB=2"],
  ] as const)("is refused (%s: %s)", (format, text, path, value) => {
    expect(() => editSettings(format, text, [{ path, value }])).toThrow(UnsafeEdit);
  });
});

const name = fc.stringMatching(/^[a-z_]{1,8}$/).filter((text) => text !== "__proto__");
const leaf = fc.oneof(
  fc.integer({ min: -1_000_000, max: 1_000_000 }),
  fc.boolean(),
  fc.stringMatching(/^[ -~]{0,12}$/),
);
const tree = fc.dictionary(name, fc.oneof(leaf, fc.dictionary(name, leaf, { maxKeys: 4 })), { maxKeys: 5 });
const change = fc.record({
  path: fc.array(name, { minLength: 1, maxLength: 2 }),
  value: fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.boolean()),
});

describe.each(["json", "toml", "yaml"] as const)("%s", (format) => {
  it("holds what was set and what was there before", () => {
    fc.assert(
      fc.property(tree, change, (settings, { path, value }) => {
        // A path through a value that is no group cannot be set.
        fc.pre(path.length === 1 || typeof (settings[path[0]!] ?? {}) === "object");
        const text = textOf(format, settings);
        expect(parseSettings(format, text)).toEqual(settings);
        const edited = editSettings(format, text, [{ path, value }]);
        expect(parseSettings(format, edited)).toEqual(withChanges(settings, [{ path, value }]));
        expect(editSettings(format, edited, [{ path, value }])).toBe(edited);
        const without = editSettings(format, edited, [{ path, value: undefined }]);
        expect(parseSettings(format, without)).toEqual(
          withChanges(withChanges(settings, [{ path, value }]), [{ path, value: undefined }]),
        );
      }),
      { numRuns: 100 },
    );
  });
});

function textOf(format: "json" | "toml" | "yaml", settings: Record<string, unknown>): string {
  if (format === "json") return JSON.stringify(settings, null, 2);
  const scalars = Object.entries(settings).filter(([, value]) => typeof value !== "object");
  const groups = Object.entries(settings).filter(([, value]) => typeof value === "object") as [
    string,
    object,
  ][];
  const separator = format === "toml" ? " = " : ": ";
  const line = ([key, value]: [string, unknown]) =>
    `${format === "yaml" ? JSON.stringify(key) : key}${separator}${JSON.stringify(value)} # note`;
  if (format === "toml")
    return [
      ...scalars.map(line),
      ...groups.flatMap(([key, group]) => [`\n[${key}]`, ...Object.entries(group).map(line)]),
      "",
    ].join("\n");
  if (scalars.length + groups.length === 0) return "";
  return [
    ...scalars.map(line),
    ...groups.flatMap(([key, group]) => [
      `${JSON.stringify(key)}:${Object.keys(group).length === 0 ? " {}" : ""}`,
      ...Object.entries(group).map((entry) => `    ${line(entry)}`),
    ]),
    "",
  ].join("\n");
}
