"use client";

import { type FocusEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
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

/** Whether the pointer or the focus is inside an element. After a touch, the pointer is inside until one elsewhere. */
export function useInside() {
  const [pointer, setPointer] = useState(false);
  const [focus, setFocus] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const leave = ({ target }: Event) => {
      if (!ref.current?.contains(target as Node)) setPointer(false);
    };
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, []);
  return {
    inside: pointer || focus,
    /** Acts as if both had left, until the next one enters. */
    leave() {
      setPointer(false);
      setFocus(false);
    },
    props: {
      ref,
      onPointerEnter: () => setPointer(true),
      onPointerLeave: ({ pointerType }: PointerEvent) => pointerType === "mouse" && setPointer(false),
      onFocus: () => setFocus(true),
      onBlur: ({ currentTarget, relatedTarget }: FocusEvent<HTMLElement>) =>
        setFocus(currentTarget.contains(relatedTarget)),
    },
  };
}
