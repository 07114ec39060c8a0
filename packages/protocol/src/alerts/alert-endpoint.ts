import { z } from "zod";

const LONGEST_URL = 2_000;

/** Whether user and password of an address can be decoded. */
function hasPlainLogin(text: string): boolean {
  if (!URL.canParse(text)) return true;
  const { username, password } = new URL(text);
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

const address = z
  .string()
  .trim()
  .max(LONGEST_URL)
  .refine(hasPlainLogin, { message: "write a % in the user or the password as %25" });

/** An address that requests go to. */
const url = address
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    message: "write a whole address, such as https://example.com/hook",
  })
  .refine((text) => !URL.canParse(text) || new URL(text).hash === "", {
    message: "remove the part from # on: it is never sent",
  });

/** The last part of an ntfy address, as ntfy limits it. */
const TOPIC = /\/[-_A-Za-z0-9]{1,64}\/?$/;

const topicUrl = url.refine((text) => !URL.canParse(text) || TOPIC.test(new URL(text).pathname), {
  message: "end the address with the topic, such as https://ntfy.sh/my-topic",
});

/** Goes into a header, so it has no line breaks and nothing that HTTP forbids. */
const headerText = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .regex(/^[\x21-\x7e]+$/, "write printable ASCII characters without spaces");

const mailbox = z.string().trim().max(320).pipe(z.email("write an address such as ops@example.com"));

const smtpUrl = address.refine((text) => URL.canParse(text) && /^smtps?:$/.test(new URL(text).protocol), {
  message: "write smtps://user:password@host:465, or smtp:// for STARTTLS on port 587",
});

/** Where notifications go, with its secrets. */
export const AlertEndpointTarget = z.discriminatedUnion("kind", [
  /** Standard Webhooks: the server makes a secret and signs each request with it. */
  z.strictObject({ kind: z.literal("webhook"), url }),
  z.strictObject({ kind: z.literal("slack"), url }),
  z.strictObject({ kind: z.literal("discord"), url }),
  z.strictObject({ kind: z.literal("teams"), url }),
  z.strictObject({
    kind: z.literal("pagerduty"),
    routing_key: headerText(100),
    /** `https://events.eu.pagerduty.com` in the EU. */
    url: url.default("https://events.pagerduty.com"),
  }),
  z.strictObject({
    kind: z.literal("opsgenie"),
    api_key: headerText(200),
    /** `https://api.eu.opsgenie.com` in the EU. */
    url: url.default("https://api.opsgenie.com"),
  }),
  /** `url` is the Alertmanager's own, without `/api/v2/alerts`. */
  z.strictObject({
    kind: z.literal("alertmanager"),
    url,
    username: z.string().min(1).max(200).optional(),
    password: z.string().min(1).max(500).optional(),
  }),
  /** `url` ends with the topic. */
  z.strictObject({ kind: z.literal("ntfy"), url: topicUrl, token: headerText(200).optional() }),
  z.strictObject({
    kind: z.literal("email"),
    smtp_url: smtpUrl,
    from: mailbox,
    to: z.array(mailbox).min(1, "write at least one address").max(50),
  }),
]);
export type AlertEndpointTarget = z.infer<typeof AlertEndpointTarget>;
export type AlertEndpointKind = AlertEndpointTarget["kind"];

export const ALERT_ENDPOINT_KINDS: readonly AlertEndpointKind[] = AlertEndpointTarget.options.map(
  ({ shape }) => shape.kind.value,
);

/** The target of an endpoint of one kind. */
export type TargetOf<K extends AlertEndpointKind> = Extract<AlertEndpointTarget, { kind: K }>;

/**
 * An endpoint's target as people may see it: without passwords, tokens, and parts of an address that are as good as a
 * password. Such as `https://hooks.slack.com/…`.
 */
export function shownAddress(target: AlertEndpointTarget): string {
  switch (target.kind) {
    case "webhook":
    case "slack":
    case "discord":
    case "teams":
    case "ntfy":
      return shownOrigin(target.url);
    case "pagerduty":
      return `${shownOrigin(target.url)} with the key …${target.routing_key.slice(-4)}`;
    case "opsgenie":
      return `${shownOrigin(target.url)} with the key …${target.api_key.slice(-4)}`;
    case "alertmanager": {
      const { origin, pathname } = new URL(target.url);
      return `${origin}${pathname === "/" ? "" : pathname}`;
    }
    case "email":
      return `${target.to.join(", ")} through ${new URL(target.smtp_url).host}`;
  }
}

function shownOrigin(text: string): string {
  const { origin, pathname, search } = new URL(text);
  return pathname === "/" && search === "" ? origin : `${origin}/…`;
}
