/** Longest message, in characters. A longer one is left out, so that a hostile server cannot fill the memory. */
const MOST_CHARACTERS = 4 * 1_048_576;

/**
 * Returns a parser for server-sent events. It takes chunks that end anywhere and returns the data of the messages that they
 * complete. Its work is linear in what it is given.
 */
export function messageParser(): (chunk: string) => string[] {
  let line = "";
  let data: string[] = [];
  let size = 0;
  let isTooLong = false;
  let endedInReturn = false;
  const messages: string[] = [];
  const endLine = () => {
    if (line === "") {
      if (data.length > 0 && !isTooLong) messages.push(data.join("\n"));
      data = [];
      size = 0;
      isTooLong = false;
    } else if (/^data(?::|$)/.test(line)) {
      data.push(line.slice(5).replace(/^ /, ""));
      size += line.length;
    }
    line = "";
  };
  return (chunk) => {
    if (chunk === "") return [];
    // One line end may be divided between two chunks.
    const text = endedInReturn && chunk.startsWith("\n") ? chunk.slice(1) : chunk;
    endedInReturn = chunk.endsWith("\r");
    for (const [number, piece] of text.split(/\r\n|\n|\r/).entries()) {
      if (number > 0) endLine();
      if (size + line.length + piece.length <= MOST_CHARACTERS) line += piece;
      else {
        isTooLong = true;
        // A comment: the rest of the line adds nothing, and the line is not empty.
        line = ":";
      }
    }
    return messages.splice(0);
  };
}
