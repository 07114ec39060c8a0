import type { KeyboardEvent } from "react";

/** Moves the focus between rows with the arrow keys or j and k. Enter follows the link of the row. */
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

/** On `j`, focuses the first row of the page. Returns true if there was one. */
export function focusFirstRow(key: string): boolean {
  if (key !== "j") return false;
  const first = document.querySelector<HTMLElement>("main [data-row-link]");
  first?.focus();
  return first !== null;
}
