/** `[safety] context_limit` of an `ouro.toml`: the one figure needed from it, so no TOML library is. */
export function contextLimitOf(toml: string): number | undefined {
  let table = "";
  for (const line of toml.split(/\r?\n/)) {
    const header = /^\s*\[\s*([^[\]]+?)\s*\]\s*(#.*)?$/.exec(line);
    if (header) table = header[1]!;
    const entry = /^\s*(safety\s*\.\s*)?context_limit\s*=\s*([\d_]+)\s*(#.*)?$/.exec(line);
    if (entry && (entry[1] === undefined ? table === "safety" : table === "")) {
      const limit = Number(entry[2]!.replaceAll("_", ""));
      if (Number.isInteger(limit) && limit > 0) return limit;
    }
  }
  return undefined;
}
