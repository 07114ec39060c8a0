import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import type { Access } from "../tenants/access/principal.ts";
import { type HttpStack, startHttpStack } from "../testing/http-stack.ts";
import { until } from "../testing/until.ts";
import { type BackupDeps, backupRoutes } from "./backup.ts";

const STALL_MS = 400;
let stack: HttpStack;
afterEach(() => stack?.stop());

const person = { kind: "local", projectId: 1, scopes: new Set(["admin"]) } as never;
const access: Pick<Access, "authorize"> = { authorize: async () => person };

async function start(deps: Partial<BackupDeps>): Promise<void> {
  stack = await startHttpStack({
    routes: [
      backupRoutes({
        log: pino({ level: "silent" }),
        access,
        audit: { note: async () => {} },
        clock: () => Date.UTC(2026, 10, 23, 4, 5),
        stallMs: STALL_MS,
        async *write() {},
        async restore({ body }) {
          let rows = 0;
          for await (const bytes of body) rows += bytes.length;
          return { projectIds: [1], result: { projects: 1, sessions: 0, turns: 0, waiting_events: 0, rows } };
        },
        ...deps,
      }),
    ],
  });
}

function ask(path: string, method: string): ClientRequest {
  const outgoing = request({ host: "127.0.0.1", port: stack.port, path, method });
  outgoing.on("error", () => {});
  return outgoing;
}

const answerTo = async (outgoing: ClientRequest): Promise<[number | undefined, string]> => {
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  let text = "";
  for await (const part of incoming) text += part;
  return [incoming.statusCode, text];
};

describe("a backup over HTTP", () => {
  it("ends if nobody takes it, and the next one may begin", async () => {
    let ended = 0;
    await start({
      async *write() {
        try {
          for (;;) yield Buffer.alloc(1 << 20);
        } finally {
          ended += 1;
        }
      },
    });
    const outgoing = ask("/api/v1/backup", "GET").end();
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    expect(incoming.headers["content-disposition"]).toBe(
      'attachment; filename="plimsoll-2026-11-23T0405.backup"',
    );
    const broken = once(incoming, "error");
    incoming.pause();
    await until(() => ended > 0);
    incoming.resume();
    await broken;
    const again = ask("/api/v1/backup", "GET").end();
    expect(((await once(again, "response")) as [IncomingMessage])[0].statusCode).toBe(200);
    again.destroy();
  });

  it("may follow the one before as soon as that is whole", async () => {
    await start({
      audit: { note: () => new Promise((resolve) => setTimeout(resolve, 50)) },
      async *write() {
        yield Buffer.from("plimsoll-backup 1\n");
      },
    });
    for (let round = 0; round < 3; round++)
      expect(await answerTo(ask("/api/v1/backup", "GET").end())).toEqual([200, "plimsoll-backup 1\n"]);
  });

  it("does not look whole if it fails on the way", async () => {
    await start({
      async *write() {
        yield Buffer.from("plimsoll-backup 1\n");
        throw new Error("the database is gone");
      },
    });
    await expect(answerTo(ask("/api/v1/backup", "GET").end())).rejects.toThrow(/aborted|hang up/);
  });

  it("has a status if it cannot begin", async () => {
    await start({
      // biome-ignore lint/correctness/useYield: it fails before its first frame
      async *write() {
        throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      },
    });
    expect((await answerTo(ask("/api/v1/backup", "GET").end()))[0]).toBe(503);
  });

  it("is not made for HEAD", async () => {
    await start({
      // biome-ignore lint/correctness/useYield: nobody must ask for a frame
      async *write() {
        throw new Error("was asked for a backup");
      },
    });
    expect(await answerTo(ask("/api/v1/backup", "HEAD").end())).toEqual([200, ""]);
  });
});

describe("a restore over HTTP", () => {
  it("waits for a slow sender, and gives up a silent one", async () => {
    await start({});
    const slow = ask("/api/v1/restore", "POST");
    const answer = answerTo(slow);
    for (let part = 0; part < 8; part += 1) {
      slow.write("1234");
      // Together longer than STALL_MS, and each much shorter.
      await new Promise((resolve) => setTimeout(resolve, STALL_MS / 4));
    }
    slow.end();
    expect(await answer).toMatchObject([200, expect.stringContaining('"rows":32')]);

    const silent = ask("/api/v1/restore", "POST");
    silent.write("1234");
    expect(await answerTo(silent)).toMatchObject([400, expect.stringContaining("stopped arriving")]);
    silent.destroy();
  });
});
