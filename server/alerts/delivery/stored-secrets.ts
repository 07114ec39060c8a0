import { randomBytes } from "node:crypto";
import { AlertEndpointTarget } from "@plimsoll/protocol/alerts";
import { z } from "zod";
import type { SecretBox } from "../../secret-box.ts";
import { DAY_MS } from "../../times.ts";

/** Milliseconds for which the secret before the current one signs as well. */
export const OLD_SECRET_MS = DAY_MS;

/** What is encrypted of an endpoint. */
const StoredSecrets = z.object({
  target: AlertEndpointTarget,
  /** Of a webhook, newest first, at most two. */
  signing: z.array(z.string()),
});
export type StoredSecrets = z.infer<typeof StoredSecrets>;

/** In the form that Standard Webhooks libraries take. */
export const newSigningSecret = (): string => `whsec_${randomBytes(24).toString("base64")}`;

const ownerOf = (projectId: number, endpointId: string) => `${projectId}/${endpointId}`;

export function sealSecrets(
  box: SecretBox,
  projectId: number,
  endpointId: string,
  secrets: StoredSecrets,
): { sealed: Uint8Array<ArrayBuffer>; keyId: string } {
  return { sealed: box.seal(JSON.stringify(secrets), ownerOf(projectId, endpointId)), keyId: box.keyId };
}

/** @returns undefined if they were encrypted with another key */
export function openSecrets(
  box: SecretBox,
  projectId: number,
  endpointId: string,
  sealed: Uint8Array,
): StoredSecrets | undefined {
  const text = box.open(sealed, ownerOf(projectId, endpointId));
  return text === undefined ? undefined : StoredSecrets.parse(JSON.parse(text));
}

const HIDDEN = "[secret]";
const SECRET_FIELDS: readonly string[] = ["routing_key", "api_key", "username", "password", "token"];

/** The target as a log may show what is made of it. */
export function withoutSecrets<Target extends AlertEndpointTarget>(target: Target): Target {
  const shown = Object.entries(target).map(([field, value]) => {
    if (SECRET_FIELDS.includes(field)) return [field, HIDDEN];
    return [field, field === "url" ? `${new URL(String(value)).origin}/${HIDDEN}` : value];
  });
  return Object.fromEntries(shown) as Target;
}

/** Replaces the secrets in a text from outside, in every form in which a receiver may repeat them. */
export function withoutSecretTexts(text: string, secrets: StoredSecrets): string {
  const forms = new Set(secretTexts(secrets).flatMap(formsOf));
  forms.delete("");
  // The longest first: one may be a part of another.
  const sorted = [...forms].sort((one, other) => other.length - one.length);
  return sorted.reduce((shown, form) => shown.replaceAll(form, HIDDEN), text);
}

function secretTexts({ target, signing }: StoredSecrets): string[] {
  const texts = [...signing];
  for (const [field, value] of Object.entries(target)) {
    if (SECRET_FIELDS.includes(field)) texts.push(String(value));
    if (field === "url" || field === "smtp_url") texts.push(...secretsOfUrl(String(value)));
  }
  if (target.kind === "alertmanager" && target.password !== undefined)
    texts.push(`${target.username ?? ""}:${target.password}`);
  if (target.kind === "ntfy") texts.push(new URL(target.url).pathname.split("/").filter(Boolean).at(-1)!);
  return texts;
}

/** Characters from which a part of a path or a query may be a secret. Hiding `hook` would hide the word elsewhere. */
const SECRET_LENGTH = { path: 17, query: 8 };

function secretsOfUrl(text: string): string[] {
  const { username, password, pathname, search, searchParams } = new URL(text);
  const path = [pathname, ...pathname.split("/")].filter((part) => part.length >= SECRET_LENGTH.path);
  const query = [...searchParams.values()].filter((value) => value.length >= SECRET_LENGTH.query);
  const login = [plain(username), plain(password)];
  return [username, password, ...login, login.join(":"), search, ...query, ...path].filter(
    (part) => part !== ":",
  );
}

/** An address that was saved before these were refused may have a stray `%`. */
export function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const bytes = Buffer.from(secret);
  return [secret, json, encodeURIComponent(secret), bytes.toString("base64"), bytes.toString("base64url")];
}
