import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, whenListening } from "./nginx.ts";
import { until } from "./until.ts";

const find = (name: string) => [`/usr/bin/${name}`, `/usr/local/bin/${name}`].find(existsSync);

/** Tests that need these are skipped without them. Debian has both in the package prometheus. */
export const PROMTOOL = find("promtool");
export const PROMETHEUS = find("prometheus");

export interface FiringAlert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: "pending" | "firing";
  value: string;
}

export interface RunningPrometheus {
  /** The alerts of its rules. */
  alerts(): Promise<FiringAlert[]>;
  /** The values of an expression at this moment. */
  values(expression: string): Promise<number[]>;
  /** What it says of rules that it could not evaluate. */
  ruleErrors(): Promise<string[]>;
  stop(): Promise<void>;
}

/** Runs a Prometheus that scrapes `/metrics` every two seconds, as the job `plimsoll`. */
export async function startPrometheus(
  targets: readonly { port: number; key: string }[],
  rules: string,
): Promise<RunningPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-prometheus-"));
  const config = {
    // On a busy machine, an answer takes longer than a second.
    global: { scrape_interval: "2s", scrape_timeout: "2s", evaluation_interval: "1s" },
    rule_files: [rules],
    scrape_configs: targets.map(({ port, key }, index) => ({
      job_name: index === 0 ? "plimsoll" : `plimsoll-${index}`,
      authorization: { credentials: key },
      relabel_configs: [{ target_label: "job", replacement: "plimsoll" }],
      static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    })),
  };
  const file = join(folder, "prometheus.yml");
  // YAML contains JSON.
  await writeFile(file, JSON.stringify(config));
  const port = await freePort();
  const child = spawn(
    PROMETHEUS ?? "prometheus",
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=warn",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const { stop } = await whenListening(child, [port], () => rm(folder, { recursive: true, force: true }));
  // It listens before it has read its data.
  await until(async () => (await fetch(`http://127.0.0.1:${port}/-/ready`)).ok);
  const ask = async <Data>(path: string): Promise<Data> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return ((await answer.json()) as { data: Data }).data;
  };
  return {
    alerts: async () => (await ask<{ alerts: FiringAlert[] }>("alerts")).alerts,
    async values(expression) {
      type Found = { result: { value: [number, string] }[] };
      const { result } = await ask<Found>(`query?query=${encodeURIComponent(expression)}`);
      return result.map(({ value }) => Number(value[1]));
    },
    async ruleErrors() {
      const { groups } = await ask<{ groups: { rules: { lastError?: string }[] }[] }>("rules");
      return groups.flatMap(({ rules: all }) => all.flatMap(({ lastError }) => lastError || []));
    },
    stop,
  };
}
