import { describe, expect, it } from "vitest";
import { makeKey, makeLocalToken } from "./key-format.ts";
import { createLogger, logConsole, printable } from "./log.ts";

function logged(write: (log: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger({ level: "info" }, { write: (line: string) => void lines.push(line) }));
  return lines.join("");
}

describe("the logger", () => {
  it("writes JSON lines with a readable time, from its level up", () => {
    const text = logged((log) => {
      log.debug("quiet");
      log.info({ port: 4180 }, "listening");
    });
    expect(JSON.parse(text)).toMatchObject({ level: 30, port: 4180, msg: "listening", pid: process.pid });
    expect(Date.parse(JSON.parse(text).time)).not.toBeNaN();
  });

  it("hides secret fields at any of three depths", () => {
    const text = logged((log) =>
      log.info({
        token: "aaa1",
        headers: { authorization: "aaa2", cookie: "aaa3", "set-cookie": "aaa4" },
        req: { headers: { authorization: "aaa5", cookie: "aaa6" } },
      }),
    );
    expect(text).not.toMatch(/aaa\d/);
    expect(text).toContain("[redacted]");
  });

  it("hides keys, bearer tokens and database passwords inside messages and errors", () => {
    const { secret } = makeKey();
    const local = makeLocalToken();
    const text = logged((log) => {
      log.info(`got ${secret} and Bearer abcdef123`);
      log.error({ err: new Error(`postgresql://plimsoll:hunter2@127.0.0.1:5432/x refused ${local}`) }, "no");
    });
    for (const hidden of [secret, local, "abcdef123", "hunter2"]) expect(text).not.toContain(hidden);
    for (const line of text.trim().split("\n")) JSON.parse(line);
    expect(text).toContain("@127.0.0.1:5432/x");
  });
});

describe("what a terminal would obey", () => {
  it.each([
    ["\u001b[31mred\u001b[0m", "\\u001b[31mred\\u001b[0m"],
    ["\u009b31m", "\\u009b31m"],
    ["\u007f\u0008", "\\u007f\\u0008"],
    ["a\r\nb", "a\\u000d\nb"],
    ["left\u202eright", "left\\u202eright"],
    ["one\u2028two", "one\\u2028two"],
    ["é ✓ 漢\t", "é ✓ 漢\t"],
  ])("is escaped in %j", (text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  it("is escaped in a line of the log, which stays one line of JSON", () => {
    const lines: string[] = [];
    const log = createLogger({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const hostile = 'x\u001b[2J\u009b\n{"level":50,"msg":"forged"}\r\u2028\u202e';
    log.warn({ path: hostile, err: new Error(hostile) }, hostile);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^[\x20-\x7e]*\n$/);
    expect(JSON.parse(lines[0]!)).toMatchObject({ msg: hostile, path: hostile });
  });
});

it("the console writes to the log", () => {
  const own = { ...console };
  try {
    const text = logged((log) => {
      logConsole(log);
      console.error("%s went wrong", "it\u001b[2J", { a: 1 });
      console.warn(new Error("boom"));
    });
    const [first, second] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(first).toMatchObject({ level: 50, msg: "it\u001b[2J went wrong { a: 1 }" });
    expect(second).toMatchObject({ level: 40, msg: expect.stringContaining("Error: boom\n    at ") });
    expect(text).not.toContain("\u001b");
  } finally {
    Object.assign(console, own);
  }
});
