import type { Env } from "./connection.ts";

export type Colour = "red" | "yellow" | "green" | "dim" | "bold";

/** Where text goes: its width in columns, and whether colour may be used there. */
export interface Terminal {
  write(text: string): void;
  readonly width: number;
  readonly isTty: boolean;
  readonly colour: boolean;
}

const CODES: Record<Colour, [number, number]> = {
  red: [31, 39],
  yellow: [33, 39],
  green: [32, 39],
  dim: [2, 22],
  bold: [1, 22],
};

/** https://no-color.org: any value that is not empty turns colour off. FORCE_COLOR turns it on without a terminal. */
export function allowsColour(env: Env, isTty: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== "0") return true;
  return isTty && env.TERM !== "dumb";
}

export type Paint = (colour: Colour, text: string) => string;

export function painter(colour: boolean): Paint {
  return (name, text) => {
    const [on, off] = CODES[name];
    return colour && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
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
    colour: allowsColour(env, isTty),
  };
}

/** Titles and names come from elsewhere: without control characters they cannot move the cursor or recolour lines. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "");
}

/** Columns a text takes: wide characters take two, combining ones none. */
export function columns(text: string): number {
  let width = 0;
  for (const character of text) width += characterColumns(character);
  return width;
}

function characterColumns(character: string): number {
  if (/\p{Mark}/u.test(character)) return 0;
  const wide =
    /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
  return wide.test(character) ? 2 : 1;
}

/** Cut to the width with an ellipsis, or padded to it. */
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
