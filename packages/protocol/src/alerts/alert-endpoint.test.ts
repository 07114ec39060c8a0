import { describe, expect, it } from "vitest";
import { AlertEndpointTarget } from "./alert-endpoint.ts";

describe("the address of an ntfy endpoint", () => {
  const isValid = (url: string) => AlertEndpointTarget.safeParse({ kind: "ntfy", url }).success;

  it("ends with a topic", () => {
    expect(["https://ntfy.sh/my-topic", "https://ntfy.example/sub/a_1/"].filter(isValid)).toHaveLength(2);
    const wrong = [
      "https://ntfy.sh",
      "https://ntfy.sh/",
      "https://ntfy.sh/a%20b",
      `https://ntfy.sh/${"x".repeat(65)}`,
    ];
    expect(wrong.filter(isValid)).toEqual([]);
  });
});

describe("user and password in an address", () => {
  const parse = (target: object) => AlertEndpointTarget.safeParse(target);
  const mail = { kind: "email", from: "a@example.com", to: ["b@example.com"] };

  it.each([
    { kind: "webhook", url: "https://user:50%25@example.com/hook" },
    { ...mail, smtp_url: "smtps://user:p%40ss@mail.example.com" },
  ])("are taken if they can be decoded", (target) => expect(parse(target).success).toBe(true));

  it.each([
    { kind: "webhook", url: "https://user:50%@example.com/hook" },
    { kind: "slack", url: "https://us%er@example.com/hook" },
    { ...mail, smtp_url: "smtps://user:p%zz@mail.example.com" },
  ])("are refused with a stray %, which could not be sent", (target) =>
    expect(parse(target).error?.issues[0]?.message).toContain("%25"),
  );
});
