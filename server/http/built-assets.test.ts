import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { builtAssets } from "./built-assets.ts";

const SCRIPT = "console.log('the load line');\n".repeat(200);

let build: string;
let server: Server;

beforeAll(async () => {
  build = await mkdtemp(join(tmpdir(), "plimsoll-build-"));
  const chunks = join(build, "static/chunks");
  await mkdir(chunks, { recursive: true });
  await writeFile(join(build, "BUILD_ID"), "secret");
  await writeFile(join(chunks, "page.js"), SCRIPT);
  await writeFile(join(chunks, "page.js.br"), brotliCompressSync(SCRIPT));
  await writeFile(join(chunks, "page.js.gz"), gzipSync(SCRIPT));
  await writeFile(join(chunks, "small.js"), "1;");
  const assets = builtAssets(build, (_, outgoing) => outgoing.writeHead(404).end("otherwise"));
  server = createServer((incoming, outgoing) => void assets(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(build, { recursive: true });
});

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** `fetch` would decompress the answer. */
function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, path, headers, method }, async (incoming) => {
      const parts: Buffer[] = [];
      for await (const part of incoming) parts.push(part as Buffer);
      resolve({ status: incoming.statusCode!, headers: incoming.headers, body: Buffer.concat(parts) });
    })
      .on("error", reject)
      .end();
  });
}

const PAGE = "/_next/static/chunks/page.js";

test.each([
  ["gzip, deflate, br, zstd", "br", brotliDecompressSync],
  ["gzip", "gzip", gunzipSync],
  ["", undefined, (body: Buffer) => body],
  ["br;q=0", undefined, (body: Buffer) => body],
] as const)("a browser that takes %j gets %s", async (accepted, encoding, decompress) => {
  const { status, headers, body } = await get(PAGE, { "accept-encoding": accepted });
  expect(status).toBe(200);
  expect(headers["content-encoding"]).toBe(encoding);
  expect(headers["content-type"]).toMatch(/^text\/javascript/);
  expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  expect(Number(headers["content-length"])).toBe(body.length);
  if (encoding !== undefined) expect(headers.vary).toMatch(/accept-encoding/i);
  expect(decompress(body).toString()).toBe(SCRIPT);
});

test("a file that is too small to compress is sent as it is", async () => {
  const { headers, body } = await get("/_next/static/chunks/small.js", { "accept-encoding": "br" });
  expect(headers["content-encoding"]).toBeUndefined();
  expect(body.toString()).toBe("1;");
});

test("HEAD says the size and sends nothing", async () => {
  const { status, headers, body } = await get(PAGE, { "accept-encoding": "br" }, "HEAD");
  expect([status, body.length]).toEqual([200, 0]);
  expect(Number(headers["content-length"])).toBe(brotliCompressSync(SCRIPT).length);
});

test.each([
  "/_next/static/chunks/absent.js",
  "/_next/static/chunks",
  "/_next/static/../BUILD_ID",
  "/_next/static/%2e%2e/BUILD_ID",
  "/_next/static/..%2fBUILD_ID",
  "/_next/static/%",
  "/other.js",
])("%s is answered otherwise", async (path) => {
  const { status, body } = await get(path);
  expect([status, body.toString()]).toEqual([404, "otherwise"]);
});

test("a file that a new build has removed is answered otherwise", async () => {
  await writeFile(join(build, "static/chunks/old.js"), SCRIPT);
  const path = "/_next/static/chunks/old.js";
  expect((await get(path)).status).toBe(200);
  await rm(join(build, "static/chunks/old.js"));
  expect((await get(path)).status).toBe(404);
});
