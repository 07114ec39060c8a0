import { FleetQuery, StatusQuery } from "@plimsoll/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { CliError } from "../errors.ts";
import type { Terminal } from "../terminal.ts";
import { fleetStatus, fleetView, NOW } from "../testing/fleet.ts";
import type { StandIn } from "../testing/server.ts";
import { json, Refusal, standIn } from "../testing/server.ts";
import { runStatus } from "./command.ts";
import { watchStatus } from "./watch.ts";

let server: StandIn | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

function terminal(): Terminal & { text: string } {
  return {
    text: "",
    width: 120,
    isTty: false,
    colour: false,
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
    return fleetView();
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
  it("asks with its key and draws the fleet", async () => {
    server = await standIn({ procedures });
    const out = terminal();
    await runStatus(connection(server.url, "k1"), out, options);
    expect(out.text).toContain("192,000  past warning");
    expect(server.seen[0]!.authorization).toBe("Bearer k1");
  });

  it("--json is one object", async () => {
    server = await standIn({ procedures });
    const out = terminal();
    await runStatus(connection(server.url), out, { ...options, json: true });
    expect(JSON.parse(out.text)).toMatchObject({
      url: server.url,
      status: { live: { agents: 2 } },
      fleet: { more: 0 },
    });
  });

  it("says that the server cannot be reached, and where", async () => {
    const gone = await standIn({});
    await gone.close();
    const error = await failure(runStatus(connection(gone.url), terminal(), options));
    expect(error.message).toBe(`Cannot reach Plimsoll at ${gone.url} (ECONNREFUSED).`);
    expect(error.exitCode).toBe(1);
  });

  it("says that it is not authorised, and never the key", async () => {
    server = await standIn({ procedures: { ...procedures, status: () => new Refusal(401, "UNAUTHORIZED") } });
    const error = await failure(runStatus(connection(server.url, "secret-key"), terminal(), options));
    expect(error.message).toBe(`Not authorised at ${server.url}.`);
    expect(error.hint).toContain("--key");
    expect(error.hint).not.toContain("secret-key");
  });

  it("passes on what the server says of a key", async () => {
    const refused = {
      message: "x",
      code: -32_603,
      data: { httpStatus: 500, error: { code: "unauthenticated", message: "Its checksum is wrong." } },
    };
    server = await standIn({
      routes: {
        "/api/trpc/status,fleet": (_, response) =>
          json(response, 500, [{ error: refused }, { error: refused }]),
      },
    });
    const error = await failure(runStatus(connection(server.url, "k"), terminal(), options));
    expect(error.message).toBe(`Not authorised at ${server.url}. Its checksum is wrong.`);
  });

  it("does not take any other server's answer for Plimsoll's", async () => {
    server = await standIn({
      routes: { "/api/trpc/status,fleet": (_, response) => response.end("<html>hello</html>") },
    });
    expect((await failure(runStatus(connection(server.url), terminal(), options))).message).toContain(
      server.url,
    );
    await server.close();
    server = await standIn({ procedures: { ...procedures, fleet: () => ({ agents: "none" }) } });
    expect((await failure(runStatus(connection(server.url), terminal(), options))).message).toContain(
      "in a form this version does not know",
    );
  });
});

describe("plimsoll status --watch", () => {
  const until = async (done: () => boolean) => {
    for (let tries = 0; tries < 400 && !done(); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(done()).toBe(true);
  };

  it("redraws when the server says that something changed", async () => {
    let agents = 2;
    server = await standIn({
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

  it("polls while there is no stream, and outlives an outage", async () => {
    let answers = 0;
    server = await standIn({
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
