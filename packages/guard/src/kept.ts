import type { MaskStore } from "./types.ts";

/**
 * Key under which a store took a text; undefined when it could not. Ids may come again in a later session: nothing is
 * written over.
 */
export function keptUnder(store: MaskStore | undefined, id: string, text: string): string | undefined {
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
