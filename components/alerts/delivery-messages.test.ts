import type { AlertDeliveryView } from "@plimsoll/protocol/api";
import fc from "fast-check";
import { expect, it } from "vitest";
import { messagesOf, sentText, worstState } from "./delivery-messages.ts";

const delivery = (id: string, more: Partial<AlertDeliveryView> = {}): AlertDeliveryView => ({
  id,
  endpoint_id: "ops",
  endpoint: "ops",
  kind: "firing",
  group: "g",
  state: "delivered",
  title: id,
  attempts: 1,
  created_at: "2026-11-20T10:00:00Z",
  finished_at: null,
  next_at: null,
  last_outcome: "delivered",
  ...more,
});
const repeated = (id: string, more: Partial<AlertDeliveryView> = {}) =>
  delivery(id, { kind: "repeated", ...more });
const shape = (deliveries: AlertDeliveryView[]) =>
  messagesOf(deliveries).map(({ first, deliveries }) => [first.id, deliveries.map(({ id }) => id)]);

it("puts repetitions into the message that they repeat, and an end beside it", () => {
  const newestFirst = [
    delivery("n7", { group: "other" }),
    repeated("n6"),
    delivery("n5"),
    delivery("n4", { kind: "resolved" }),
    repeated("n3"),
    repeated("n2"),
    delivery("n1"),
  ];
  expect(shape(newestFirst)).toEqual([
    ["n7", ["n7"]],
    ["n5", ["n6", "n5"]],
    ["n4", ["n4"]],
    ["n1", ["n3", "n2", "n1"]],
  ]);
});

it("puts the endpoints of a message into one row, even if one gets it hours later", () => {
  const [pager, mail] = [{ endpoint_id: "pager" }, { endpoint_id: "mail" }];
  expect(shape([delivery("a", mail), repeated("b", pager), delivery("a", pager)])).toEqual([
    ["a", ["a", "b", "a"]],
  ]);
});

it("has a row of repetitions whose message is not listed any more", () => {
  expect(shape([repeated("c"), repeated("b")])).toEqual([["b", ["c", "b"]]]);
});

it("names the worst state", () => {
  const states = (...all: AlertDeliveryView["state"][]) =>
    worstState(messagesOf(all.map((state, n) => delivery("a", { state, endpoint_id: `${n}` })))[0]!);
  expect(states("delivered", "failed", "waiting")).toBe("failed");
  expect(states("delivered", "waiting")).toBe("waiting");
  expect(states("delivered", "skipped")).toBe("skipped");
  expect(states("delivered")).toBe("delivered");
});

it.each([
  ["ops", [delivery("a")]],
  ["ops · 3 attempts", [delivery("a", { attempts: 3 })]],
  ["2 endpoints", [delivery("a"), delivery("a", { endpoint_id: "mail", endpoint: "mail" })]],
  ["ops · repeated once", [repeated("b"), delivery("a")]],
  ["ops · repeated 2 times · 5 attempts", [repeated("c"), repeated("b", { attempts: 3 }), delivery("a")]],
])("says in short where a message went: %s", (text, deliveries) => {
  expect(sentText(messagesOf(deliveries)[0]!)).toBe(text);
});

it("lists each delivery once, whatever comes in which order", () => {
  const any = fc.record({
    id: fc.constantFrom("a", "b", "c", "d"),
    group: fc.constantFrom("g", "h"),
    kind: fc.constantFrom("firing", "repeated", "resolved", "acknowledged", "test"),
    endpoint_id: fc.constantFrom("x", "y"),
  });
  fc.assert(
    fc.property(fc.array(any, { maxLength: 30 }), (all) => {
      const deliveries = all.map((one) => delivery(one.id, one as Partial<AlertDeliveryView>));
      const messages = messagesOf(deliveries);
      expect(messages.flatMap((message) => message.deliveries)).toHaveLength(deliveries.length);
      const newest = messages.map(({ deliveries: [first] }) => deliveries.indexOf(first!));
      expect(newest).toEqual(newest.toSorted((a, b) => a - b));
    }),
  );
});
