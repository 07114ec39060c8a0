const NAMED =
  /((?:key|token|secret|passw(?:or)?d|auth\w*|headers?|credentials?)["']?[ \t]*[:=][ \t]*)(["']?)(?![ \t]*[{[])([^"',}\r\n]+)/gi;

/** A line of a settings file without the secrets in it, to show. */
export function maskedText(line: string): string {
  return line
    .replace(NAMED, (found, name: string, quote: string, value: string) =>
      /plim_/.test(value) ? found : `${name}${quote}…`,
    )
    .replace(/:\/\/[^/@\s"']*@/g, "://…@")
    .replace(/plim_\w+/g, "plim_…");
}
