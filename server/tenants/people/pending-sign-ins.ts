import { timingSafeEqual } from "node:crypto";
import { PlimsollError } from "../../errors.ts";
import { hashSecret } from "../../key-format.ts";
import type { SecretBox } from "../../secret-box.ts";

/** How long a person may take at the identity provider or with a passkey, in ms. */
export const SIGN_IN_MS = 10 * 60_000;

/**
 * Sign-ins that wait for the person to come back. The browser carries them, encrypted: every server of a database can end them, and
 * those that strangers begin take no memory.
 * @typeParam Pending what the second half of a sign-in needs to know of the first
 * @param kind one cannot be opened as another kind
 */
export function createPendingSignIns<Pending extends object>(
  kind: string,
  box: Pick<SecretBox, "seal" | "open">,
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
     * May be called twice for one sign-in: the caller has something that works once.
     * @throws PlimsollError `unauthenticated`
     */
    open(state: string | null, binding: string | undefined): Pending & { beganAt: number } {
      const text = box.open(Buffer.from(state ?? "", "base64url"), kind);
      if (text === undefined) {
        throw new PlimsollError(
          "unauthenticated",
          "This server did not begin this sign-in, or had another PLIMSOLL_SECRET then. Sign in again.",
        );
      }
      const pending = JSON.parse(text) as Sealed;
      // The clock of another server may be behind or ahead.
      if (Math.abs(now() - pending.beganAt) >= SIGN_IN_MS) {
        throw new PlimsollError(
          "unauthenticated",
          "This sign-in took longer than 10 minutes. Sign in again.",
        );
      }
      const own = Buffer.from(pending.bindingHash, "base64url");
      if (binding === undefined || !timingSafeEqual(hashSecret(binding), own)) {
        throw new PlimsollError(
          "unauthenticated",
          "This sign-in began in another browser, or this browser keeps no cookies. Allow cookies and sign in again.",
        );
      }
      return pending;
    },
  };
}

/** A path of this server to return to; `/` for whatever could lead elsewhere. The address of a provider holds it, encrypted. */
export const ownPath = (path: string) =>
  path.length <= 1_000 && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) ? path : "/";
