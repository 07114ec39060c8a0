import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { createClient } from "../client.ts";
import { connect } from "../connection.ts";
import { connectStage } from "../testing/connect-run.ts";
import { type ConnectServer, ServerLines } from "./server-line.ts";

const SESSION = "3f2a91c0-5d7e-4b1a-9c7f-0a1b2c3d4e5f";
const OF = { session: SESSION, family: "claude-code", agent: "main" } as const;
const START = Date.now();

describe("the line that the server knows", () => {
  const unreachable: ConnectServer = () => Promise.reject(new Error("unreachable"));
  const withoutKey: ConnectServer = () => Promise.resolve(undefined);

  it.each([
    ["away", unreachable, "away"],
    ["without a key", withoutKey, "no_login"],
  ] as const)("is none while the server is %s, and no call waits", async (_, server, expected) => {
    const lines = new ServerLines(server, () => START);
    expect(lines.of(OF)).toEqual({ line: undefined, server: "not_yet" });
    await lines.settled();
    expect(lines.of(OF)).toEqual({ line: undefined, server: expected });
  });

  it("is asked for again after the clock was set back", async () => {
    let now = START;
    let asked = 0;
    const lines = new ServerLines(
      () => {
        asked += 1;
        return unreachable();
      },
      () => now,
    );
    lines.of(OF);
    now -= 86_400_000;
    lines.of(OF);
    await lines.settled();
    expect(asked).toBe(2);
  });

  describe("of a real one", () => {
    const stage = connectStage();

    it("is that of the policy, until the server was away for too long", async () => {
      const { person, server } = stage;
      const key = (await person.run(["key", "create", "--scope", "admin", "--quiet"])).trim();
      const turn = {
        ...{ type: "turn", harness: `claude-code@${hostname()}`, session: SESSION },
        ...{ model: "claude-haiku-4-5", usage: { input_tokens: 90_000, output_tokens: 1 } },
      };
      const send = (id: string) =>
        fetch(`${server.url}/api/v1/events`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json", prefer: "wait" },
          body: JSON.stringify({ events: [{ ...turn, id, at: Date.now() }] }),
        });
      let now = Date.now();
      let isAway = false;
      const client = createClient(
        await connect({ url: server.url }, { PLIMSOLL_HOME: server.home, PLIMSOLL_KEY: key }),
      );
      const lines = new ServerLines(
        () => (isAway ? unreachable() : Promise.resolve(client)),
        () => now,
      );
      const later = async (ms: number) => {
        now += ms;
        lines.of(OF);
        await lines.settled();
        return lines.of(OF);
      };
      expect(await later(0)).toEqual({ line: undefined, server: "not_yet" });
      expect((await send("1")).status).toBe(200);
      // Its default says less than the settings on this machine.
      expect(await later(20_000)).toEqual({ line: undefined, server: "known" });
      const file = await person.write("policy.yaml", "settings:\n  thresholds:\n    ceiling: 120000\n");
      await person.run(["policy", "set", file, "-m", "lower"]);
      // A turn is judged by the policy of its time.
      await send("2");
      const line = { tokens: 120_000, source: "policy" };
      expect(await later(20_000)).toEqual({ line, server: "known" });
      isAway = true;
      expect(await later(20_000)).toEqual({ line, server: "away" });
      expect(await later(11 * 60_000)).toEqual({ line: undefined, server: "away" });
      expect(lines.of({ ...OF, agent: "agent-other" })).toEqual({ line: undefined, server: "away" });
    });
  });
});
