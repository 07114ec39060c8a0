import { emitKeypressEvents } from "node:readline";
import { visibleText } from "@plimsoll/protocol/pure";
import type { Env } from "./home-folder.ts";
import { type Key, keyOf } from "./pressed-keys.ts";

export type Color = "red" | "yellow" | "green" | "dim" | "bold";

/** An output for text, with its width in columns and whether it shows colors. */
export interface Terminal {
  write(text: string): void;
  readonly width: number;
  readonly isTty: boolean;
  readonly color: boolean;
  /** Present if the text on it can be replaced. */
  readonly screen?: Screen | undefined;
}

export interface Screen {
  /** Lines of the screen. */
  readonly height: number;
  /** Takes the whole screen and the keyboard. Returns a function that gives them back and shows again what was there before. */
  open(on: { key: (key: Key) => void; redraw: () => void }): () => void;
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

/** @param keyboard the keys that a redrawn screen reacts to, if it is a terminal too */
export function terminalOf(stream: NodeJS.WriteStream, env: Env, keyboard?: NodeJS.ReadStream): Terminal {
  const isTty = stream.isTTY === true;
  return {
    write: (text) => void stream.write(text),
    get width() {
      const asked = Number(env.COLUMNS);
      // A terminal that does not know its size says 0.
      return stream.columns || (Number.isInteger(asked) && asked > 0 ? asked : 100);
    },
    isTty,
    color: allowsColor(env, isTty),
    screen: isTty ? screenOf(stream, keyboard) : undefined,
  };
}

/** Without wrapping, a character that is wider than `columns` says moves no line. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";

function screenOf(stream: NodeJS.WriteStream, keyboard: NodeJS.ReadStream | undefined): Screen {
  const keys = keyboard?.isTTY ? keyboard : undefined;
  return {
    get height() {
      return stream.rows || 24;
    },
    open(on) {
      const enter = () => {
        keys?.setRawMode(true);
        stream.write(ENTER);
      };
      const leave = () => {
        stream.write(LEAVE);
        keys?.setRawMode(false);
      };
      const resume = () => {
        enter();
        on.redraw();
      };
      const press = (_: string | undefined, pressed: { name?: string; ctrl?: boolean; shift?: boolean }) => {
        const key = keyOf(pressed);
        if (key === "suspend") {
          leave();
          process.kill(process.pid, "SIGTSTP");
        } else if (key !== undefined) on.key(key);
      };
      enter();
      if (keys !== undefined) {
        emitKeypressEvents(keys);
        keys.on("keypress", press);
        keys.resume();
        process.on("SIGCONT", resume);
      }
      stream.on("resize", on.redraw);
      return () => {
        stream.off("resize", on.redraw);
        process.off("SIGCONT", resume);
        keys?.off("keypress", press);
        keys?.pause();
        leave();
      };
    },
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
    /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
  return wide.test(character) ? 2 : 1;
}

/** Cuts a line of printable text and colors at the width, with an ellipsis. The colors end where they ended. */
export function cutColumns(line: string, width: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a color begins with it
  const parts = line.split(/(\u001b\[\d+m)/);
  const isColor = (at: number) => at % 2 === 1;
  if (columns(parts.filter((_, at) => !isColor(at)).join("")) <= width) return line;
  let room = width - 1;
  let isCut = false;
  return parts
    .map((part, at) => {
      if (isColor(at)) return part;
      if (isCut) return "";
      let cut = "";
      for (const character of part) {
        room -= characterColumns(character);
        if (room < 0) {
          isCut = true;
          return `${cut}…`;
        }
        cut += character;
      }
      return cut;
    })
    .join("");
}

/** Pads a text to the width, or cuts it with an ellipsis. */
export function fitColumns(text: string, width: number, align: "left" | "right" = "left"): string {
  const cut = width <= 0 ? "" : cutColumns(printable(text), width);
  const space = " ".repeat(Math.max(0, width - columns(cut)));
  return align === "left" ? cut + space : space + cut;
}

/** Pads a text to the width, or leaves out its middle. */
export function fitEnds(text: string, width: number): string {
  const clean = printable(text);
  if (columns(clean) <= width || width < 3) return fitColumns(clean, width);
  let end = "";
  for (const character of [...clean].reverse()) {
    if (columns(end) + characterColumns(character) > Math.floor((width - 1) / 2)) break;
    end = character + end;
  }
  return fitColumns(`${cutColumns(clean, width - columns(end))}${end}`, width);
}
