"use client";

import { type RefObject, useLayoutEffect, useRef } from "react";

const MOVE_MS = 240;

/**
 * Lets rows slide to their new places. Rows have about the same height, so the place of a row before is where the row that
 * has its place now begins.
 * @param order the ids of the rows on screen, joined by spaces
 */
export function useRowMoves(container: RefObject<HTMLElement | null>, order: string): void {
  const before = useRef(order);
  useLayoutEffect(() => {
    if (before.current === order) return;
    const places = new Map(before.current.split(" ").map((id, place) => [id, place]));
    before.current = order;
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const rows = [...(container.current?.querySelectorAll<HTMLElement>("[data-agent]") ?? [])];
    const tops = rows.map(({ offsetTop }) => offsetTop);
    for (const [place, row] of rows.entries()) {
      const from = tops[places.get(row.dataset.agent ?? "") ?? place] ?? tops[place]!;
      const by = from - tops[place]!;
      if (by !== 0)
        row.animate([{ transform: `translateY(${by}px)` }, { transform: "none" }], {
          duration: MOVE_MS,
          easing: "ease-out",
        });
    }
  }, [container, order]);
}
