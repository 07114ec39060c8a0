import { once } from "node:events";
import { connect, isIP } from "node:net";
import type { AlertNotification, TargetOf } from "@plimsoll/protocol/alerts";
import { createTransport } from "nodemailer";
import { formatEmail } from "../formats/email.ts";
import { allowedLookup, checkLiteral } from "./addresses.ts";
import { type AttemptOptions, type AttemptResult, endOf, failureOf } from "./send-request.ts";
import { plain } from "./stored-secrets.ts";

/** The ports of SMTP with TLS from the start, and with STARTTLS. */
const PORT = { "smtps:": 465, "smtp:": 587 } as const;

/** Sends a notification by SMTP once. Never throws. @returns the result, and the message as text */
export async function sendEmail(
  { smtp_url, from, to }: TargetOf<"email">,
  notification: AlertNotification,
  baseUrl: string,
  options: AttemptOptions,
): Promise<AttemptResult & { request: string }> {
  const { messageId, ...message } = formatEmail(notification, baseUrl);
  const request = `From: ${from}\nTo: ${to.join(", ")}\nSubject: ${message.subject}\n\n${message.text}`;
  const signal = endOf(options);
  const { protocol, hostname, port: given, username, password } = new URL(smtp_url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const port = given === "" ? PORT[protocol as keyof typeof PORT] : Number(given);
  try {
    checkLiteral(host, options.open);
    // Connected here: nodemailer would resolve the name by itself.
    const socket = connect({ host, port, lookup: allowedLookup(options.open, options.resolve), signal });
    // A later one is reported by nodemailer.
    socket.on("error", () => {});
    await once(socket, "connect");
    const hasLogin = username !== "";
    const transport = createTransport({
      host,
      port,
      connection: socket,
      secure: protocol === "smtps:",
      // A password never goes over the network as it is.
      requireTLS: hasLogin,
      tls: { ca: options.ca, servername: isIP(host) === 0 ? host : undefined },
      auth: hasLogin ? { user: plain(username), pass: plain(password) } : undefined,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    try {
      const { response } = await transport.sendMail({ from, to, messageId, ...message });
      return {
        outcome: "delivered",
        status: replyCode(response),
        retryAfterMs: undefined,
        answer: response,
        request,
      };
    } finally {
      transport.close();
      socket.destroy();
    }
  } catch (error) {
    return { ...smtpFailure(signal.aborted ? signal.reason : error), retryAfterMs: undefined, request };
  }
}

function smtpFailure(error: unknown): Pick<AttemptResult, "outcome" | "status" | "answer"> {
  const { responseCode, code, message } = error as { responseCode?: number; code?: string; message: string };
  if (responseCode !== undefined) return { outcome: "smtp", status: responseCode, answer: message };
  // nodemailer replaces the code of a failed handshake.
  if (code === "ETLS" || (code === "ESOCKET" && /certificate|\b(SSL|TLS)\b/i.test(message)))
    return { outcome: "tls", status: undefined, answer: message };
  return { ...failureOf(error), status: undefined };
}

const replyCode = (response: string): number | undefined => {
  const code = Number(/^\d{3}/.exec(response)?.[0]);
  return Number.isNaN(code) ? undefined : code;
};
