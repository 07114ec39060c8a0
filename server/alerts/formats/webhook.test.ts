import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { EXAMPLE_NOTIFICATION } from "../../testing/notifications.ts";
import { formatWebhook } from "./webhook.ts";

const [newer, older, stranger] = ["a", "b", "c"].map(
  (letter) => `whsec_${Buffer.from(letter.repeat(32)).toString("base64")}`,
) as [string, string, string];
const url = "https://hook.example/alerts";

describe("a Standard Webhook", () => {
  const request = formatWebhook({ kind: "webhook", url }, EXAMPLE_NOTIFICATION, {
    baseUrl: "http://127.0.0.1:4180",
    signing: [newer, older],
    // The verifying package compares it with the real clock.
    now: Date.now(),
  });

  it("is verified with the new and with the old secret while they rotate", () => {
    for (const secret of [newer, older]) {
      const verified = new Webhook(secret).verify(request.body, { ...request.headers });
      expect(verified).toMatchObject({
        type: "alert.firing",
        timestamp: EXAMPLE_NOTIFICATION.at,
        data: { alerts: [{ url: "http://127.0.0.1:4180/sessions/7?agent=3&turn=91" }] },
      });
    }
    expect(request.headers["webhook-id"]).toBe(EXAMPLE_NOTIFICATION.id);
  });

  it("is refused with another secret, another body and another id", () => {
    const { headers, body } = request;
    expect(() => new Webhook(stranger).verify(body, { ...headers })).toThrow();
    expect(() => new Webhook(newer).verify(`${body} `, { ...headers })).toThrow();
    expect(() => new Webhook(newer).verify(body, { ...headers, "webhook-id": "n-2" })).toThrow();
  });
});
