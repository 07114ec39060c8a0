import type { AlertNotification } from "@plimsoll/protocol/alerts";
import { formatDelivery } from "../formats/index.ts";
import { sendEmail } from "./send-email.ts";
import {
  type AttemptOptions,
  type AttemptResult,
  failureOf,
  type OutgoingRequest,
  sendRequest,
  storableText,
} from "./send-request.ts";
import { type StoredSecrets, withoutSecrets, withoutSecretTexts } from "./stored-secrets.ts";

/** Characters of a request that the log keeps. */
const MOST_REQUEST = 16_384;

/** Headers whose values are secrets. Whoever has a signature can send the message again. */
const SECRET_HEADERS: readonly string[] = ["authorization", "webhook-signature"];

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
  input: AttemptInput,
  options: AttemptOptions,
): Promise<AttemptResult & { request: string }> {
  const { request, answer, ...result } = await send(input, options).catch((error: unknown) => ({
    ...failureOf(error),
    status: undefined,
    retryAfterMs: undefined,
    request: "",
  }));
  return {
    ...result,
    answer: storableText(withoutSecretTexts(answer, input.secrets)),
    request: storableText(request.slice(0, MOST_REQUEST)),
  };
}

async function send(
  { notification, secrets: { target, signing }, address, baseUrl, now }: AttemptInput,
  options: AttemptOptions,
): Promise<AttemptResult & { request: string }> {
  if (target.kind === "email") return sendEmail(target, notification, baseUrl, options);
  const request = formatDelivery(target, notification, { baseUrl, signing, now });
  // Made without secrets: what is taken out of a text may be there in another form.
  const shown = formatDelivery(withoutSecrets(target), notification, { baseUrl, signing: [], now });
  const headers = Object.entries(shown.headers).map(
    ([name, value]) => `${name}: ${SECRET_HEADERS.includes(name.toLowerCase()) ? "[secret]" : value}`,
  );
  const { answer, ...result } = await sendRequest(request, { now, ...options });
  return {
    ...result,
    answer: withoutSignature(answer, request),
    request: [`${shown.method} ${address}`, ...headers, "", shown.body].join("\n"),
  };
}

const withoutSignature = (text: string, { headers }: OutgoingRequest): string =>
  (headers["webhook-signature"]?.split(" ") ?? []).reduce(
    (shown, signature) => shown.replaceAll(signature, "[secret]"),
    text,
  );
