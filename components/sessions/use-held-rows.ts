"use client";

import { useMemo, useState } from "react";
import { type HeldList, holdOrder } from "./hold-order.ts";

interface Snapshot<Row> {
  key: string;
  rows: readonly Row[];
}

export interface HeldRows<Row> extends HeldList<Row> {
  /** Shows the latest list. */
  release(): void;
}

/**
 * The rows to show. While the list is held, their order stays and updates are counted.
 * @param key names the question that the rows answer; undefined while they answer another one
 */
export function useHeldRows<Row extends { id: string }>(
  latest: Row[],
  key: string | undefined,
  held: boolean,
): HeldRows<Row> {
  const [snapshot, setSnapshot] = useState<Snapshot<Row> | null>(null);
  const usable = held && key !== undefined;
  if (!usable && snapshot !== null) setSnapshot(null);
  const kept = usable && snapshot?.key === key ? snapshot.rows : latest;
  const result = useMemo(
    () => (usable ? holdOrder(kept, latest) : { rows: latest, updates: 0 }),
    [usable, kept, latest],
  );
  // The next page is held from now on, too.
  const grown = result.rows.length > (snapshot?.rows.length ?? -1);
  if (usable && (snapshot?.key !== key || grown)) setSnapshot({ key, rows: result.rows });
  return {
    ...result,
    release: () => key !== undefined && setSnapshot({ key, rows: latest }),
  };
}
