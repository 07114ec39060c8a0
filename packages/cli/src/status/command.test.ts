import { FleetQuery, HarnessLinesQuery, StatusQuery } from "@plimsoll/protocol/api";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../../guard/src/testing/until.ts";
import { CliError } from "../errors.ts";
import type { Terminal } from "../terminal.ts";
import { type FakeServer, json, Refusal, startFakeServer } from "../testing/fake-server.ts";
import { fleetAgent, fleetStatus, fleetView, NOW } from "../testing/fleet.ts";
import { runStatus } from "./command.ts";
import { watchStatus } from "./watch.ts";

let server: FakeServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

function terminal(): Terminal & { text: string } {
  return {
    text: "",
    width: 120,
    isTty: false,
    color: false,
    write(text) {
      this.text += text;
    },
  };
}

const procedures = {
  status: (input: unknown) => {
    StatusQuery.parse(input);
    return fleetStatus();
  },
  fleet: (input: unknown) => {
    FleetQuery.parse(input);
    return fleetView([
      fleetAgent({ harness: "claude-code@mac", harness_line: { tokens: 167_000, basis: "computed" } }),
      fleetAgent({ name: "other" }),
    ]);
  },
  harnessLines: (input: unknown) => {
    HarnessLinesQuery.parse(input);
    return { since: new Date(NOW).toISOString(), lines: [] };
  },
};
const connection = (url: string, token?: string) => ({
  url,
  token,
  tokenSource: token === undefined ? undefined : ("--key" as const),
});
const options = { json: false, now: NOW };

async function failure(promise: Promise<unknown>): Promise<CliError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CliError);
  return error as CliError;
}

describe("plimsoll status", () => {
  it("sends the key and prints the fleet", async () => {
    server = await startFakeServer({ procedures });
    const out = terminal();
    await runStatus(connection(server.url, "k1"), out, options);
    expect(out.text).toContain("192,000  4 turns, 6 min    past warning");
    expect(out.text).toContain(
      "claude-code@mac, claude-opus-5, 1M window: Harness compacts at 167k (computed).",
    );
    expect(server.seen[0]!.authorization).toBe("Bearer k1");
  });

  it("--json prints one object", async () => {
    server = await startFakeServer({ procedures });
    const out = terminal();
    await runStatus(connection(server.url), out, { ...options, json: true });
    expect(JSON.parse(out.text)).toMatchObject({
      url: server.url,
      status: { live: { agents: 2 } },
      fleet: { more: 0 },
      harness_lines: [],
    });
  });

  it("names the URL of an unreachable server", async () => {
    const gone = await startFakeServer({});
    await gone.close();
    const error = await failure(runStatus(connection(gone.url), terminal(), options));
    expect(error.message).toBe(`Cannot reach Plimsoll at ${gone.url} (connection refused, ECONNREFUSED).`);
    expect(error.exitCode).toBe(1);
  });

  it("reports a rejected key without printing it", async () => {
    server = await startFakeServer({
      procedures: { ...procedures, status: () => new Refusal(401, "UNAUTHORIZED") },
    });
    const error = await failure(runStatus(connection(server.url, "secret-key"), terminal(), options));
    expect(error.message).toBe(`Not authorized at ${server.url}.`);
    expect(error.hint).toContain("--key");
    expect(error.hint).not.toContain("secret-key");
  });

  it("prints the server's message about a key", async () => {
    const refused = {
      message: "x",
      code: -32_603,
      data: { httpStatus: 500, error: { code: "unauthenticated", message: "Its checksum is wrong." } },
    };
    server = await startFakeServer({
      routes: {
        "/api/trpc/status,fleet": (_, response) =>
          json(response, 500, [{ error: refused }, { error: refused }]),
      },
    });
    const error = await failure(runStatus(connection(server.url, "k"), terminal(), options));
    expect(error.message).toBe(`Not authorized at ${server.url}. Its checksum is wrong.`);
  });

  it("rejects answers that are not from Plimsoll", async () => {
    server = await startFakeServer({
      routes: { "/api/trpc/status,fleet": (_, response) => response.end("<html>hello</html>") },
    });
    expect((await failure(runStatus(connection(server.url), terminal(), options))).message).toContain(
      server.url,
    );
    await server.close();
    server = await startFakeServer({ procedures: { ...procedures, fleet: () => ({ agents: "none" }) } });
    expect((await failure(runStatus(connection(server.url), terminal(), options))).message).toContain(
      "that this version does not understand",
    );
  });
});

describe("plimsoll status --watch", () => {
  it("redraws on a change notice", async () => {
    let agents = 2;
    server = await startFakeServer({
      live: true,
      procedures: {
        ...procedures,
        status: () => fleetStatus({ live: { agents, sessions: 2, harnesses: 1 } }),
      },
    });
    const stop = new AbortController();
    const out = terminal();
    const watching = watchStatus(connection(server.url), out, {
      now: () => NOW,
      signal: stop.signal,
      pollMs: 60_000,
    });
    await until(() => server!.liveClients() === 1 && out.text.includes("2 live agents"));
    agents = 3;
    server.live('event: message\ndata: {"type":"changed","sessions":null}\n\n');
    await until(() => out.text.includes("3 live agents"));
    expect(out.text).toContain("live  (Ctrl+C to stop)");
    stop.abort();
    await watching;
  });

  it("polls without a live stream and continues after an outage", async () => {
    let answers = 0;
    server = await startFakeServer({
      procedures: {
        ...procedures,
        status: () => {
          answers += 1;
          return answers === 2
            ? new Refusal(503, "SERVICE_UNAVAILABLE")
            : fleetStatus({ live: { agents: answers, sessions: 2, harnesses: 1 } });
        },
      },
    });
    const stop = new AbortController();
    const out = terminal();
    const watching = watchStatus(connection(server.url), out, {
      now: () => NOW,
      signal: stop.signal,
      pollMs: 20,
    });
    await until(() => out.text.includes("4 live agents"));
    expect(out.text).toContain("SERVICE_UNAVAILABLE");
    stop.abort();
    await watching;
  });
});
