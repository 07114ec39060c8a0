import { randomBytes } from "node:crypto";

/** Of every answer: nothing may be guessed from its bytes, and no page of another origin may embed it. */
const BASE = {
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** Of every answer to a machine. A route may set its own Cache-Control. */
export const MACHINE_HEADERS: Readonly<Record<string, string>> = { ...BASE, "Cache-Control": "no-store" };

/** Of every page and asset, beside the policy for its content. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...BASE,
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
};

/** The style sheet that sonner (toasts) adds without a nonce when it is loaded. A test compares it with the package. */
export const SONNER_STYLE = "sha256-StEaX+se6YS7pqjzrzMIA0KaX9zF/8zAhvQXZAe5epY=";

/** An element without content, as which sonner's begins. */
const EMPTY_STYLE = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

/** A year in which browsers ask this host only over HTTPS. */
export const HSTS = "max-age=31536000";

/** A value that the scripts and styles of one page carry. */
export const makeNonce = (): string => randomBytes(16).toString("base64");

/**
 * The Content-Security-Policy of a page. Not `strict-dynamic`: it lets any script add inline scripts. Nothing runs that the server did not put there. Style attributes are allowed,
 * because charts position their labels with them.
 * @param development also allows what Next needs to reload pages
 */
export function contentSecurityPolicy(nonce: string, development: boolean): string {
  return [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}'${development ? " 'unsafe-eval'" : ""}`,
    development
      ? "style-src-elem 'self' 'unsafe-inline'"
      : `style-src-elem 'self' 'nonce-${nonce}' '${SONNER_STYLE}' '${EMPTY_STYLE}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}
