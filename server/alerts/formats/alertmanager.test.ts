import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AlertNotification } from "@plimsoll/protocol/alerts";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseNetworks } from "../../networks.ts";
import { anyNotification } from "../../testing/any-notification.ts";
import { freePort, whenListening } from "../../testing/nginx.ts";
import { EXAMPLE_ALERT, EXAMPLE_NOTIFICATION, RESOLVED_ALERT } from "../../testing/notifications.ts";
import { until } from "../../testing/until.ts";
import { sendRequest } from "../delivery/send-request.ts";
import { formatAlertmanager } from "./alertmanager.ts";
import { testNotification } from "./test-notification.ts";

const BINARY = ["/usr/bin/prometheus-alertmanager", "/usr/local/bin/alertmanager"].find(existsSync);
const BASE = "http://127.0.0.1:4180";

interface StoredAlert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  startsAt: string;
  endsAt: string;
  generatorURL: string;
  status: { state: string };
}

// Debian's package prometheus-alertmanager.
describe.skipIf(BINARY === undefined)("Alertmanager", () => {
  let url: string;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), "plimsoll-alertmanager-"));
    const port = await freePort();
    url = `http://127.0.0.1:${port}/am`;
    await writeFile(join(folder, "config.yml"), "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n");
    const child = spawn(
      BINARY as string,
      [
        `--config.file=${folder}/config.yml`,
        `--storage.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
        "--web.route-prefix=/am",
        "--cluster.listen-address=",
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    ({ stop } = await whenListening(child, [port], () => rm(folder, { recursive: true, force: true })));
    await until(async () => (await fetch(`${url}/-/ready`)).ok);
  });
  afterAll(() => stop());

  const send = (notification: AlertNotification, now = Date.now()) =>
    sendRequest(
      formatAlertmanager({ kind: "alertmanager", url }, notification, { baseUrl: BASE, signing: [], now }),
      { open: parseNetworks("loopback")! },
    );
  const stored = async (): Promise<StoredAlert[]> =>
    (await (await fetch(`${url}/api/v2/alerts`)).json()) as StoredAlert[];
  const recent = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

  it("shows an alert that fires, with its labels, reason and link, and drops it when it ends", async () => {
    const alert = { ...EXAMPLE_ALERT, started_at: recent(3), fired_at: recent(2) };
    expect(await send({ ...EXAMPLE_NOTIFICATION, alerts: [alert] })).toMatchObject({ outcome: "delivered" });
    const [shown] = await stored();
    expect(shown).toMatchObject({
      labels: {
        alertname: "Ceiling crossed",
        severity: "critical",
        project: "default",
        harness: "phantom@vm-3",
        session: "fix the build",
        agent: "main",
        team: "core",
        alert_id: alert.id,
      },
      annotations: {
        summary: alert.why,
        level: "168k of 200k tokens (84%), ceiling 160k (105%)",
      },
      startsAt: alert.fired_at,
      generatorURL: `${BASE}/sessions/7?agent=3&turn=91`,
      status: { state: "active" },
    });

    const ended = {
      ...RESOLVED_ALERT,
      started_at: alert.started_at,
      fired_at: alert.fired_at,
      resolved_at: recent(1),
    };
    await send({ ...EXAMPLE_NOTIFICATION, kind: "resolved", alerts: [ended] });
    await until(async () => (await stored()).length === 0);
  });

  it("keeps one alert however often it is repeated", async () => {
    const alert = { ...EXAMPLE_ALERT, id: "again", fired_at: recent(2) };
    for (const kind of ["firing", "repeated", "acknowledged"] as const)
      await send({ ...EXAMPLE_NOTIFICATION, kind, alerts: [alert] });
    expect((await stored()).filter(({ labels }) => labels.alert_id === "again")).toHaveLength(1);
  });

  it("ends a test by itself within minutes", async () => {
    const now = Date.now();
    await send(testNotification({ id: 1, name: "default" }, { id: "a-test", now }), now);
    const test = (await stored()).find(({ labels }) => labels.alert_id === "a-test");
    expect(Date.parse(test?.endsAt ?? "") - now).toBe(5 * 60_000);
  });

  it("accepts any names and any order of times", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyNotification.filter(({ alerts }) => alerts.length > 0),
        async (notification) => {
          const { outcome, answer } = await send(notification);
          expect(`${outcome} ${answer}`).toMatch(/^delivered/);
        },
      ),
      { numRuns: 100 },
    );
  });
});
