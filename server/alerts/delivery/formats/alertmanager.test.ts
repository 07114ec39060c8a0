import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { AlertNotification } from "@plimsoll/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseNetworks } from "../../../networks.ts";
import { until } from "../../../testing/until.ts";
import { sendRequest } from "../send-request.ts";
import { formatAlertmanager } from "./alertmanager.ts";
import { testNotification } from "./test-notification.ts";

const program = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((folder) => ["prometheus-alertmanager", "alertmanager"].map((name) => join(folder, name)))
  .find((path) => existsSync(path));

let folder: string;
let child: ChildProcess | undefined;
let url: string;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

// Debian's package prometheus-alertmanager.
describe.skipIf(program === undefined)("a real Alertmanager", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "plimsoll-alertmanager-"));
    writeFileSync(join(folder, "config.yml"), "route:\n  receiver: none\nreceivers:\n  - name: none\n");
    url = `http://127.0.0.1:${await freePort()}`;
    child = spawn(
      program!,
      [
        `--config.file=${join(folder, "config.yml")}`,
        `--storage.path=${join(folder, "data")}`,
        `--web.listen-address=${new URL(url).host}`,
        "--cluster.listen-address=",
      ],
      { stdio: "ignore" },
    );
    await until(async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok === true);
  });
  afterAll(async () => {
    if (child !== undefined && child.exitCode === null) {
      child.kill();
      await once(child, "exit");
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it("takes an alert, shows it as firing, and ends it", async () => {
    const now = Date.now();
    const base = testNotification({ id: 1, name: "default" }, { id: "n1", now });
    const firing: AlertNotification = { ...base, kind: "firing" };
    const [alert] = base.alerts;
    const send = (notification: AlertNotification) => {
      const context = { baseUrl: "https://plimsoll.example", signing: [], now };
      const request = formatAlertmanager({ kind: "alertmanager", url }, notification, context);
      return sendRequest(request, { open: parseNetworks("loopback")! });
    };
    const active = async () =>
      (await (await fetch(`${url}/api/v2/alerts`)).json()) as {
        labels: object;
        status: { state: string };
        generatorURL: string;
      }[];
    expect(await send(firing)).toMatchObject({ outcome: "delivered", status: 200 });
    await until(async () => (await active()).length === 1);
    expect(await active()).toMatchObject([
      {
        labels: { alertname: "Test of this endpoint", harness: "phantom@example", severity: "info" },
        status: { state: expect.stringMatching(/active|unprocessed/) },
        generatorURL: "https://plimsoll.example/alerts",
      },
    ]);
    const ended = { ...alert!, resolved_at: new Date(now).toISOString(), end_reason: "below" as const };
    expect(await send({ ...firing, kind: "resolved", alerts: [ended] })).toMatchObject({
      outcome: "delivered",
    });
    await until(async () => (await active()).length === 0);
  });
});
