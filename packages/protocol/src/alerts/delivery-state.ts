/** `skipped`: the endpoint was paused. `failed`: given up after 24 h, or refused by the receiver. */
export const DELIVERY_STATES = ["waiting", "delivered", "failed", "skipped"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];
