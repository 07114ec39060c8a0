import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseNetworks } from "../../networks.ts";
import { clientAddress, wentThroughProxy } from "./client-address.ts";

const none = parseNetworks("192.0.2.1")!;
const proxies = parseNetworks("loopback, 10.0.0.0/8, 2001:db8::/32")!;

describe("the address of a client", () => {
  it.each<[string, string | undefined, string | undefined, string]>([
    ["of a direct connection", "203.0.113.9", undefined, "203.0.113.9"],
    ["of IPv4 in IPv6", "::ffff:203.0.113.9", undefined, "203.0.113.9"],
    ["behind a proxy", "127.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["behind two proxies", "127.0.0.1", "203.0.113.9, 10.1.2.3", "203.0.113.9"],
    ["that wrote addresses itself", "127.0.0.1", "127.0.0.1, 198.51.100.7, 203.0.113.9", "203.0.113.9"],
    ["that wrote rubbish itself", "::1", "x, , 203.0.113.9", "203.0.113.9"],
    ["with a port", "127.0.0.1", "203.0.113.9:5000", "203.0.113.9"],
    ["with a port of IPv6", "127.0.0.1", "[2001:4860::1]:5000", "2001:4860::1"],
    ["where the proxy wrote rubbish", "127.0.0.1", "203.0.113.9, unknown", "127.0.0.1"],
    ["where all are proxies", "127.0.0.1", "10.0.0.1, 10.0.0.2", "10.0.0.1"],
    ["that is no proxy and names others", "203.0.113.9", "127.0.0.1", "203.0.113.9"],
    ["of a socket that is gone", undefined, "203.0.113.9", ""],
  ])("%s", (_, peer, header, expected) => {
    expect(clientAddress(peer, header, proxies)).toBe(expected);
  });

  it("is the peer's without trusted proxies, whatever a header says", () => {
    fc.assert(fc.property(fc.string(), (header) => clientAddress("127.0.0.1", header, none) === "127.0.0.1"));
  });

  it("is never one that only the client wrote", () => {
    const hop = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string());
    fc.assert(
      fc.property(fc.array(hop), (written) => {
        const header = [...written.map((text) => text.replaceAll(",", "")), "203.0.113.9"].join(", ");
        return clientAddress("127.0.0.1", header, proxies) === "203.0.113.9";
      }),
    );
  });
});

it.each([
  "",
  "10.0.0.0/33",
  "10.0.0.0/x",
  "10.0.0.0/8/8",
  "proxy.example",
  "10.0.0.1,",
  "::1/129",
  "10.0.0.0/",
])("the proxies %j are refused", (list) => {
  expect(parseNetworks(list)).toBeUndefined();
});

it.each([
  ...[
    "Via",
    "Forwarded",
    "Forwarded-For",
    "X-Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Prefix",
    "X-Forward-For",
  ],
  ...["X-Forwarded-Client-Cert", "X-Real-IP", "X-Client-IP", "X-Cluster-Client-IP", "True-Client-IP"],
  ...["X-Original-Host", "X-Original-URL", "X-Originating-IP", "X-Remote-Addr", "X-ProxyUser-Ip"],
  ...["X-Envoy-External-Address", "X-Envoy-Internal", "Fly-Client-IP", "X-Amzn-Trace-Id", "X-Amz-Cf-Id"],
  ...["CF-Connecting-IP", "CF-Ray", "CDN-Loop", "Fastly-Client-IP", "X-Azure-ClientIP", "X-ARR-SSL"],
  ...[
    "X-Appengine-User-IP",
    "X-Cloud-Trace-Context",
    "Tailscale-User-Login",
    "X-Vercel-IP-Country",
    "X-Varnish",
  ],
])("a request with %s went through a proxy", (name) => {
  expect(wentThroughProxy({ host: "localhost", [name.toLowerCase()]: "" })).toBe(true);
});

it("a request with the headers of a program on this machine did not go through a proxy", () => {
  const names = ["host", "accept", "authorization", "connection", "content-length", "content-type", "cookie"];
  const others = [
    "expect",
    "origin",
    "plimsoll-project",
    "prefer",
    "sec-fetch-site",
    "traceparent",
    "user-agent",
  ];
  const headers = [...names, ...others, "x-api-key", "x-request-id", "x-trpc-source", "x-requested-with"];
  expect(wentThroughProxy(Object.fromEntries(headers.map((name) => [name, ""])))).toBe(false);
});
