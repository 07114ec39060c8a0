import { createReader, type Format } from "@plimsoll/harnesses/recordings";
import { describe, expect, it } from "vitest";
import { PROGRAMS } from "./programs.ts";
import { SEEDS } from "./recording-seeds.ts";

/** Takes the place of one text of an input after the other. */
const TEXT = "xylophone quartz";

/** Fields of events that name something. Any other field with a word of an input would tell what was said or read. */
const NAMES = new Set(
  "id session agent parent_agent own_session harness model turn tool tools machine provider limit account".split(
    " ",
  ),
);

/** Texts of an input that hold what was said or read. None of them may even become a name. */
const SAID =
  /^(text|content|message|summary|input|output|command|prompt|arguments|title|customTitle|aiTitle|snippet|error|stdout)$/;

/** What harnesses say in words of their own: why a session or a window ended. */
const REASONS = new Set(["reason > reason", "shutdownType > reason"]);

/** Copies of a value, each with another of its texts replaced, and the name of the text. */
function* replaced(value: unknown, name = ""): Generator<[name: string, value: unknown]> {
  if (typeof value === "string") {
    yield [name, TEXT];
    const inside = parsedObject(value);
    for (const [own, changed] of replaced(inside, name)) yield [own, JSON.stringify(changed)];
  } else if (Array.isArray(value)) {
    for (const [index, one] of value.entries())
      for (const [own, changed] of replaced(one, name)) yield [own, value.with(index, changed)];
  } else if (typeof value === "object" && value !== null) {
    for (const [key, one] of Object.entries(value))
      for (const [own, changed] of replaced(one, key)) yield [own, { ...value, [key]: changed }];
  }
}

/** Some harnesses write JSON in a text. */
function parsedObject(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The fields that hold the text, by their names. */
function fieldsWith(value: unknown, name = ""): string[] {
  if (typeof value === "string") return value.includes("quartz") ? [name] : [];
  if (Array.isArray(value)) return value.flatMap((one) => fieldsWith(one, name));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => fieldsWith(one, key));
}

/** Where texts of an input went that may not, as `name in the input > field of an event`. */
const leaks = (name: string, events: readonly unknown[]) =>
  events.flatMap((event) =>
    fieldsWith(event)
      .filter((field) => SAID.test(name) || !NAMES.has(field))
      .map((field) => `${name} > ${field}`)
      .filter((leak) => !REASONS.has(leak)),
  );

function read(format: Format, files: (typeof SEEDS)[number]["files"]) {
  const reader = createReader(format, { harness: "h@host", titles: false });
  for (const { path, lines } of files) for (const line of lines) reader.read(JSON.stringify(line), { path });
  return reader.take(true).events;
}

describe("no text of an input becomes a field of an event", () => {
  it.each(SEEDS.map((seed) => [seed.format, seed] as const))("recordings of %s", (format, { files }) => {
    const found = new Set<string>();
    for (const [at, file] of files.entries())
      for (const [index, line] of file.lines.entries())
        for (const [name, changed] of replaced(line)) {
          const lines = file.lines.with(index, changed);
          for (const leak of leaks(name, read(format, files.with(at, { ...file, lines })))) found.add(leak);
        }
    expect([...found]).toEqual([]);
  });

  it.each(["hook", "statusline", "acp"] as const)("what %s is sent", async (program) => {
    const { read: readInput, seeds } = PROGRAMS[program];
    if (typeof seeds === "function") throw new Error("no lines");
    const found = new Set<string>();
    for (const [index, seed] of seeds.entries())
      for (const [name, changed] of replaced(seed)) {
        const lines = seeds.with(index, changed).map((line) => JSON.stringify(line));
        const inputs = program === "acp" ? [lines.join("\n")] : [lines[index]!];
        for (const input of inputs)
          for (const leak of leaks(name, await readInput(Buffer.from(input), "claude-code"))) found.add(leak);
      }
    expect([...found]).toEqual([]);
  });
});
