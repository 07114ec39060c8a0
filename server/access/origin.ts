/** Where this server may be reached. The port is filled in once it listens. */
export interface HostRules {
  port: number;
  /** PLIMSOLL_ALLOWED_HOSTS: `name` at any port, or `name:port`. Lower case. */
  names: readonly string[];
}

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];

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
  return rules.names.includes(name) || rules.names.includes(`${name}:${port}`);
}

export interface OriginFacts {
  host: string | undefined;
  origin: string | undefined;
  secFetchSite: string | undefined;
}

/**
 * Whether a request that would change something comes from our own pages. SameSite cookies do not tell:
 * to a browser, another server on another port of localhost is the same site.
 */
export function checkOrigin({ host, origin, secFetchSite }: OriginFacts): boolean {
  if (secFetchSite !== undefined) return secFetchSite === "same-origin";
  if (!origin || !host) return false;
  const own = host.toLowerCase();
  return origin === `http://${own}` || origin === `https://${own}`;
}

/** Whether the other end of a connection is this machine. */
export function isLoopbackAddress(address: string | undefined): boolean {
  if (!address) return false;
  const plain = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  return plain === "::1" || /^127\.\d+\.\d+\.\d+$/.test(plain);
}
