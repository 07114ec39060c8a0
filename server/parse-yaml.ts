import { yamlExcess } from "@plimsoll/protocol/policy";
import { type Document, isScalar, Lexer, LineCounter, parseDocument, type Scalar, visit } from "yaml";
import { PlimsollError } from "./errors.ts";

/**
 * The value of a text that somebody sent, in time and memory in proportion to it.
 * @param mostAliases they can make a small text huge
 * @throws PlimsollError `bad_request` for text that is not YAML
 */
export function parseYaml(text: string, mostAliases = 0): unknown {
  const excess = yamlExcess(new Lexer().lex(text));
  if (excess !== undefined) throw new PlimsollError("bad_request", excess);
  const lineCounter = new LineCounter();
  try {
    // The parser compares each key with every other one, and quotes the text for each mistake: both take seconds.
    const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, lineCounter });
    const [broken] = document.errors;
    if (broken !== undefined) throw notYaml(broken.message, lineCounter.linePos(broken.pos[0]), broken);
    refuseRepeatedKeys(document, lineCounter);
    return document.toJS({ maxAliasCount: mostAliases });
  } catch (cause) {
    throw cause instanceof PlimsollError ? cause : notYaml((cause as Error).message, undefined, cause);
  }
}

function refuseRepeatedKeys(document: Document, lineCounter: LineCounter): void {
  visit(document, {
    Map(_, { items }) {
      const names = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        if (names.has(name))
          throw notYaml("A key is there twice", lineCounter.linePos((key as Scalar).range![0]));
        names.add(name);
      }
    },
  });
}

function notYaml(
  message: string,
  place: { line: number; col: number } | undefined,
  cause?: unknown,
): PlimsollError {
  const where = place === undefined ? "" : ` at line ${place.line}, column ${place.col}`;
  return new PlimsollError("bad_request", `The text is not valid YAML: ${message}${where}`, { cause });
}

/** Whether a text of YAML says more than its value does. */
export function hasComments(text: string): boolean {
  for (const token of new Lexer().lex(text)) if (token.startsWith("#")) return true;
  return false;
}
