import { lookup as resolve } from "node:dns";
import { type BlockList, isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { isWithin } from "../../networks.ts";

/** Thrown when a request would go to an address that endpoints must not reach. */
export class AddressNotAllowed extends Error {
  constructor(host: string, addresses: readonly string[]) {
    const found = addresses.length === 1 && addresses[0] === host ? "" : ` (${addresses.join(", ")})`;
    super(
      `${host}${found} is not a public address. To allow it, start Plimsoll with PLIMSOLL_WEBHOOK_ALLOW, a list of networks such as 10.0.0.0/8.`,
    );
  }
}

/** Global unicast. All other IPv6 addresses are local, or contain an IPv4 address that a translator would reach. */
const GLOBAL_V6 = ipaddr.parseCIDR("2000::/3") as [ipaddr.IPv6, number];

/** Networks that endpoints may reach besides the public ones. */
export type OpenNetworks = Pick<BlockList, "check">;

/** Whether an endpoint may be at an IP address: it is public, or in a network that the operator has opened. */
export function isAllowedAddress(text: string, open: OpenNetworks): boolean {
  if (!ipaddr.isValid(text)) return false;
  // An IPv4 address that is written as IPv6 becomes IPv4.
  const address = ipaddr.process(text);
  if (isWithin(address.toString(), open)) return true;
  if (address.range() !== "unicast") return false;
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_V6);
}

/** Resolves a name to all its addresses, as `dns.lookup` does. */
export type ResolveAll = (host: string) => Promise<{ address: string; family: number }[]>;

const resolveAll: ResolveAll = (host) =>
  new Promise((done, fail) => {
    resolve(host, { all: true }, (error, addresses) => {
      if (error) fail(error);
      else done(addresses);
    });
  });

/**
 * A lookup for `net.connect` that gives allowed addresses only. The connection goes to an address that it returned, so
 * nothing can change between check and use. It is not called for an address: see `checkLiteral`.
 */
export function allowedLookup(open: OpenNetworks, resolver: ResolveAll = resolveAll): LookupFunction {
  return (host, { all }, callback) => {
    resolver(host).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => isAllowedAddress(address, open));
        const [first] = allowed;
        if (first === undefined) {
          const refused = addresses.map(({ address }) => address);
          callback(new AddressNotAllowed(host, refused), []);
        } else if (all === true) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

/**
 * Checks a host that is an address and not a name.
 * @param host of a parsed URL, which has brought every notation of an address into one form
 * @throws AddressNotAllowed
 */
export function checkLiteral(host: string, open: OpenNetworks): void {
  const address = host.replace(/^\[|\]$/g, "");
  if (isIP(address) !== 0 && !isAllowedAddress(address, open))
    throw new AddressNotAllowed(address, [address]);
}
