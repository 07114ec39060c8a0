import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { type FakeServer, startFakeServer } from "../testing/fake-server.ts";
import { clockFault, compareClocks } from "./server-clock.ts";

const MINUTE = 60_000;
let server: FakeServer | undefined;
afterEach(() => server?.close());

describe("the clock of this machine", () => {
  it("is named if it differs by a minute for certain, and never because a request was slow", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -20 * MINUTE, max: 20 * MINUTE }),
        fc.nat(5 * MINUTE),
        fc.nat(5 * MINUTE),
        (ahead, there, back) => {
          const trueTime = 1_000_000_000 + there;
          const said = Math.floor(trueTime / 1_000) * 1_000;
          const sentAt = trueTime - there + ahead;
          const fault = clockFault(said, { sentAt, answeredAt: trueTime + back + ahead });
          if (fault !== undefined) {
            expect(Math.abs(ahead)).toBeGreaterThan(MINUTE - 1_000);
            expect(fault).toContain(ahead > 0 ? "ahead of" : "behind");
          } else expect(Math.abs(ahead)).toBeLessThan(MINUTE + 1_000 + Math.max(there, back));
        },
      ),
    );
    expect(clockFault(0, { sentAt: 7 * MINUTE + 1_000, answeredAt: 8 * MINUTE })).toMatch(
      "The clock of this machine is 7 minutes ahead of the server's.",
    );
    expect(clockFault(MINUTE, { sentAt: -1, answeredAt: 0 })).toMatch("1 minute behind the server's.");
  });

  it("is compared with the header Date, and with nothing where a server does not say it", async () => {
    const dates: [string, number][] = [
      ["Sun, 29 Nov 2026 10:00:00 GMT", 200],
      ["nonsense", 200],
      ["Sun, 29 Nov 2026 10:00:00 GMT", 404],
    ];
    server = await startFakeServer({
      routes: {
        "/healthz": (_, response) => {
          const [date, status] = dates.shift()!;
          response.writeHead(status, { date }).end("ok");
        },
      },
    });
    const at = Date.parse("2026-11-29T10:03:30Z");
    expect(await compareClocks(server.url, () => at)).toEqual({
      fault: expect.stringContaining("3 minutes ahead of"),
    });
    expect(await compareClocks(server.url, () => at)).toBeUndefined();
    expect(await compareClocks(server.url, () => at)).toBeUndefined();
    expect(await compareClocks("http://127.0.0.1:1", () => at)).toBeUndefined();
  });
});
