/** Lists and mappings within one another. Policies and rules have six. */
const MOST_LEVELS = 32;
/** Indicators, texts and blanks. A thousand alert rules have some 70,000. */
const MOST_TOKENS = 100_000;

/**
 * Why a text of YAML must not be parsed; undefined if it may be. Parsers take exponential time, or end the process, for a few
 * hundred levels.
 * @param tokens as the lexer of the package `yaml` yields them, which takes time in proportion to the text
 *
 * @example
 * const excess = yamlExcess(new Lexer().lex(text));
 */
export function yamlExcess(tokens: Iterable<string>): string | undefined {
  /** The columns at which blocks begin that are still open. */
  const blocks: number[] = [];
  let flows = 0;
  let column = 0;
  let isLineStart = true;
  let count = 0;
  let line = 1;
  for (const token of tokens) {
    count += 1;
    if (count > MOST_TOKENS)
      return `The text has more than ${MOST_TOKENS} parts, in line ${line}. Divide it.`;
    const begins = token === "-" || token === "?" || (isLineStart && !isBlank(token));
    if (begins && flows === 0) {
      while (blocks.length > 0 && blocks.at(-1)! >= column) blocks.pop();
      blocks.push(column);
      isLineStart = false;
    }
    if (token === "[" || token === "{") flows += 1;
    else if ((token === "]" || token === "}") && flows > 0) flows -= 1;
    if (flows + blocks.length > MOST_LEVELS)
      return `The text nests more than ${MOST_LEVELS} lists and mappings, in line ${line}. Write it with less nesting.`;
    const lineEnd = token.lastIndexOf("\n");
    if (lineEnd < 0) column += isMark(token) ? 0 : token.length;
    else {
      line += token.split("\n").length - 1;
      column = token.length - lineEnd - 1;
      isLineStart = true;
    }
  }
  return undefined;
}

/** What the lexer puts before a document, before a plain text, and where a flow is cut. */
const isMark = (token: string) => token === "\x02" || token === "\x18" || token === "\x1f";
const isBlank = (token: string) => isMark(token) || token.startsWith("#") || token.trim() === "";
