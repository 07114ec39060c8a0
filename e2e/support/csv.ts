/** RFC 4180, as a spreadsheet reads it. */
export function parseCsv(text: string): Record<string, string>[] {
  const rows: string[][] = [[]];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]!;
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === "," || sign === "\n") {
      rows.at(-1)!.push(cell);
      cell = "";
      if (sign === "\n") rows.push([]);
    } else if (sign !== "\r") cell += sign;
  }
  if (cell !== "" || rows.at(-1)!.length > 0) rows.at(-1)!.push(cell);
  const [head = [], ...body] = rows.filter((row) => row.length > 0);
  return body.map((row) => {
    if (row.length !== head.length) throw new Error(`a row of ${row.length} cells under ${head.length}`);
    return Object.fromEntries(head.map((name, index) => [name, row[index]!]));
  });
}
