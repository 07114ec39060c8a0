import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const NGINX = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/opt/homebrew/bin/nginx"].find(existsSync);

/** Tests that need nginx are skipped without it. `.ci/run` installs it where it can. */
export const hasNginx = NGINX !== undefined;

export interface RunningProxy {
  stop(): Promise<void>;
}

/** nginx with buffering and compression of everything switched on. For tests. */
export async function startNginx(upstream: number, more = ""): Promise<RunningProxy & { port: number }> {
  const port = await freePort();
  const { stop } = await runNginx(
    `gzip on;
  gzip_types *;
  gzip_proxied any;
  gzip_min_length 0;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${upstream};
      proxy_http_version 1.1;
      proxy_buffering on;
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      ${more}
    }
  }`,
    port,
  );
  return { port, stop };
}

/**
 * Runs nginx without a master process.
 * @param http what stands in the `http` block
 * @param port where it listens then
 * @throws with what nginx printed if it does not listen
 */
export async function runNginx(http: string, port: number): Promise<RunningProxy> {
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-nginx-"));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join("\n  ");
  await writeFile(
    join(folder, "nginx.conf"),
    `daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr;
events {}
http {
  access_log off;
  ${temporary}
  ${http}
}
`,
  );
  const child = spawn(NGINX ?? "nginx", ["-p", folder, "-c", join(folder, "nginx.conf")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  return whenListening(child, [port], () => rm(folder, { recursive: true, force: true }));
}

/** Waits until a proxy listens. */
export async function whenListening(
  child: ReturnType<typeof spawn>,
  ports: readonly number[],
  cleanUp: () => Promise<void>,
): Promise<RunningProxy> {
  let printed = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const ended = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  const stop = async () => {
    child.kill();
    await ended;
    await cleanUp();
  };
  for (let tries = 0; tries < 200; tries++) {
    if ((await Promise.all(ports.map(answers))).every(Boolean)) return { stop };
    await sleep(50);
  }
  await stop();
  throw new Error(`The proxy does not listen on ${ports.join(" and ")}:\n${printed}`);
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
