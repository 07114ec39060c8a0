/** Parses CSV (RFC 4180) into one object per row, keyed by the header. */
export function parseCsv(text: string): Record<string, string>[] {
  const rows: string[][] = [[]];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]!;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === "," || char === "\n") {
      rows.at(-1)!.push(cell);
      cell = "";
      if (char === "\n") rows.push([]);
    } else if (char !== "\r") cell += char;
  }
  if (cell !== "" || rows.at(-1)!.length > 0) rows.at(-1)!.push(cell);
  const [head = [], ...body] = rows.filter((row) => row.length > 0);
  return body.map((row) => {
    if (row.length !== head.length)
      throw new Error(`A row has ${row.length} cells, but the header has ${head.length}.`);
    return Object.fromEntries(head.map((name, index) => [name, row[index]!]));
  });
}
