import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { contentSecurityPolicy, makeNonce, SONNER_STYLE } from "./headers.ts";

it("the policy allows the style sheet of the installed sonner", () => {
  const folder = dirname(createRequire(import.meta.url).resolve("sonner"));
  const source = readFileSync(join(folder, "index.mjs"), "utf8");
  const literal = /__insertCSS\(("(?:[^"\\]|\\.)*")\)/.exec(source)?.[1];
  const css = JSON.parse(literal!) as string;
  expect(css).toContain("[data-sonner-toaster]");
  expect(SONNER_STYLE).toBe(`sha256-${createHash("sha256").update(css).digest("base64")}`);
});

it("the policy lets nothing run but what carries the nonce", () => {
  const nonce = makeNonce();
  expect(makeNonce()).not.toBe(nonce);
  const policy = contentSecurityPolicy(nonce, false);
  expect(policy).toContain(`script-src 'self' 'nonce-${nonce}';`);
  expect(policy).not.toMatch(
    /unsafe-eval|script-src[^;]*unsafe-inline|style-src-elem[^;]*unsafe-inline|https?:/,
  );
  for (const directive of [
    "object-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self'",
  ]) {
    expect(policy).toContain(directive);
  }
});
