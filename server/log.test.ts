import { describe, expect, it } from "vitest";
import { makeKey, makeLocalToken } from "./access/key-format.ts";
import { createLogger } from "./log.ts";

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
