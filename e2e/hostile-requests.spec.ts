import { connect } from "node:net";
import { expect, test } from "./fixtures.ts";

test.use({ lines: false });

/** Sends a request as written and returns the whole answer. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    socket.on("close", () => resolve(answer));
    socket.on("error", reject);
    socket.setTimeout(10_000, () => socket.destroy(new Error(`no answer to ${text.slice(0, 200)}`)));
    socket.write(Buffer.from(text, "latin1"));
  });
}

test("hostile requests to pages are answered, and forge no line of the log", async ({
  page,
  context,
  server,
}) => {
  const before = server.output.length;
  await page.goto("/");
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  const send = async (line: string, headers: string[] = [], body = "") => {
    const answer = await raw(
      server.port,
      [
        `${line} HTTP/1.1`,
        `Host: 127.0.0.1:${server.port}`,
        `Cookie: ${cookie}`,
        `Content-Length: ${body.length}`,
        "Connection: close",
        ...headers,
        "",
        body,
      ].join("\r\n"),
    );
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
    expect(status, `${line} ${headers}\n${answer.slice(0, 500)}`).toBeGreaterThan(0);
    expect(status, `${line} ${headers}\n${answer.slice(0, 500)}`).toBeLessThan(500);
    return { status, answer };
  };
  const forged = encodeURIComponent('x\n{"level":60,"msg":"forged"}\n\u001b[2J');

  for (const url of [
    forged,
    `http://127.0.0.1:${server.port}/${forged}`,
    "/icon.svg",
    "data:,x",
    "//elsewhere.example/x",
  ]) {
    const { status } = await send(`GET /_next/image?url=${url}&w=64&q=75`);
    expect(status, url).toBe(404);
  }
  for (const path of [
    `/${forged}`,
    `/sessions/${forged}`,
    `/sessions?from=${forged}&sort=${forged}&q=${forged}`,
    "/%ff%fe",
    "/sessions/%00",
    "/%E0%A4%A",
    "/\x1b[2J\x9b31m",
    "/_next/static/%2e%2e/%2e%2e/package.json",
    "/_next/static/../../package.json",
    "/_next/data/x/index.json",
    "/_next/webpack-hmr",
    `/?_rsc=${forged}`,
    `/?toString=a&__proto__=b&constructor=c`,
    `/?project=${forged}`,
  ]) {
    await send(`GET ${path}`);
    await send(`GET ${path}`, ["RSC: 1"]);
  }
  for (const header of [
    `Next-Router-State-Tree: ${forged}`,
    "Next-Router-State-Tree: %5B%5B%5B",
    `Next-Url: ${forged}`,
    "Next-Router-Prefetch: 1",
    "X-Middleware-Subrequest: middleware:middleware:middleware",
    "X-Nextjs-Data: 1",
    `X-Forwarded-Host: elsewhere.example`,
    `X-Invoke-Path: /${forged}`,
    `X-Matched-Path: /${forged}`,
    "Accept-Encoding: \x9b31m",
    "If-None-Match: *",
    "Range: bytes=0-0,1-1,2-2",
  ]) {
    await send("GET /sessions", [header]);
    await send("GET /sessions", [header, "RSC: 1"]);
  }
  const sameOrigin = [`Origin: http://127.0.0.1:${server.port}`, "Sec-Fetch-Site: same-origin"];
  for (const headers of [
    ["Next-Action: x", "Content-Type: text/plain"],
    [`Next-Action: ${"a".repeat(42)}`, "Content-Type: multipart/form-data; boundary=x"],
    ["Content-Type: multipart/form-data; boundary=x"],
    ["Content-Type: application/json"],
  ]) {
    await send("POST /", [...sameOrigin, ...headers], '["$F1"]');
    await send("POST /login", [...sameOrigin, ...headers], "--x--");
  }
  for (const method of ["PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]) await send(`${method} /`);

  // The page goes on, and everything logged is JSON of ours, in printable characters.
  await page.goto("/setup");
  await expect(page.getByRole("heading", { name: "Setup" }).first()).toBeVisible();
  const logged = server.output.slice(before).split("\n").filter(Boolean);
  for (const line of logged) {
    expect(line).toMatch(/^[\x20-\x7e]*$/);
    expect(JSON.parse(line)).not.toMatchObject({ msg: "forged" });
  }
});

test("answers are private, and never guessed at or embedded", async ({ page, context, server }) => {
  const before = server.output.length;
  await page.goto("/");
  const asset = await page.locator("script[src]").first().getAttribute("src");
  const headersOf = async (path: string) => (await context.request.get(path, { maxRedirects: 0 })).headers();
  for (const path of [
    "/",
    "/login",
    "/sessions",
    "/setup",
    "/nothing",
    "/api/v1/fleet",
    "/api/v1/nothing",
    "/metrics",
  ]) {
    const headers = await headersOf(path);
    expect(headers["cache-control"], path).toContain("no-store");
    expect(headers["x-content-type-options"], path).toBe("nosniff");
    expect(headers["cross-origin-resource-policy"], path).toBe("same-origin");
  }
  for (const path of ["/", "/login", "/nothing"]) {
    const headers = await headersOf(path);
    expect(headers["content-security-policy"], path).toContain("frame-ancestors 'none'");
    expect(headers["cache-control"], path).not.toContain("s-maxage");
  }
  expect((await headersOf(asset!))["cache-control"]).toBe("public, max-age=31536000, immutable");
  expect(server.output.slice(before)).not.toContain("unexpectedly");
});
