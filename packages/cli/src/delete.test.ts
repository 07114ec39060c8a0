import { afterEach, describe, expect, it } from "vitest";
import { createProgram } from "./program.ts";
import type { Ask } from "./prompt.ts";
import type { Terminal } from "./terminal.ts";
import { type FakeServer, type Procedure, startFakeServer } from "./testing/fake-server.ts";
import { NOW } from "./testing/fleet.ts";

let server: FakeServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const ID = "0f8f2a1c-5d7e-8c4b-9a31-2f6d8e7b9c10";
const OTHER = "1f8f2a1c-5d7e-8c4b-9a31-2f6d8e7b9c11";
/** A name of the sender that looks like an id. */
const NAMED = "11111111-1111-4111-8111-111111111111";

const session = (id: string, name: string, harness = "h@lab") => ({
  id,
  session: name,
  title: null,
  kind: null,
  harness,
  status: "idle",
  end_reason: null,
  model: null,
  context_tokens: null,
  window_tokens: null,
  utilization: null,
  load: null,
  peak_tokens: null,
  peak_utilization: null,
  turns: 40,
  windows: 1,
  agents: 1,
  masked: 0,
  compacted: 0,
  subticks: 0,
  restarts: 0,
  cleared: 0,
  unexplained: 0,
  reclaimed_tokens: 0,
  warnings: 0,
  prompt_tokens: 0,
  cached_tokens: 0,
  estimated_tokens: 0,
  cost_usd: null,
  cost_turns: 0,
  estimated_cost_usd: null,
  estimated_cost_turns: 0,
  first_at: new Date(NOW - 7_200_000).toISOString(),
  last_at: new Date(NOW - 3_600_000).toISOString(),
  last_received_at: new Date(NOW - 3_600_000).toISOString(),
  tags: [],
  note_excerpt: null,
});

interface Ran {
  text: string;
  /** The inputs of calls that delete, in order. */
  deleted: unknown[];
  asked: string[];
}

async function run(
  args: readonly string[],
  { items = [session(ID, "slack:1")], answer }: { items?: unknown[]; answer?: string } = {},
): Promise<Ran> {
  const deleted: unknown[] = [];
  const asked: string[] = [];
  const deletes =
    (harnesses: number): Procedure =>
    (input) => {
      deleted.push(input);
      const dry = (input as { dry_run: boolean }).dry_run;
      return { harnesses, sessions: 2, turns: 80, undo_until: dry ? null : new Date(NOW).toISOString() };
    };
  server = await startFakeServer({
    procedures: {
      "sessions.list": () => ({ items, next_cursor: null }),
      "sessions.delete": deletes(0),
      "harness.delete": deletes(1),
      "demo.delete": deletes(4),
    },
  });
  let text = "";
  const out: Terminal = {
    width: 100,
    isTty: false,
    color: false,
    write: (more) => {
      text += more;
    },
  };
  const ask: Ask = async (question) => {
    asked.push(question);
    return answer!;
  };
  const program = createProgram({
    env: { PLIMSOLL_URL: server.url, PLIMSOLL_KEY: "k" },
    out,
    err: { ...out, write: () => undefined },
    now: () => NOW,
    untilStopped: () => new AbortController().signal,
    ...(answer !== undefined && { ask }),
  });
  await program.parseAsync(["node", "plimsoll", "delete", ...args]);
  return { text, deleted, asked };
}

describe("plimsoll delete", () => {
  it.each([ID, `http://127.0.0.1:4180/sessions/${ID}?agent=x`, "slack:1"])(
    "lists the session %s, asks, and deletes it",
    async (name) => {
      const { text, deleted, asked } = await run([name], { answer: "y" });
      expect(text).toContain(`${ID}  slack:1  h@lab    40     1 h ago`);
      expect(text).toContain("To delete: 2 sessions and 80 turns.");
      expect(asked).toHaveLength(1);
      expect(deleted).toEqual([
        { ids: [ID], dry_run: true },
        { ids: [ID], dry_run: false },
      ]);
      expect(text).toContain("Deleted 2 sessions and 80 turns.");
    },
  );

  it("finds a session whose own name looks like an id", async () => {
    const { deleted } = await run([NAMED, "--yes"], { items: [session(ID, NAMED)] });
    expect(deleted.at(-1)).toEqual({ ids: [ID], dry_run: false });
  });

  it.each(["n", "", "no"])("deletes nothing after the answer %j", async (answer) => {
    await expect(run(["slack:1"], { answer })).rejects.toThrow("Nothing was deleted.");
  });

  it("does not wait for an answer that nobody can give", async () => {
    await expect(run(["slack:1"])).rejects.toThrow("no terminal to ask");
  });

  it("names the ids if a name is ambiguous, and finds no part of a name", async () => {
    const items = [session(ID, "slack:1"), session(OTHER, "slack:1", "h@desk")];
    await expect(run(["slack:1", "--yes"], { items })).rejects.toMatchObject({
      message: "2 sessions are named slack:1.",
      hint: expect.stringContaining(`${OTHER} (h@desk)`),
    });
    await server!.close();
    await expect(run(["slack", "--yes"])).rejects.toThrow("There is no session slack.");
  });

  it("deletes a harness, and the demo", async () => {
    const harness = await run(["--harness", "h@lab", "--yes"]);
    expect(harness.deleted.at(-1)).toEqual({ instances: ["h@lab"], dry_run: false });
    expect(harness.text).toContain("Deleted 1 harness with 2 sessions and 80 turns.");
    await server!.close();
    const demo = await run(["--demo", "--yes"]);
    expect(demo.deleted.at(-1)).toEqual({ dry_run: false });
    expect(demo.text).toContain("Deleted 4 harnesses with 2 sessions and 80 turns.");
  });

  it.each([[[]], [["slack:1", "--demo"]], [["--harness", "h", "--demo"]]])(
    "refuses %j: exactly one thing is named",
    async (args) => {
      await expect(run([...args, "--yes"])).rejects.toThrow(/Nothing is named|no two of them/);
    },
  );
});
