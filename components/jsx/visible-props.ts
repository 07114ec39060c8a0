import { visibleText } from "@plimsoll/protocol/pure";

/** Attributes that a person reads or hears. */
const READ = ["title", "aria-label", "aria-description", "alt", "placeholder"];

/**
 * The props of an element, with hidden characters of its text shown. So nothing that a name holds turns the direction of the text
 * around it, wherever the name is rendered. Returns the same object if there is nothing to show.
 */
export function visibleProps<T>(props: T): T {
  const given = props as Record<string, unknown>;
  let shown = given;
  const show = (name: string, value: unknown) => {
    if (value === given[name]) return;
    if (shown === given) shown = { ...given };
    shown[name] = value;
  };
  show("children", visibleChildren(given.children));
  // Also of components: a link hands them to an element that a library makes.
  for (const name of READ) if (typeof given[name] === "string") show(name, visibleText(given[name]));
  return shown as T;
}

function visibleChildren(children: unknown): unknown {
  if (typeof children === "string") return visibleText(children);
  if (!Array.isArray(children)) return children;
  const shown = children.map(visibleChildren);
  return shown.every((child, index) => child === children[index]) ? children : shown;
}
