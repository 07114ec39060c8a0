import { BlockList, isIP } from "node:net";

/**
 * Parses a list of addresses, networks such as 10.0.0.0/8, and `loopback`, separated by commas.
 * @returns undefined if an entry is none of these
 */
export function parseNetworks(list: string): BlockList | undefined {
  const networks = new BlockList();
  for (const entry of list.split(",").map((part) => part.trim())) {
    const [address = "", bits, more] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const longest = family === "ipv6" ? 128 : 32;
    if (entry === "loopback") {
      networks.addSubnet("127.0.0.0", 8, "ipv4");
      networks.addAddress("::1", "ipv6");
    } else if (isIP(address) === 0 || more !== undefined) return undefined;
    else if (bits === undefined) networks.addAddress(address, family);
    else if (/^\d{1,3}$/.test(bits) && Number(bits) <= longest)
      networks.addSubnet(address, Number(bits), family);
    else return undefined;
  }
  return networks;
}

/** Whether an address is in one of the networks. */
export function isWithin(address: string, networks: Pick<BlockList, "check">): boolean {
  const version = isIP(address);
  return version !== 0 && networks.check(address, version === 6 ? "ipv6" : "ipv4");
}

/** Whether the other end of a connection is this machine. */
export function isLoopbackAddress(address: string | undefined): boolean {
  if (!address) return false;
  const plain = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  return plain === "::1" || /^127\.\d+\.\d+\.\d+$/.test(plain);
}
