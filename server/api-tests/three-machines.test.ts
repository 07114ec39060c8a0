import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MachineList, PersonLink, SessionPage, WaitingMachine } from "@plimsoll/protocol/api";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildCommandLine, canPlayMachines, type PlayedMachine, playMachines } from "../testing/machines.ts";
import { canListen, type NetworkServer, startNetworkServer } from "../testing/network.ts";
import { untilPasses } from "../testing/until.ts";

const isPlayed = canPlayMachines && canListen;
let network: ReturnType<typeof playMachines>;
let server: NetworkServer;
let cookie: string;
let ada: string;

beforeAll(async () => {
  if (!isPlayed) return;
  buildCommandLine();
  network = playMachines(["laptop", "desktop", "build-7"], () => ({
    NODE_EXTRA_CA_CERTS: server.certificate.certFile,
  }));
  server = await startNetworkServer({}, network.address);
  const { person, url } = await server.mutate<PersonLink>("people.invite", {
    ...{ name: "Ada", role: "member", project_id: null },
  });
  ada = person.id;
  const { headers } = await server.ask("/api/v1/login", {
    headers: { origin: server.publicUrl },
    body: JSON.stringify({ token: new URL(url).hash.slice(1) }),
  });
  cookie = headers["set-cookie"]!.map((one) => one.split(";", 1)[0]).join("; ");
});
afterAll(async () => {
  await server?.stop();
  network?.remove();
});

/** A transcript of Claude Code with one call. */
function transcript(sessionId: string, level: number, at: number): string {
  const usage = { input_tokens: level, output_tokens: 5 };
  const message = { id: `m-${level}`, model: "claude-opus-5", content: [], usage, stop_reason: "end_turn" };
  const timestamp = new Date(at).toISOString();
  return `${JSON.stringify({ type: "assistant", uuid: `u-${level}`, sessionId, timestamp, message })}\n`;
}

async function call<T>(path: string, input: unknown): Promise<T> {
  const answer = await server.ask(`/api/trpc/${path}`, {
    headers: { cookie, origin: server.publicUrl },
    body: JSON.stringify(input),
  });
  expect(answer.status, answer.text).toBe(200);
  return (answer.json as { result: { data: T } }).result.data;
}

/** Logs a machine in, as Ada does: one line there, and a code in her browser. */
async function logIn({ plimsoll }: PlayedMachine): Promise<WaitingMachine> {
  const login = plimsoll("login", server.publicUrl);
  await untilPasses(() => expect(login.said()).toMatch(/\n {2}[A-Z]{4}-[A-Z]{4}\n/));
  const [user_code] = /[A-Z]{4}-[A-Z]{4}/.exec(login.said())!;
  const waiting = await call<WaitingMachine>("machines.look", { user_code });
  await call("machines.decide", { user_code, approve: true });
  expect(await login.ended).toContain(`This machine is logged in at ${server.publicUrl}`);
  return waiting;
}

it.skipIf(!isPlayed)(
  "three machines log in with one line each, and their sessions are one person's",
  async () => {
    const waited = await Promise.all(network.machines.map(logIn));
    expect(waited.map(({ machine, address }) => [machine, address])).toEqual(
      network.machines.map(({ name, address }) => [name, address]),
    );
    const now = Date.now();
    await Promise.all(
      network.machines.map(async ({ name, home, plimsoll }) => {
        const file = join(home, `${name}.jsonl`);
        writeFileSync(file, transcript(`on-${name}`, 50_000, now - 60_000));
        await plimsoll("import", file).ended;
      }),
    );
    const range = `from=${new Date(now - 3_600_000).toISOString()}&to=${new Date(now + 3_600_000).toISOString()}`;
    const { body } = await server.get<SessionPage>(
      `/api/v1/sessions?${range}&person=${ada}&sort=machine&order=asc`,
    );
    expect(body.items.map(({ session, machine, person }) => [session, machine, person])).toEqual(
      ["build-7", "desktop", "laptop"].map((name) => [`on-${name}`, name, ada]),
    );
    const { machines } = (await server.get<MachineList>("/api/v1/machines")).body;
    expect(machines.map(({ name }) => name).sort()).toEqual(["build-7", "desktop", "laptop"]);

    // One session, begun on the laptop and resumed on the desktop, is one.
    const [laptop, desktop] = network.machines as [PlayedMachine, PlayedMachine];
    const id = "6f1c1f6e-6a3e-4b0e-9c53-2f8f0a2f4c11";
    for (const [{ home, plimsoll }, level, at] of [
      [laptop, 60_000, now - 50_000],
      [desktop, 70_000, now - 40_000],
    ] as const) {
      const file = join(home, `${id}.jsonl`);
      writeFileSync(file, transcript(id, level, at));
      await plimsoll("import", file).ended;
    }
    const resumed = await server.get<SessionPage>(`/api/v1/sessions?${range}&q=${id}`);
    expect(resumed.body.items.map(({ machine, turns }) => [machine, turns])).toEqual([["desktop", 2]]);
  },
);
