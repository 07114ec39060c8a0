import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { columns } from "../terminal.ts";
import { type FakeServer, startFakeServer } from "../testing/fake-server.ts";
import { fleetAgent, fleetStatus, fleetView } from "../testing/fleet.ts";
import { type RealTerminal, startInTerminal } from "../testing/real-terminal.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/plimsoll.js", import.meta.url));

let home: string;
let server: FakeServer;
let terminal: RealTerminal;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "plimsoll-watch-"));
  const agents = Array.from({ length: 44 }, (_, at) =>
    fleetAgent({
      id: `0199aaaa-0000-7000-8000-${String(at).padStart(12, "0")}`,
      title: `agent ${at} 正在重构计费网络钩子`,
      place: null,
      load: 1 - at / 100,
    }),
  );
  const long = fleetStatus({
    highest_load: {
      load: 1,
      session_id: agents[0]!.session_id,
      title: "a long title ".repeat(20),
      agent: "main",
    },
  });
  server = await startFakeServer({
    live: true,
    procedures: { status: () => long, fleet: () => fleetView(agents) },
  });
  const command = `${process.execPath} ${PROGRAM} status --watch --url ${server.url} --key k`;
  terminal = startInTerminal(
    command,
    { home, cwd: home, env: { PLIMSOLL_HOME: home }, limit: 100_000 },
    { rows: 24, columns: 80 },
  );
  await expect.poll(() => terminal.frame().at(-1)).toMatch(/^\d\d:\d\d:\d\d UTC .* live/);
});
afterEach(async () => {
  terminal.press("q");
  await terminal.ended;
  await server.close();
  await rm(home, { recursive: true, force: true });
});

const shownAgents = () => terminal.frame().flatMap((line) => /^agent (\d+) /.exec(line)?.slice(1) ?? []);

it("fits the terminal, keeps the head and scrolls", async () => {
  const fits = () => {
    expect(terminal.frame()).toHaveLength(24);
    for (const line of terminal.frame()) expect(columns(line)).toBeLessThanOrEqual(80);
    expect(terminal.frame().filter((line) => /^agent +level +load +context/.test(line))).toHaveLength(1);
  };
  fits();
  expect(terminal.frame()[0]).toMatch(/^2 live agents .*…$/);
  const count = shownAgents().length;
  expect(shownAgents()).toEqual(Array.from({ length: count }, (_, at) => String(at)));
  expect(terminal.frame().at(-1)).toContain(`1-${count} of 44, j/k to scroll, q to stop`);

  terminal.press("jj\u001b[B");
  await expect.poll(() => shownAgents()[0]).toBe("3");
  fits();
  terminal.press("k");
  await expect.poll(() => shownAgents()[0]).toBe("2");
  terminal.press("G");
  await expect.poll(() => shownAgents().at(-1)).toBe("43");
  fits();
  server.live('event: message\ndata: {"type":"changed","sessions":null}\n\n');
  terminal.press("k");
  await expect.poll(() => shownAgents().at(-1)).toBe("42");
  terminal.press("g");
  await expect.poll(() => shownAgents()[0]).toBe("0");
});

it("follows a change of the size", async () => {
  terminal.press("G");
  await expect.poll(() => shownAgents().at(-1)).toBe("43");
  await terminal.resize({ rows: 60, columns: 100 });
  await expect.poll(() => terminal.frame().length).toBe(60);
  expect(shownAgents()).toHaveLength(44);
  await terminal.resize({ rows: 3, columns: 40 });
  await expect.poll(() => terminal.frame().length).toBe(3);
  expect(terminal.frame()[0]).toMatch(/^agent +/);
  expect(shownAgents()).toEqual(["0"]);
});

it.each([
  ["q", "q"],
  ["Ctrl+C", "\u0003"],
])("%s stops it and gives the screen back", async (_, keys) => {
  terminal.press(keys);
  await terminal.ended;
  expect(terminal.output().endsWith("\u001b[?7h\u001b[?25h\u001b[?1049l")).toBe(true);
});

it("Ctrl+Z gives the screen back until the program continues", async () => {
  terminal.press("\u001a");
  await expect.poll(() => terminal.output().endsWith("\u001b[?1049l")).toBe(true);
  terminal.signal("SIGCONT");
  await expect.poll(() => terminal.output().split("\u001b[?1049h").length).toBe(3);
  await expect.poll(() => terminal.frame()).toHaveLength(24);
  terminal.press("j");
  await expect.poll(() => shownAgents()[0]).toBe("1");
});
