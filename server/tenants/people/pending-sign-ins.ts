import { timingSafeEqual } from "node:crypto";
import pLimit from "p-limit";
import type { PrismaClient } from "../../db/index.ts";
import { PlimsollError } from "../../errors.ts";
import { hashSecret } from "../../key-format.ts";
import type { SecretBox } from "../../secret-box.ts";
import { HOUR_MS } from "../../times.ts";

/** How long a person may take at the identity provider or with a passkey, in ms. */
export const SIGN_IN_MS = 10 * 60_000;

export interface SignInSafety {
  /** Encrypts sign-ins. */
  box: Pick<SecretBox, "seal" | "open">;
  /**
   * Notes that a sign-in is ended now.
   * @returns false if it was ended before, on any server
   */
  endOnce: (state: string) => Promise<boolean>;
}

/** @param prisma of the database that all servers share */
export function signInSafety(
  prisma: Pick<PrismaClient, "endedSignIn">,
  box: SignInSafety["box"],
  now: () => number = Date.now,
): SignInSafety {
  /** Strangers end sign-ins too: a flood gets no more connections of the database than this. */
  const atOnce = pLimit(4);
  async function endOnce(state: string): Promise<boolean> {
    const at = now();
    await prisma.endedSignIn.deleteMany({ where: { forgetAt: { lte: new Date(at) } } });
    // Much longer than a sign-in can be ended: the clocks of the servers may differ.
    const row = { hash: hashSecret(state), forgetAt: new Date(at + HOUR_MS) };
    const { count } = await prisma.endedSignIn.createMany({ data: row, skipDuplicates: true });
    return count > 0;
  }
  return { box, endOnce: (state) => atOnce(() => endOnce(state)) };
}

/**
 * Sign-ins that wait for the person to come back. The browser carries them, encrypted: every server of a database can end them, and
 * those that strangers begin take no memory.
 * @typeParam Pending what the second half of a sign-in needs to know of the first
 * @param kind one cannot be ended as another kind
 */
export function createPendingSignIns<Pending extends object>(
  kind: string,
  { box, endOnce }: SignInSafety,
  now: () => number,
) {
  type Sealed = Pending & { beganAt: number; bindingHash: string };
  return {
    /**
     * @param binding a secret that only the browser of this sign-in has
     * @returns what the browser brings back, in base64url
     */
    seal(binding: string, pending: Pending): string {
      const bindingHash = Buffer.from(hashSecret(binding)).toString("base64url");
      const sealed: Sealed = { ...pending, beganAt: now(), bindingHash };
      return Buffer.from(box.seal(JSON.stringify(sealed), kind)).toString("base64url");
    },

    /**
     * The sign-in of a state. It works once, on all servers.
     * @throws PlimsollError `unauthenticated`
     */
    async take(state: string | null, binding: string | undefined): Promise<Pending> {
      const sealed = Buffer.from(state ?? "", "base64url");
      const text = box.open(sealed, kind);
      if (text === undefined) {
        throw new PlimsollError(
          "unauthenticated",
          "This server did not begin this sign-in, or had another PLIMSOLL_SECRET then. Sign in again.",
        );
      }
      const pending = JSON.parse(text) as Sealed;
      // The clock of another server may be behind or ahead.
      if (Math.abs(now() - pending.beganAt) >= SIGN_IN_MS)
        throw new PlimsollError(
          "unauthenticated",
          "This sign-in took longer than 10 minutes. Sign in again.",
        );
      const own = Buffer.from(pending.bindingHash, "base64url");
      if (binding === undefined || !timingSafeEqual(hashSecret(binding), own)) {
        throw new PlimsollError(
          "unauthenticated",
          "This sign-in began in another browser, or this browser keeps no cookies. Allow cookies and sign in again.",
        );
      }
      // The bytes: one text in base64url can be written in several ways.
      if (await endOnce(sealed.toString("base64url"))) return pending;
      throw new PlimsollError("unauthenticated", "This sign-in was already used. Sign in again.");
    },
  };
}

/** A path of this server to return to; `/` for whatever could lead elsewhere. The address of a provider holds it, encrypted. */
export const ownPath = (path: string) =>
  path.length <= 1_000 && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) ? path : "/";
