import type { request as httpRequest } from "node:http";
import type { Agent } from "node:https";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { CliError } from "../errors.ts";
import type { Env } from "../home-folder.ts";

const CONNECT_MS = 30_000;

/** A proxy that cannot be reached, or refuses to open a tunnel. */
export class ProxyError extends Error {
  /** Its origin, without a user and password. */
  readonly proxy: string;
  /** Of its answer; undefined if there is none. */
  readonly status: number | undefined;

  constructor(proxy: URL, outcome: { status?: number; cause?: unknown }) {
    super(`the proxy ${proxy.origin} opened no tunnel`, { cause: outcome.cause });
    this.name = "ProxyError";
    this.proxy = proxy.origin;
    this.status = outcome.status;
  }
}

/**
 * How a request leaves this machine: Node's function for its protocol, and for HTTPS an agent if a proxy is set.
 * @throws CliError if HTTPS_PROXY is no proxy
 */
export function wayTo(target: URL, env: Env = process.env): { request: typeof httpRequest; agent?: Agent } {
  // Loaded only for a request, as in send-request.ts.
  if (target.protocol !== "https:") return { request: process.getBuiltinModule("node:http").request };
  const { request } = process.getBuiltinModule("node:https");
  const proxy = proxyFor(target, env);
  return proxy === undefined ? { request } : { request, agent: tunnelAgent(proxy) };
}

/**
 * The proxy for an HTTPS address, as in curl: HTTPS_PROXY, except for what NO_PROXY names. Never for this machine.
 * @throws CliError if HTTPS_PROXY is no proxy
 */
export function proxyFor(target: URL, env: Env): URL | undefined {
  const given = env.https_proxy || env.HTTPS_PROXY;
  if (!given || isExempt(target, env.no_proxy || env.NO_PROXY || "")) return undefined;
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(given) ? given : `http://${given}`;
  if (URL.canParse(text) && /^https?:/i.test(text)) return new URL(text);
  // Not repeated: it may hold a password.
  throw new CliError("HTTPS_PROXY is not the address of an HTTP proxy.", {
    hint: "Set it to an address such as http://proxy.example:3128, or unset it.",
  });
}

/** @param exempt NO_PROXY: `*`, names with everything below them, addresses and networks; a name may have a port */
function isExempt(target: URL, exempt: string): boolean {
  const { BlockList, isIP } = process.getBuiltinModule("node:net");
  const host = target.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const version = isIP(host);
  const own = new BlockList();
  own.addSubnet("127.0.0.0", 8);
  own.addAddress("::1", "ipv6");
  const addresses = {
    list: own,
    isIn: () => version > 0 && own.check(host, version === 6 ? "ipv6" : "ipv4"),
  };
  if (host === "localhost" || addresses.isIn()) return true;
  return exempt
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      const [address = "", bits] = entry.split("/");
      const family = isIP(address) === 6 ? "ipv6" : "ipv4";
      if (isIP(address) > 0) {
        const most = family === "ipv6" ? 128 : 32;
        const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
        if (!(length <= most)) return false;
        addresses.list.addSubnet(address, length, family);
        return addresses.isIn();
      }
      const [, name = "", port] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (port !== undefined && port !== (target.port || "443")) return false;
      const bare = name.replace(/^\*?\.|^\[|\]$/g, "");
      return name === "*" || (bare !== "" && (host === bare || host.endsWith(`.${bare}`)));
    });
}

/** By the proxy's address: an agent keeps connections. */
const agents = new Map<string, Agent>();

function tunnelAgent(proxy: URL): Agent {
  const { Agent } = process.getBuiltinModule("node:https");
  const agent = agents.get(proxy.href) ?? new Agent({ keepAlive: true });
  agents.set(proxy.href, agent);
  agent.createConnection = (options, callback) => {
    openTunnel(proxy, options as ConnectionOptions, (error, socket) => callback?.(error, socket as Duplex));
    return undefined;
  };
  return agent;
}

/** Opens a connection with TLS to `options.host` and `options.port` through a proxy. */
function openTunnel(
  proxy: URL,
  options: ConnectionOptions,
  done: (error: Error | null, socket?: Duplex) => void,
): void {
  const { connect } = process.getBuiltinModule("node:tls");
  const { request } = process.getBuiltinModule(proxy.protocol === "https:" ? "node:https" : "node:http");
  const { host = "", port } = options;
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const outgoing = request({
    method: "CONNECT",
    host: proxy.hostname.replace(/^\[|\]$/g, ""),
    port: proxy.port || (proxy.protocol === "https:" ? 443 : 80),
    path: authority,
    headers: {
      host: authority,
      ...(login !== ":" && { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` }),
    },
    agent: false,
    timeout: CONNECT_MS,
  });
  outgoing.once("timeout", () =>
    outgoing.destroy(Object.assign(new Error("the proxy does not answer"), { code: "ETIMEDOUT" })),
  );
  outgoing.once("error", (cause) => done(new ProxyError(proxy, { cause })));
  outgoing.once("connect", ({ statusCode: status = 0 }, socket: Duplex) => {
    if (status >= 200 && status < 300) {
      (socket as Duplex & { setTimeout(ms: number): void }).setTimeout(0);
      done(null, connect({ ...options, path: undefined, socket } as ConnectionOptions));
      return;
    }
    socket.destroy();
    done(new ProxyError(proxy, { status }));
  });
  outgoing.end();
}
