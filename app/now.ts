import { cache } from "react";

/**
 * The time of this request, epoch ms, the same for everything rendered for it: what a page fetches beforehand is found
 * in the browser only by those who ask for the same minute.
 */
export const now = cache(() => Date.now());
