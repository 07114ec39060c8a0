import type { IncomingHttpHeaders } from "node:http";
import { type BlockList, isIP } from "node:net";
import { plainAddress } from "@plimsoll/protocol/api";
import { isWithin } from "../../networks.ts";

/** The proxies whose word about a client is taken. */
export type TrustedProxies = Pick<BlockList, "check">;

/**
 * Headers that proxies, tunnels and delivery networks add. A request with one of them did not come from this machine, whatever
 * its address.
 */
const ADDED_BY_PROXIES: ReadonlySet<string> = new Set([
  "cdn-loop",
  "client-ip",
  "front-end-https",
  "proxy-client-ip",
  "remote-addr",
  "surrogate-capability",
  "true-client-ip",
  "via",
  "wl-proxy-client-ip",
  "x-cloud-trace-context",
  "x-host",
  "x-http-host-override",
  "x-proxyuser-ip",
  "x-scheme",
  "x-sucuri-clientip",
  "x-url-scheme",
  "x-varnish",
]);
const PREFIXES_OF_PROXIES = [
  "akamai-",
  "cf-",
  "cloudfront-",
  "fastly-",
  "fly-",
  "forwarded",
  "incap-",
  "ssl-client-",
  "tailscale-",
  "x-akamai-",
  "x-amz-cf-",
  "x-amzn-",
  "x-appengine-",
  "x-arr-",
  "x-azure-",
  "x-client-",
  "x-cluster-",
  "x-consumer-",
  "x-envoy-",
  "x-forward",
  "x-haproxy-",
  "x-kong-",
  "x-nf-",
  "x-ngrok-",
  "x-original-",
  "x-originating-",
  "x-real-",
  "x-remote-",
  "x-ssl-",
  "x-traefik-",
  "x-vercel-",
];

export function wentThroughProxy(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some(
    (name) => ADDED_BY_PROXIES.has(name) || PREFIXES_OF_PROXIES.some((prefix) => name.startsWith(prefix)),
  );
}

/**
 * The address that a request came from. Each proxy adds the address it heard from at the end of `X-Forwarded-For`, so the
 * list is read from its end, as long as it was written by trusted proxies. The sender may have written the rest.
 * @param peer the other end of the connection
 * @param forwardedFor the header `X-Forwarded-For`
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  proxies: TrustedProxies,
): string {
  let client = plainAddress(peer ?? "");
  const hops = (forwardedFor ?? "").split(",").map((hop) => withoutPort(hop.trim()));
  while (isWithin(client, proxies)) {
    const hop = hops.pop();
    if (hop === undefined || isIP(hop) === 0) break;
    client = plainAddress(hop);
  }
  return client;
}

/** Some proxies write `1.2.3.4:5678` or `[::1]:5678`. */
function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1];
  return bracketed ?? hop.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
}
