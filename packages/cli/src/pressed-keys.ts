export type Key = "down" | "up" | "page_down" | "page_up" | "first" | "last" | "stop";

/** What a key of the keyboard asks for. The terminal itself sees to `suspend`. */
type PressedKey = Key | "suspend";

/** What a pressed key means, or undefined if it means nothing. Takes what `keypress` of Node's readline reports. */
export function keyOf(pressed: { name?: string; ctrl?: boolean; shift?: boolean }): PressedKey | undefined {
  const { name = "", ctrl, shift } = pressed;
  return KEYS.get(`${ctrl ? "ctrl " : ""}${shift ? "shift " : ""}${name}`);
}

const KEYS: ReadonlyMap<string, PressedKey> = new Map([
  ["j", "down"],
  ["down", "down"],
  ["return", "down"],
  ["k", "up"],
  ["up", "up"],
  ["space", "page_down"],
  ["pagedown", "page_down"],
  ["pageup", "page_up"],
  ["g", "first"],
  ["home", "first"],
  ["shift g", "last"],
  ["end", "last"],
  ["q", "stop"],
  ["ctrl c", "stop"],
  ["ctrl d", "stop"],
  ["ctrl z", "suspend"],
]);
