import type { KeyboardEvent } from "react";

/** Arrow keys and j/k walk from row to row; Enter is the link's own. */
export function moveBetweenRows(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-row-link]")];
  const here = links.indexOf(document.activeElement as HTMLElement);
  const next = links[here + step];
  if (here === -1 || next === undefined) return;
  event.preventDefault();
  next.focus();
}

/** From anywhere on the page, j or the down arrow enters the first list of rows. */
export function focusFirstRow(key: string): boolean {
  if (key !== "j") return false;
  const first = document.querySelector<HTMLElement>("main [data-row-link]");
  first?.focus();
  return first !== null;
}
