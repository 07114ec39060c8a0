import { describe, expect, it } from "vitest";
import { parseNetworks } from "../../networks.ts";
import { AddressNotAllowed, allowedLookup, checkLiteral, isAllowedAddress } from "./addresses.ts";

const none = parseNetworks("192.0.2.255")!;
const opened = parseNetworks("10.0.0.0/8, fd00::/8, loopback")!;

/** The host of an address as the parser of URLs writes it. */
const hostOf = (url: string) => new URL(url).hostname;

describe("an endpoint's address", () => {
  it.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://0/",
    "http://0.0.0.0/",
    "http://10.1.2.3/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[::]/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b:1::10.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[ff02::1]/",
    "http://[100::1]/",
    "http://[2001:db8::1]/",
    "http://１２７.0.0.1/",
    "http://①②⑦.0.0.1/",
  ])("is refused if it is not public: %s", (url) => {
    expect(() => checkLiteral(hostOf(url), none)).toThrow(AddressNotAllowed);
  });

  it.each(["http://8.8.8.8/", "http://[2606:4700:4700::1111]/", "http://[::ffff:8.8.8.8]/", "http://1.1/"])(
    "is taken if it is public: %s",
    (url) => {
      expect(() => checkLiteral(hostOf(url), none)).not.toThrow();
    },
  );

  it("may be private where the operator opened the network, and nowhere else", () => {
    for (const address of ["10.9.8.7", "::ffff:10.9.8.7", "fd00::5", "127.0.0.1", "::1"])
      expect(isAllowedAddress(address, opened), address).toBe(true);
    for (const address of ["192.168.0.1", "169.254.169.254", "fc00::5"])
      expect(isAllowedAddress(address, opened), address).toBe(false);
  });
});

describe("a name of an endpoint", () => {
  const looked = (addresses: string[], all: boolean) =>
    new Promise((done) => {
      const lookup = allowedLookup(none, async () =>
        addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
      lookup("hook.example", { all }, (error, found) => done(error ?? found));
    });

  it("leads to its public addresses only", async () => {
    expect(await looked(["10.0.0.1", "8.8.8.8", "::1"], true)).toEqual([{ address: "8.8.8.8", family: 4 }]);
    expect(await looked(["127.0.0.1", "2606:4700::1"], false)).toBe("2606:4700::1");
  });

  it("is refused if it has none, and says how to open a network", async () => {
    const error = await looked(["10.0.0.1", "192.168.0.1"], true);
    expect(error).toBeInstanceOf(AddressNotAllowed);
    expect((error as Error).message).toContain(
      "hook.example (10.0.0.1, 192.168.0.1) is not a public address",
    );
    expect((error as Error).message).toContain("PLIMSOLL_WEBHOOK_ALLOW");
    expect(await looked([], true)).toBeInstanceOf(AddressNotAllowed);
  });
});
