import type { AlertNotification } from "@plimsoll/protocol/alerts";
import { formatDelivery } from "../formats/index.ts";
import { sendEmail } from "./send-email.ts";
import { type AttemptOptions, type AttemptResult, sendRequest } from "./send-request.ts";
import { type StoredSecrets, secretTexts, withoutSecretTexts } from "./stored-secrets.ts";

/** Characters of a request that the log keeps. */
const MOST_REQUEST = 16_384;

/** Headers whose values are secrets. */
const SECRET_HEADERS: readonly string[] = ["authorization"];

export interface AttemptInput {
  notification: AlertNotification;
  secrets: StoredSecrets;
  /** What people may see of the target. */
  address: string;
  /** Where people reach the dashboard, for links. */
  baseUrl: string;
  /** Epoch ms. */
  now: number;
}

/** Sends a notification once. Never throws. @returns the result, and the request without its secrets */
export async function attempt(
  { notification, secrets, address, baseUrl, now }: AttemptInput,
  options: AttemptOptions,
): Promise<AttemptResult & { request: string }> {
  const { target, signing } = secrets;
  const hide = (text: string) => withoutSecretTexts(text, secretTexts(secrets));
  if (target.kind === "email") {
    const { request, ...result } = await sendEmail(target, notification, baseUrl, options);
    return { ...result, answer: hide(result.answer), request: hide(request).slice(0, MOST_REQUEST) };
  }
  const request = formatDelivery(target, notification, { baseUrl, signing, now });
  const headers = Object.entries(request.headers).map(
    ([name, value]) => `${name}: ${SECRET_HEADERS.includes(name.toLowerCase()) ? "[secret]" : value}`,
  );
  const shown = [`${request.method} ${address}`, ...headers, "", request.body].join("\n");
  const result = await sendRequest(request, { now, ...options });
  return { ...result, answer: hide(result.answer), request: hide(shown).slice(0, MOST_REQUEST) };
}
