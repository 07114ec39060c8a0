import { createReader, detectFormat } from "@plimsoll/harnesses/recordings";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldEvents, levels } from "../../../harnesses/src/testing/fold.ts";
import { SAMPLES, type SampleRecording } from "../../../harnesses/src/testing/recordings.ts";
import { Lines } from "./lines.ts";
import { documentLines, sourceKind } from "./source.ts";

const options = { harness: "h", titles: true };

function contentOf({ path, lines }: SampleRecording["files"][number]): Buffer {
  const isDocument = sourceKind(path) === "document";
  return Buffer.from(lines.map((line) => JSON.stringify(line)).join("\n") + (isDocument ? "" : "\n"));
}

/** Rows of a database are lines already. */
const linesOf = (path: string, content: Buffer): string[] =>
  sourceKind(path) === "document" ? documentLines(content) : new Lines().push(content);

function foldOf(events: Parameters<typeof foldEvents>[0]) {
  return [...foldEvents(events)].sort(([a], [b]) => (a < b ? -1 : 1));
}

function readStraight({ format, files }: SampleRecording) {
  const reader = createReader(format, options);
  for (const file of files) {
    for (const line of linesOf(file.path, contentOf(file))) reader.read(line, { path: file.path });
  }
  return reader.take(true);
}

describe.each(SAMPLES.map((sample) => [sample.format, sample] as const))(
  "recordings of %s",
  (format, sample) => {
    it("are recognized, and taken for no other format", () => {
      for (const file of sample.files) {
        const found = linesOf(file.path, contentOf(file)).map(detectFormat);
        expect(found).toContain(format);
        expect(new Set(found.filter((other) => other !== undefined && other !== format))).toEqual(new Set());
      }
    });

    it("give each agent its own levels, never a sum", () => {
      const folds = foldEvents(readStraight(sample).events);
      expect(Object.fromEntries([...folds].map(([agent, fold]) => [agent, levels(fold)]))).toEqual(
        sample.levels,
      );
    });

    it("give the boundaries", () => {
      const found: Record<string, string[]> = {};
      for (const event of readStraight(sample).events) {
        if (event.type === "turn" || event.type === "session") continue;
        const key = `${event.session} ${event.agent ?? "main"}`;
        found[key] = [...(found[key] ?? []), event.type];
      }
      expect(found).toEqual(sample.boundaries);
    });

    it("give boundaries the levels of the turns around them", () => {
      for (const fold of foldEvents(readStraight(sample).events).values()) {
        const known = levels(fold);
        for (const { tokensBefore, tokensAfter } of fold.marks.values())
          for (const tokens of [tokensBefore, tokensAfter]) expect([undefined, ...known]).toContain(tokens);
      }
    });

    it("name tools in a window as they name those that were called, or none that were called", () => {
      for (const event of readStraight(sample).events) {
        if (event.type !== "turn" || event.contents?.called === undefined) continue;
        const called = event.contents.called.map(({ tool }) => tool);
        const held = event.contents.parts.filter(({ kind }) => kind === "tool").map(({ tool }) => tool);
        expect(called).toEqual(expect.arrayContaining(held));
      }
    });

    it("start each session once, with a title", () => {
      const starts = readStraight(sample).events.filter(
        (event) => event.type === "session" && event.status === "started",
      );
      const sessions = Object.keys(sample.levels).filter((agent) => agent.endsWith(" main"));
      expect(starts.map(({ session }) => `${session} main`).sort()).toEqual(sessions.sort());
      const titles = starts.flatMap((event) => ("title" in event ? [event.title] : []));
      expect(titles).toHaveLength(sessions.length);
      const silent = createReader(format, { ...options, titles: false });
      for (const file of sample.files) {
        for (const line of linesOf(file.path, contentOf(file))) silent.read(line, { path: file.path });
      }
      expect(JSON.stringify(silent.take(true).events)).not.toContain("title");
    });

    it("give the same events in any order of lines, however often they are read", () => {
      const straight = foldOf(readStraight(sample).events);
      const entries = sample.files.flatMap((file) =>
        linesOf(file.path, contentOf(file)).map((text) => ({ path: file.path, text })),
      );
      const indexes = entries.map((_, index) => index);
      fc.assert(
        fc.property(
          fc.shuffledSubarray(indexes, { minLength: indexes.length }),
          fc.array(fc.constantFrom(...indexes)),
          (shuffled, doubled) => {
            const reader = createReader(format, options);
            for (const index of [...shuffled, ...doubled]) {
              reader.read(entries[index]!.text, { path: entries[index]!.path });
            }
            expect(foldOf(reader.take(true).events)).toEqual(straight);
          },
        ),
        { numRuns: 25 },
      );
    });

    it("give the same events if a file is first read up to any byte", () => {
      const straight = foldOf(readStraight(sample).events);
      const whole = sample.files.map((file) => ({ path: file.path, content: contentOf(file) }));
      fc.assert(
        fc.property(fc.nat(whole.length - 1), fc.double({ min: 0, max: 1, noNaN: true }), (index, share) => {
          const reader = createReader(format, options);
          const events = [];
          for (const { path, content } of whole.slice(0, index)) {
            for (const line of linesOf(path, content)) reader.read(line, { path });
          }
          const cut = whole[index]!;
          const at = Math.floor(share * cut.content.length);
          if (sourceKind(cut.path) === "document") {
            for (const line of documentLines(cut.content.subarray(0, at)))
              reader.read(line, { path: cut.path });
            events.push(...reader.take(false).events);
            for (const line of documentLines(cut.content)) reader.read(line, { path: cut.path });
          } else {
            const lines = new Lines();
            for (const line of lines.push(cut.content.subarray(0, at))) reader.read(line, { path: cut.path });
            events.push(...reader.take(false).events);
            for (const line of lines.push(cut.content.subarray(at))) reader.read(line, { path: cut.path });
          }
          for (const { path, content } of whole.slice(index + 1)) {
            for (const line of linesOf(path, content)) reader.read(line, { path });
          }
          events.push(...reader.take(true).events);
          const latest = new Map(
            events.map((event) => [JSON.stringify([event.session, event.agent, event.id]), event]),
          );
          expect(foldOf([...latest.values()])).toEqual(straight);
        }),
        { numRuns: 25 },
      );
    });

    it("start a session before its first turn, and not with what a fork copied", () => {
      const { events } = readStraight(sample);
      for (const event of events) {
        if (event.type !== "session" || event.status !== "started") continue;
        const turns = events.filter((other) => other.type === "turn" && other.session === event.session);
        const first = Math.min(...turns.map(({ at }) => at as number));
        expect(first - (event.at as number)).toBeLessThan(60_000);
      }
    });

    it("leave an unknown window unknown", () => {
      for (const event of readStraight(sample).events) {
        if (event.type !== "turn" || event.context_window === undefined) continue;
        expect(JSON.stringify(sample.files)).toContain(String(event.context_window));
      }
    });
  },
);
