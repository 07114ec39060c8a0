import { visibleText } from "@plimsoll/protocol/pure";
import type { Env } from "./connection.ts";

export type Color = "red" | "yellow" | "green" | "dim" | "bold";

/** An output for text, with its width in columns and whether it shows colors. */
export interface Terminal {
  write(text: string): void;
  readonly width: number;
  readonly isTty: boolean;
  readonly color: boolean;
}

const CODES: Record<Color, [number, number]> = {
  red: [31, 39],
  yellow: [33, 39],
  green: [32, 39],
  dim: [2, 22],
  bold: [1, 22],
};

/** A non-empty NO_COLOR disables colors (https://no-color.org). FORCE_COLOR enables them without a terminal. */
export function allowsColor(env: Env, isTty: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== "0") return true;
  return isTty && env.TERM !== "dumb";
}

export type Paint = (color: Color, text: string) => string;

export function painter(color: boolean): Paint {
  return (name, text) => {
    const [on, off] = CODES[name];
    return color && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  };
}

export function terminalOf(stream: NodeJS.WriteStream, env: Env): Terminal {
  const isTty = stream.isTTY === true;
  return {
    write: (text) => void stream.write(text),
    get width() {
      const asked = Number(env.COLUMNS);
      return stream.columns ?? (Number.isInteger(asked) && asked > 0 ? asked : 100);
    },
    isTty,
    color: allowsColor(env, isTty),
  };
}

/**
 * Removes control characters, so that titles and names from events cannot move the cursor or change colors, and shows others
 * that nobody would see.
 */
export function printable(text: string): string {
  return visibleText(text.replace(/\p{Cc}/gu, ""));
}

/** The same for a text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** JSON on several lines, in which such characters are escaped: for a program it is the same value. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/gu, (character) =>
    Array.from({ length: character.length }, (_, at) => unicodeEscape(character.charCodeAt(at))).join(""),
  );
}

const unicodeEscape = (unit: number) => `\\u${unit.toString(16).padStart(4, "0")}`;

/** Width of a text in columns: wide characters take two, combining characters none. */
export function columns(text: string): number {
  let width = 0;
  for (const character of text) width += characterColumns(character);
  return width;
}

function characterColumns(character: string): number {
  if (/[\p{Mark}\u200c\u200d]/u.test(character)) return 0;
  const wide =
    /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
  return wide.test(character) ? 2 : 1;
}

/** Pads a text to the width, or cuts it with an ellipsis. */
export function fitColumns(text: string, width: number, align: "left" | "right" = "left"): string {
  const clean = printable(text);
  if (width <= 0) return "";
  let cut = clean;
  if (columns(clean) > width) {
    cut = "";
    for (const character of clean) {
      if (columns(cut) + characterColumns(character) > width - 1) break;
      cut += character;
    }
    cut += "…";
  }
  const space = " ".repeat(Math.max(0, width - columns(cut)));
  return align === "left" ? cut + space : space + cut;
}
