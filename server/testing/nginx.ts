import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const NGINX = "/usr/sbin/nginx";

export const hasNginx = existsSync(NGINX);

/** nginx with buffering and compression of everything switched on. For tests. */
export async function startNginx(
  upstream: number,
  more = "",
): Promise<{ port: number; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-nginx-"));
  const port = await freePort();
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
  gzip on;
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
  }
}
`,
  );
  const child = spawn(NGINX, ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  for (let tries = 0; tries < 100 && !(await answers(port)); tries++) await sleep(50);
  return {
    port,
    async stop() {
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
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
