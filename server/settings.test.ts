import { readFileSync } from "node:fs";
import { BlockList } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultHome } from "./env-values.ts";
import { PlimsollError } from "./errors.ts";
import { readSettings, settingNames } from "./settings.ts";

function refusal(env: Record<string, string>): PlimsollError {
  try {
    readSettings(env);
  } catch (error) {
    if (error instanceof PlimsollError) return error;
  }
  throw new Error("these settings were accepted");
}

describe("readSettings", () => {
  it("has a default for everything but DATABASE_URL", () => {
    expect(readSettings({})).toEqual({
      PORT: 4180,
      PLIMSOLL_LISTEN: "127.0.0.1",
      PLIMSOLL_HOME: defaultHome(),
      PLIMSOLL_ALLOWED_HOSTS: [],
      PLIMSOLL_TRUSTED_PROXIES: expect.any(BlockList),
      PLIMSOLL_WEBHOOK_ALLOW: expect.any(BlockList),
      PLIMSOLL_OIDC_GROUPS: [],
      PLIMSOLL_OIDC_STRICT: false,
      PLIMSOLL_OIDC_SCOPES: "openid email profile",
      LOG_LEVEL: "info",
      NODE_ENV: "production",
      PLIMSOLL_QUOTA_EVENTS_PER_SECOND: 20_000,
      PLIMSOLL_QUOTA_READS_PER_SECOND: 50,
      PLIMSOLL_BODIES_MIB: 256,
      PLIMSOLL_PAGES: "on",
      DATABASE_POOL_SIZE: 10,
      DATABASE_ALLOW_UNSAFE: false,
    });
  });

  it("treats an empty value as unset", () => {
    expect(readSettings({ PORT: "", DATABASE_URL: "" }).PORT).toBe(4180);
  });

  it.each([
    ["PORT", "http", "65535"],
    ["PORT", "70000", "65535"],
    ["LOG_LEVEL", "loud", "trace"],
    ["NODE_ENV", "prod", "production"],
    ["DATABASE_POOL_SIZE", "1", "200"],
    ["PLIMSOLL_ALLOWED_HOSTS", "a b", "commas"],
    ["PLIMSOLL_TRUSTED_PROXIES", "proxy.example", "commas"],
    ["PLIMSOLL_TRUSTED_PROXIES", "10.0.0.0/40", "10.0.0.0/8"],
    ["PLIMSOLL_WEBHOOK_ALLOW", "internal.example", "commas"],
    ["PLIMSOLL_PUBLIC_URL", "plimsoll.example.com", "https://"],
    ["PLIMSOLL_PUBLIC_URL", "https://plimsoll.example.com/plimsoll", "without a path"],
    ["PLIMSOLL_PUBLIC_URL", "https://user@plimsoll.example.com", "without a path"],
    ["PLIMSOLL_PUBLIC_URL", "https://plimsoll.example.com:6000", "browsers"],
    ["PLIMSOLL_LISTEN", "127.evil.example", "IP address"],
    ["PLIMSOLL_LISTEN", "0.0.0.0:8080", "PORT"],
    ["PLIMSOLL_LISTEN", "[::]:8080", "PORT"],
    ["PLIMSOLL_OIDC_ISSUER", "http://login.example.com", "https://"],
    ["PLIMSOLL_OIDC_ISSUER", "https://login.example.com?tenant=1", "without a query"],
    ["PLIMSOLL_OIDC_ROLE", "contains(groups, 'ops'", "JMESPath"],
    ["PLIMSOLL_OIDC_ROLE", "containz(groups, 'ops')", "no function containz"],
    ["PLIMSOLL_OIDC_GROUPS", "ops,,dev", "commas"],
    ["PLIMSOLL_OIDC_SCOPES", "email profile", "among them openid"],
    ["PLIMSOLL_OIDC_STRICT", "yes", "true or false"],
    ["PORT", "6000", "browsers"],
    ["PORT", "4190", "browsers"],
    ["PORT", "10080", "browsers"],
  ])("refuses %s=%s and says what is allowed", (name, value, allowed) => {
    const error = refusal({ [name]: value });
    expect(error.code).toBe("setting_invalid");
    expect(error.message).toContain(name);
    expect(error.message).toContain(value);
    expect(error.message).toContain(allowed);
  });

  it("names every invalid setting at once", () => {
    const { message } = refusal({ PORT: "x", LOG_LEVEL: "y" });
    expect(message).toContain("PORT");
    expect(message).toContain("LOG_LEVEL");
  });

  it.each(["0", "4180", "443", "10081"])("takes port %s", (PORT) => {
    expect(readSettings({ PORT }).PORT).toBe(Number(PORT));
  });

  it("names the setting that took the place of HOST", () => {
    const { message } = refusal({ HOST: "127.0.0.1" });
    expect(message).toBe("HOST is no longer a setting. Use PLIMSOLL_LISTEN instead.");
    // Some shells set it by themselves.
    expect(readSettings({ HOST: "laptop", PLIMSOLL_LISTEN: "[::1]" }).PLIMSOLL_LISTEN).toBe("::1");
  });

  it("keeps the origin of the public address alone", () => {
    const { PLIMSOLL_PUBLIC_URL } = readSettings({
      PLIMSOLL_PUBLIC_URL: "https://Plimsoll.Example.com:443/",
    });
    expect(PLIMSOLL_PUBLIC_URL).toBe("https://plimsoll.example.com");
  });

  it("never repeats the access token", () => {
    const { message } = refusal({ PLIMSOLL_ACCESS_TOKEN: "hunter2" });
    expect(message).toContain("PLIMSOLL_ACCESS_TOKEN must be at least 32 characters");
    expect(message).not.toContain("hunter2");
  });

  it("names what is missing of an identity provider, and never repeats the client's secret", () => {
    const { message } = refusal({ PLIMSOLL_OIDC_CLIENT_SECRET: "hunter2", PLIMSOLL_OIDC_STRICT: "true" });
    expect(message.split("\n")).toEqual([
      "PLIMSOLL_OIDC_CLIENT_SECRET also needs PLIMSOLL_OIDC_ISSUER and PLIMSOLL_OIDC_CLIENT_ID.",
      "PLIMSOLL_OIDC_STRICT=true also needs PLIMSOLL_OIDC_ROLE, which gives people their roles.",
    ]);
    expect(refusal({ PLIMSOLL_OIDC_GROUPS: "ops" }).message).toContain("PLIMSOLL_OIDC_ISSUER");
  });

  it("never repeats DATABASE_URL", () => {
    const { message } = refusal({ DATABASE_URL: "mysql://root:hunter2@db/x" });
    expect(message).toContain("DATABASE_URL must be postgresql://");
    expect(message).not.toContain("hunter2");
  });

  it("reads lists and home folders", () => {
    const settings = readSettings({ PLIMSOLL_ALLOWED_HOSTS: "A.example, b.example", PLIMSOLL_HOME: "~/x" });
    expect(settings.PLIMSOLL_ALLOWED_HOSTS).toEqual(["a.example", "b.example"]);
    expect(settings.PLIMSOLL_HOME).toBe(join(homedir(), "x"));
  });

  it("agrees with .env.example", () => {
    const text = readFileSync(new URL("../.env.example", import.meta.url), "utf8");
    const listed = Object.fromEntries(
      [...text.matchAll(/^# ([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    ) as Record<string, string>;
    expect(Object.keys(listed).sort()).toEqual([...settingNames].sort());
    const { PLIMSOLL_HOME: _, ...fromFile } = readSettings(listed);
    const { PLIMSOLL_HOME: __, ...fromNothing } = readSettings({});
    expect(fromFile).toEqual(fromNothing);
    expect(join(homedir(), ".plimsoll")).toBe(
      readSettings({ PLIMSOLL_HOME: listed.PLIMSOLL_HOME }).PLIMSOLL_HOME,
    );
    expect(defaultHome(false)).toBe(join(homedir(), ".plimsoll"));
    expect(text).toContain(defaultHome(true));
  });
});
