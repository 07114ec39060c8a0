import { randomBytes } from "node:crypto";
import { AlertEndpointTarget } from "@plimsoll/protocol/alerts";
import { z } from "zod";
import { DAY_MS } from "../../times.ts";
import type { SecretBox } from "./secret-box.ts";

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

/** Texts of a target that must not be in a log. */
export function secretTexts({ target, signing }: StoredSecrets): string[] {
  const texts = [...signing];
  for (const [field, value] of Object.entries(target)) {
    if (["routing_key", "api_key", "password", "token"].includes(field)) texts.push(String(value));
    if (field === "url" || field === "smtp_url") texts.push(...secretsOfUrl(String(value)));
  }
  return texts;
}

function secretsOfUrl(text: string): string[] {
  const { username, password, pathname, search } = new URL(text);
  const parts = [username, password, decodeURIComponent(username), decodeURIComponent(password), search];
  // A short path, such as /hook, says nothing, and hiding it would hide the same word elsewhere.
  return [...parts, pathname.length > 16 ? pathname : ""].filter((part) => part !== "");
}

/** Replaces the secrets in what a log shows. */
export function withoutSecretTexts(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, "[secret]"), text);
}
