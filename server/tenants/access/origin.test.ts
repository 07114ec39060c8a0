import { describe, expect, it } from "vitest";
import { isLoopbackAddress } from "../../networks.ts";
import { checkHost, checkOrigin, checkReader, isHttps } from "./origin.ts";

const rules = { port: 4180, names: ["plimsoll.example.com", "box.lan:8080"] };

describe("checkHost", () => {
  it.each([
    "127.0.0.1:4180",
    "localhost:4180",
    "LOCALHOST:4180",
    "[::1]:4180",
    "plimsoll.example.com",
    "plimsoll.example.com:8443",
    "box.lan:8080",
  ])("lets %s in", (host) => expect(checkHost(host, rules)).toBe(true));

  it.each([
    undefined,
    "",
    "evil.example.com:4180",
    "localhost",
    "localhost:4181",
    "127.0.0.1",
    "[::1]",
    "127.0.0.1:4180.evil.example.com",
    "localhost.evil.example.com:4180",
    "evil.plimsoll.example.com",
    "box.lan",
    "box.lan:8081",
    "0.0.0.0:4180",
  ])("keeps %s out", (host) => expect(checkHost(host, rules)).toBe(false));

  it("knows that a browser leaves port 80 out", () => {
    expect(checkHost("localhost", { port: 80, names: [] })).toBe(true);
    expect(checkHost("[::1]", { port: 80, names: [] })).toBe(true);
  });
});

describe("checkOrigin", () => {
  const host = "localhost:4180";
  it("believes Sec-Fetch-Site, which no page can set", () => {
    const at = (secFetchSite: string) => checkOrigin({ host, origin: `http://${host}`, secFetchSite });
    expect(at("same-origin")).toBe(true);
    expect(at("same-site")).toBe(false);
    expect(at("cross-site")).toBe(false);
    expect(at("none")).toBe(false);
  });

  it("else compares the Origin with the Host, port included", () => {
    const at = (origin: string | undefined) => checkOrigin({ host, origin, secFetchSite: undefined });
    expect(at("http://localhost:4180")).toBe(true);
    expect(at("https://localhost:4180")).toBe(true);
    expect(at("http://localhost:3000")).toBe(false);
    expect(at("http://evil.example.com")).toBe(false);
    expect(at("null")).toBe(false);
    expect(at(undefined)).toBe(false);
  });
});

it("lets a page of our own and a person read, and no page of another origin", () => {
  const host = "localhost:4180";
  const at = (secFetchSite: string | undefined, origin?: string) =>
    checkReader({ host, origin, secFetchSite });
  for (const site of ["same-origin", "none", undefined]) expect(at(site)).toBe(true);
  for (const site of ["same-site", "cross-site", "", "same-origin, cross-site"]) expect(at(site)).toBe(false);
  expect(at(undefined, `http://${host}`)).toBe(true);
  expect(at(undefined, "null")).toBe(false);
  expect(at(undefined, "http://localhost:3000")).toBe(false);
});

it("knows this machine by its address", () => {
  expect(["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"].map(isLoopbackAddress)).toEqual(
    Array(4).fill(true),
  );
  expect([undefined, "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "127.evil"].map(isLoopbackAddress)).toEqual(
    Array(5).fill(false),
  );
});

describe("isHttps", () => {
  const at = (headers: Record<string, string>, publicUrl?: string, encrypted = false) =>
    isHttps({ headers, socket: { encrypted } }, publicUrl);
  it("follows from TLS of this server, from a proxy, or from the public address", () => {
    expect(at({}, undefined, true)).toBe(true);
    expect(at({ "x-forwarded-proto": "https" })).toBe(true);
    expect(at({ host: "Plimsoll.example" }, "https://plimsoll.example")).toBe(true);
    expect(at({ host: "plimsoll.example:8443" }, "https://plimsoll.example:8443")).toBe(true);
    expect(at({ host: "plimsoll.example" }, "http://plimsoll.example")).toBe(false);
    expect(at({ host: "127.0.0.1:4180" }, "https://plimsoll.example")).toBe(false);
    expect(at({ host: "plimsoll.example" })).toBe(false);
  });
});

it("the host of the public address is one of this server's, with its port alone", () => {
  const known = (host: string, publicUrl: string) => checkHost(host, { port: 4180, names: [], publicUrl });
  expect(known("plimsoll.example", "https://plimsoll.example")).toBe(true);
  expect(known("PLIMSOLL.example", "https://plimsoll.example")).toBe(true);
  expect(known("plimsoll.example:8443", "https://plimsoll.example:8443")).toBe(true);
  expect(known("plimsoll.example:8444", "https://plimsoll.example:8443")).toBe(false);
  expect(known("evil.plimsoll.example", "https://plimsoll.example")).toBe(false);
});

it("over TLS, a page came over TLS too", () => {
  const at = (origin: string) =>
    checkOrigin({ host: "plimsoll.example", origin, secFetchSite: undefined, encrypted: true });
  expect(at("https://plimsoll.example")).toBe(true);
  expect(at("http://plimsoll.example")).toBe(false);
});
