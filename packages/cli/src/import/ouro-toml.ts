/** Returns `[safety] context_limit` of an `ouro.toml`. One value does not justify a TOML library. */
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
