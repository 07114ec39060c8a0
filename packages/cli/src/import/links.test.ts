import { describe, expect, it } from "vitest";
import type { Client } from "../client.ts";
import { CliError } from "../errors.ts";
import { type ImportedSession, importLinks } from "./links.ts";

const AT = Date.UTC(2026, 10, 20, 10);
const URL_OF_SERVER = "http://127.0.0.1:4180";
const session = (n: number): ImportedSession => ({
  harness: "claude-code@lab",
  session: `s${n}`,
  firstAt: AT + n * 1_000,
  lastAt: AT + n * 90_000 + 5,
});
const idOf = (name: string) => `00000000-0000-4000-8000-0000000000${name.slice(1).padStart(2, "0")}`;

/** Finds each session by its name, beside one whose name contains it. */
const reader: Pick<Client, "query"> = {
  async query<T>(path: string, input: unknown) {
    expect(path).toBe("sessions.list");
    const { q, from, to } = input as { q: string; from: string; to: string };
    expect(Date.parse(from)).toBeLessThan(Date.parse(to));
    // The session of another machine is stored under its instance.
    const harness = q === "s2" ? "codex@lab" : "claude-code@another";
    const items = [
      { id: "another", session: `${q}0`, harness },
      { id: "of another harness", session: q, harness: "qwen-code@lab" },
      { id: idOf(q), session: q, harness },
    ];
    return { items, next_cursor: null } as T;
  },
};
const forbidden: Pick<Client, "query"> = {
  query: () => Promise.reject(new CliError("Not allowed to call sessions.list.")),
};

describe("links to imported sessions", () => {
  it("name the latest sessions, then a list whose range holds every event", async () => {
    const links = await importLinks(
      reader,
      Array.from({ length: 8 }, (_, n) => session(n)),
      { url: URL_OF_SERVER },
    );
    expect(links.slice(0, -1)).toEqual(
      ["s7", "s6", "s5", "s4", "s3"].map((name) => `${URL_OF_SERVER}/sessions/${idOf(name)}`),
    );
    const list = new URL(links.at(-1)!);
    expect(list.pathname).toBe("/sessions");
    expect(list.searchParams.get("harness")).toBe("claude-code@lab");
    const [from, to] = list.searchParams
      .get("range")!
      .split("..")
      .map((text) => Date.parse(text));
    expect(from).toBe(AT);
    expect(to).toBe(AT + 11 * 60_000);
  });

  it("keep the project, and leave out a harness if there are several", async () => {
    const links = await importLinks(reader, [session(1), { ...session(2), harness: "codex@lab" }], {
      url: URL_OF_SERVER,
      project: "my team",
    });
    expect(links[0]).toBe(`${URL_OF_SERVER}/sessions/${idOf("s2")}?project=my+team`);
    expect(new URL(links.at(-1)!).searchParams.get("harness")).toBeNull();
  });

  it("are the list alone for a key that may not read", async () => {
    const links = await importLinks(forbidden, [session(1)], { url: URL_OF_SERVER });
    expect(links).toHaveLength(1);
    expect(new URL(links[0]!).pathname).toBe("/sessions");
  });

  it("are none without a session", async () => {
    expect(await importLinks(reader, [], { url: URL_OF_SERVER })).toEqual([]);
  });
});
