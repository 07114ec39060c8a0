import { timingSafeEqual } from "node:crypto";
import { PlimsollError } from "../../errors.ts";
import { hashSecret } from "../../key-format.ts";

/** How long a person may take at the identity provider or with a passkey, in ms. */
export const SIGN_IN_MS = 10 * 60_000;
/** At a time; then the oldest is dropped. */
const MOST = 10_000;

/**
 * Sign-ins that wait for the person to come back. In the memory of this process.
 * @typeParam Pending what the second half of a sign-in needs to know of the first
 */
export function createPendingSignIns<Pending extends object>(now: () => number, most = MOST) {
  const waiting = new Map<string, Pending & { endsAt: number; bindingHash: Uint8Array }>();
  return {
    /** @param binding a secret that only the browser of this sign-in has */
    add(state: string, binding: string, pending: Pending): void {
      for (const [oldest, { endsAt }] of waiting) {
        if (endsAt > now() && waiting.size < most) break;
        waiting.delete(oldest);
      }
      waiting.set(state, { ...pending, endsAt: now() + SIGN_IN_MS, bindingHash: hashSecret(binding) });
    },

    /**
     * The sign-in with a state. It works once, whoever brings it.
     * @throws PlimsollError `unauthenticated`
     */
    take(state: string | null, binding: string | undefined): Pending {
      const found = state === null ? undefined : waiting.get(state);
      if (state !== null) waiting.delete(state);
      if (found === undefined || found.endsAt <= now()) {
        throw new PlimsollError(
          "unauthenticated",
          "This sign-in was already used, took longer than 10 minutes, or began before the server restarted. Sign in again.",
        );
      }
      if (binding === undefined || !timingSafeEqual(hashSecret(binding), found.bindingHash)) {
        throw new PlimsollError(
          "unauthenticated",
          "This sign-in began in another browser, or this browser keeps no cookies. Allow cookies and sign in again.",
        );
      }
      return found;
    },
  };
}

/** A path of this server to return to; `/` for whatever could lead elsewhere. */
export const ownPath = (path: string) =>
  path.length <= 2_000 && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) ? path : "/";
