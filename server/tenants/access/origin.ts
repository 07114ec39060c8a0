import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** Where this server may be reached. The port is filled in once it listens. */
export interface HostRules {
  port: number;
  /** PLIMSOLL_ALLOWED_HOSTS: `name` at any port, or `name:port`. Lower case. */
  names: readonly string[];
  /** PLIMSOLL_PUBLIC_URL. Its host is one of this server's names. */
  publicUrl?: string | undefined;
}

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];
const nameOf = (host: string) => host.replace(/:\d+$/, "").toLowerCase();
export const isLoopbackName = (host: string | undefined) => LOOPBACK_NAMES.includes(nameOf(host ?? ""));

/**
 * Whether a Host header names this server. A page of another site can point its own name at 127.0.0.1
 * (DNS rebinding) and would then be let in by every other check, since its requests are of one origin.
 */
export function checkHost(host: string | undefined, rules: HostRules): boolean {
  if (!host) return false;
  const colon = host.lastIndexOf(":");
  // In `[::1]` the last colon is inside the brackets.
  const hasPort = colon > host.lastIndexOf("]");
  const name = (hasPort ? host.slice(0, colon) : host).toLowerCase();
  const port = hasPort ? host.slice(colon + 1) : "80";
  if (LOOPBACK_NAMES.includes(name) && port === String(rules.port)) return true;
  return (
    rules.names.includes(name) ||
    rules.names.includes(`${name}:${port}`) ||
    isPublicHost(host, rules.publicUrl)
  );
}

const isPublicHost = (host: string | undefined, publicUrl: string | undefined) =>
  publicUrl !== undefined && host?.toLowerCase() === new URL(publicUrl).host;

/** Whether a browser reached this server over HTTPS, as far as it can know: by its own TLS, by its proxy, or by its address. */
export function isHttps(
  { headers, socket }: { headers: IncomingHttpHeaders; socket: object },
  publicUrl: string | undefined,
): boolean {
  if (("encrypted" in socket && socket.encrypted === true) || headers["x-forwarded-proto"] === "https")
    return true;
  return publicUrl?.startsWith("https:") === true && isPublicHost(headers.host, publicUrl);
}

/** Why a request is refused for the host that it names. */
export type HostFault = "missing" | "several" | "foreign" | "other_target";

/**
 * What is wrong with the host that a request names. Node hides all Host headers but the first, so a proxy may have gone by
 * another one. An address in the request line must name the same host.
 * @param url the target in the request line
 */
export function hostFault(
  { rawHeaders, url = "/" }: Pick<IncomingMessage, "rawHeaders" | "url">,
  rules: HostRules,
): HostFault | undefined {
  const hosts = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === "host",
  );
  const [host] = hosts;
  if (!host) return "missing";
  if (hosts.length > 1) return "several";
  if (!checkHost(host, rules)) return "foreign";
  return url.startsWith("/") || url === "*" || targetOf(url)?.host === host.toLowerCase()
    ? undefined
    : "other_target";
}

/** The host and the path of an address in a request line, such as `http://localhost:4180/healthz`. */
export function targetOf(url: string): { host: string; path: string } | undefined {
  const [, host, path = ""] = /^https?:\/\/([^/?#@\\]+)([/?][^#]*)?$/i.exec(url) ?? [];
  if (host === undefined) return undefined;
  return { host: host.toLowerCase(), path: path.startsWith("/") ? path : `/${path}` };
}

export interface OriginFacts {
  host: string | undefined;
  origin: string | undefined;
  secFetchSite: string | undefined;
  /** The request came over TLS, so its page did too. */
  encrypted?: boolean;
}

/**
 * Whether a request that would change something comes from our own pages. SameSite cookies do not tell:
 * to a browser, another server on another port of localhost is the same site.
 */
export function checkOrigin({ host, origin, secFetchSite, encrypted }: OriginFacts): boolean {
  if (secFetchSite !== undefined) return secFetchSite === "same-origin";
  if (!origin || !host) return false;
  const own = host.toLowerCase();
  return origin === `https://${own}` || (encrypted !== true && origin === `http://${own}`);
}

/**
 * Whether a request that only reads comes from our own pages or from no page. A browser keeps other origins from reading an
 * answer, but not from causing the work, such as a backup.
 */
export function checkReader(facts: OriginFacts): boolean {
  const { secFetchSite, origin } = facts;
  // `none`: a person typed the address.
  if (secFetchSite !== undefined) return secFetchSite === "same-origin" || secFetchSite === "none";
  return origin === undefined || checkOrigin(facts);
}
