import { z } from "zod";

/**
 * How the command line and a server on the same machine recognise each other without sending the token that both can
 * read in the home folder. The command line sends a random challenge. The server answers with a MAC over the challenge
 * and the address and port that the connection arrived at. Another program on this machine can pass the challenge on to
 * the real server, but not answer for its own address. The command line then sends a MAC over the server's instance, which
 * is worthless anywhere else.
 */
export const LOCAL_PROOF_PATH = "/api/v1/local-proof";

/** The scheme of the Authorization header with the MAC of the command line. */
export const LOCAL_SCHEME = "Plimsoll-Local";

/** 256 random bits in hex. */
export const LocalProofQuery = z.object({
  challenge: z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hex digits"),
});

export const LocalProof = z.object({
  /** Names one run of one server process. */
  instance: z.string().min(1).max(100),
  /** HMAC-SHA256 with the local token as key, in hex. */
  proof: z.string().regex(/^[0-9a-f]{64}$/),
});
export type LocalProof = z.infer<typeof LocalProof>;

/** What a server proves: that it can read the token, and that it is reached at this address. */
export function serverProofText(about: {
  challenge: string;
  instance: string;
  /** Without brackets; IPv4 as such. */
  address: string;
  port: number;
}): string {
  const { challenge, instance, address, port } = about;
  return ["plimsoll server", challenge, instance, plainAddress(address), port].join("\n");
}

/** What the command line proves to one instance: that it can read the token. */
export const clientProofText = (instance: string): string => ["plimsoll command line", instance].join("\n");

/** An IPv4 address in IPv6 notation is the IPv4 address. */
export function plainAddress(address: string): string {
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice("::ffff:".length) : address;
}
