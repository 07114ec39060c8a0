import type { MaskStore } from "../conversation/types.ts";

/**
 * Stores a text and returns its key, or `undefined` if the store failed. Never overwrites a text, because a later
 * session may reuse an id.
 */
export function storeText(store: MaskStore | undefined, id: string, text: string): string | undefined {
  if (store === undefined) return id;
  try {
    let key = id;
    for (let copy = 2; ; copy++) {
      const known = store.get(key);
      if (known === text) return key;
      if (known === undefined) break;
      key = `${id}~${copy}`;
    }
    store.put(key, text);
    return key;
  } catch {
    return undefined;
  }
}
