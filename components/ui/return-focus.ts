/** What had the focus before a dialog or a menu took it. */
let opener: HTMLElement | undefined;

const isOnPage = (target: EventTarget | null): target is HTMLElement =>
  target instanceof HTMLElement &&
  target !== document.body &&
  target.closest("[role=dialog],[role=menu]") === null;

function noteOpener(target: EventTarget | null): void {
  if (isOnPage(target)) opener = target;
}

if (typeof document !== "undefined") {
  noteOpener(document.activeElement);
  document.addEventListener("focusin", ({ target }) => noteOpener(target));
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (relatedTarget === null && isOnPage(target)) opener = undefined;
  });
}

/** For `onCloseAutoFocus` of a dialog without a trigger: Radix returns the focus to the trigger only. */
export function returnFocus(event: Event): void {
  event.preventDefault();
  opener?.focus();
}
