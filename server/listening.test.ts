import { describe, expect, it } from "vitest";
import { readSettings } from "./settings.ts";

const TOKEN = "t".repeat(32);
const TLS = { PLIMSOLL_TLS_CERT: "/c.pem", PLIMSOLL_TLS_KEY: "/k.pem" };
const PROXY = { PLIMSOLL_TRUSTED_PROXIES: "10.0.0.5" };
const ALL = {
  PLIMSOLL_LISTEN: "0.0.0.0",
  PLIMSOLL_ACCESS_TOKEN: TOKEN,
  PLIMSOLL_PUBLIC_URL: "https://plimsoll.example",
};

function faults(env: Record<string, string>): string[] {
  try {
    readSettings(env);
    return [];
  } catch (error) {
    return (error as Error).message.split("\n");
  }
}

describe("an address that other machines reach", () => {
  it.each([TLS, PROXY, { ...TLS, ...PROXY }])("is fine with everything that it needs: %o", (way) => {
    expect(faults({ ...ALL, ...way })).toEqual([]);
  });

  it.each([
    ["PLIMSOLL_ACCESS_TOKEN", /PLIMSOLL_ACCESS_TOKEN/],
    ["PLIMSOLL_PUBLIC_URL", /PLIMSOLL_PUBLIC_URL/],
    ["PLIMSOLL_TLS_CERT", /PLIMSOLL_TLS_KEY also needs PLIMSOLL_TLS_CERT/],
    ["PLIMSOLL_TLS_KEY", /PLIMSOLL_TLS_CERT also needs PLIMSOLL_TLS_KEY/],
  ])("is refused without %s", (name, expected) => {
    const [first] = faults({ ...ALL, ...TLS, [name]: "" });
    expect(first).toMatch(expected);
  });

  it("needs no access token if people sign in with an identity provider", () => {
    const oidc = {
      PLIMSOLL_OIDC_ISSUER: "https://login.example.com",
      PLIMSOLL_OIDC_CLIENT_ID: "plimsoll",
      PLIMSOLL_OIDC_CLIENT_SECRET: "s",
    };
    expect(faults({ ...ALL, ...TLS, ...oidc, PLIMSOLL_ACCESS_TOKEN: "" })).toEqual([]);
  });

  it("needs TLS here or a proxy that is trusted", () => {
    expect(faults(ALL)).toEqual([expect.stringContaining("PLIMSOLL_TRUSTED_PROXIES")]);
  });

  it("names everything that is missing at once", () => {
    expect(faults({ PLIMSOLL_LISTEN: "::" })).toHaveLength(3);
  });

  it.each([TLS, PROXY])("needs HTTPS in its public address: %o", (way) => {
    const found = faults({ ...ALL, ...way, PLIMSOLL_PUBLIC_URL: "http://plimsoll.example" });
    expect(found.at(-1)).toMatch(/PLIMSOLL_PUBLIC_URL, the https:\/\//);
  });
});

describe("loopback", () => {
  it.each(["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])("needs nothing: %s", (PLIMSOLL_LISTEN) => {
    expect(faults({ PLIMSOLL_LISTEN })).toEqual([]);
  });

  it("may have TLS, but not half of it or an address that contradicts it", () => {
    expect(faults(TLS)).toEqual([]);
    expect(faults({ PLIMSOLL_TLS_CERT: "/c.pem" })).toEqual([expect.stringContaining("PLIMSOLL_TLS_KEY")]);
    expect(faults({ ...TLS, PLIMSOLL_PUBLIC_URL: "http://plimsoll.example" })).toEqual([
      expect.stringContaining("must begin with https://"),
    ]);
  });
});
