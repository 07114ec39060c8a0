import { cache } from "react";

/**
 * The time of this request, in epoch ms, cached for the whole render.
 * Prefetched queries are keyed by minute, so every part of a page must use the same time.
 */
export const now = cache(() => Date.now());
