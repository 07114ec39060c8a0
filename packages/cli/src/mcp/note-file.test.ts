import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keepNote, MOST_CHARACTERS, readNote, takeNote } from "./note-file.ts";

const AT = Date.UTC(2026, 10, 28, 12);
const DAY = 86_400_000;

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-notes-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const keep = (session: string, note: string, at = AT) => keepNote(home, { session, note, at });

describe("the note of a session", () => {
  it("comes back as it was, whatever is in it and whatever the session is called", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ minLength: 1, maxLength: 60, unit: "binary" }),
        fc.string({ unit: "binary" }),
        async (session, text) => {
          const note = `Next: ${text}`;
          const kept = await keep(session, note);
          expect(kept).not.toHaveProperty("refused");
          expect(await readNote(home, session)).toMatchObject({ session, note, at: AT });
          expect(await takeNote(home, session)).toMatchObject({ note });
        },
      ),
      { numRuns: 40 },
    );
  });

  it("is taken once, also by two at a time, and can be read afterwards", async () => {
    await keep("s", "The note");
    const taken = await Promise.all([takeNote(home, "s"), takeNote(home, "s"), takeNote(home, "s")]);
    expect(taken.filter((one) => one !== undefined)).toMatchObject([{ note: "The note" }]);
    expect(await takeNote(home, "s")).toBeUndefined();
    expect(await readNote(home, "s")).toMatchObject({ note: "The note" });
    await keep("s", "The next one");
    expect(await takeNote(home, "s")).toMatchObject({ note: "The next one" });
    expect(await takeNote(home, "other")).toBeUndefined();
  });

  it("has a bounded length, and a longer one does not replace it", async () => {
    await keep("s", "short");
    expect(await keep("s", "x".repeat(MOST_CHARACTERS + 1))).toMatchObject({ refused: "too_long" });
    expect(await keep("s", "的".repeat(4_000))).toMatchObject({ refused: "too_long" });
    expect(await keep("s", "\n\t ")).toMatchObject({ refused: "empty" });
    expect(await readNote(home, "s")).toMatchObject({ note: "short" });
  });

  it("is forgotten after a month", async () => {
    await keep("old", "An old one");
    const [name] = await readdir(join(home, "checkpoints"));
    const past = new Date(AT - 31 * DAY);
    await utimes(join(home, "checkpoints", name!), past, past);
    await keep("new", "A new one");
    expect(await readNote(home, "old")).toBeUndefined();
    expect(await readNote(home, "new")).toMatchObject({ note: "A new one" });
  });

  it("is none if the file is damaged or of another session", async () => {
    await keep("s", "A note");
    const folder = join(home, "checkpoints");
    const [name] = await readdir(folder);
    for (const text of ["", "{", "null", "[]", '{"session":"t","note":"x"}', '{"session":"s","note":5}']) {
      await writeFile(join(folder, name!), text);
      expect(await readNote(home, "s")).toBeUndefined();
    }
    await rm(join(folder, name!));
    await mkdir(join(folder, name!));
    expect(await readNote(home, "s")).toBeUndefined();
  });
});
