import { describe, expect, it } from "vitest";
import { proxyFor } from "./proxy.ts";

const through = (target: string, env: Record<string, string | undefined>) =>
  proxyFor(new URL(target), env)?.href;
const PROXY = "http://proxy.example:3128/";

describe("the proxy of an address", () => {
  it.each([
    ["HTTPS_PROXY", PROXY],
    ["https_proxy", PROXY],
    ["HTTPS_PROXY", "proxy.example:3128"],
  ])("is in %s=%s", (name, value) => {
    expect(through("https://plimsoll.example", { [name]: value })).toBe(PROXY);
  });

  it("is the one in lower case if there are two, as in curl", () => {
    const env = { HTTPS_PROXY: "http://other.example:1", https_proxy: PROXY };
    expect(through("https://plimsoll.example", env)).toBe(PROXY);
  });

  it.each([{}, { HTTPS_PROXY: "" }, { HTTP_PROXY: PROXY }])("is none with %o", (env) => {
    expect(through("https://plimsoll.example", env)).toBeUndefined();
  });

  it.each(["localhost", "127.0.0.1", "127.1.2.3", "[::1]"])("is none for %s, whatever is set", (host) => {
    expect(through(`https://${host}:4180`, { HTTPS_PROXY: PROXY })).toBeUndefined();
  });

  it.each([
    ["plimsoll.example", "plimsoll.example"],
    ["plimsoll.example", "other.example,plimsoll.example"],
    ["plimsoll.example", "other.example plimsoll.example"],
    ["plimsoll.example", "PLIMSOLL.example"],
    ["plimsoll.example.", "plimsoll.example"],
    ["a.plimsoll.example", "plimsoll.example"],
    ["a.plimsoll.example", ".plimsoll.example"],
    ["a.plimsoll.example", "*.plimsoll.example"],
    ["plimsoll.example", "plimsoll.example:443"],
    ["plimsoll.example:8443", "plimsoll.example:8443"],
    ["plimsoll.example", "*"],
    ["10.1.2.3", "10.0.0.0/8"],
    ["10.1.2.3", "10.1.2.3"],
    ["[fd00::2]", "fd00::/8"],
    ["[fd00::2]", "fd00::2"],
  ])("is none for %s with NO_PROXY=%s", (host, NO_PROXY) => {
    expect(through(`https://${host}`, { HTTPS_PROXY: PROXY, NO_PROXY })).toBeUndefined();
  });

  it.each([
    ["plimsoll.example", ""],
    ["plimsoll.example", ","],
    ["plimsoll.example", "."],
    ["notplimsoll.example", "plimsoll.example"],
    ["plimsoll.example", "plimsoll.example:8443"],
    ["plimsoll.example", "a.plimsoll.example"],
    ["11.1.2.3", "10.0.0.0/8"],
    ["10.1.2.3", "10.0.0.0/99"],
    ["10.1.2.3", "10.0.0.0/"],
    ["plimsoll.example", "10.0.0.0/8"],
  ])("stays for %s with NO_PROXY=%s", (host, NO_PROXY) => {
    expect(through(`https://${host}`, { HTTPS_PROXY: PROXY, NO_PROXY })).toBe(PROXY);
  });

  it.each(["socks5://proxy.example:1080", "http://user:secret@", "http://[x"])(
    "is refused if it is %s, without repeating it",
    (HTTPS_PROXY) => {
      expect(() => through("https://plimsoll.example", { HTTPS_PROXY })).toThrow(
        /not the address of an HTTP/,
      );
      expect(() => through("https://plimsoll.example", { HTTPS_PROXY })).not.toThrow(/secret/);
    },
  );
});
