/** One server-sent event. */
export interface ServerEvent {
  event: string;
  data: string;
}

/** Returns a parser for server-sent events. Chunks may end anywhere. */
export function eventParser(): (chunk: string) => ServerEvent[] {
  let rest = "";
  let event = "";
  let data: string[] = [];
  return (chunk) => {
    // A \r at the end of a chunk may be the first half of \r\n, so keep it for the next chunk.
    const text = rest + chunk;
    const whole = text.endsWith("\r") ? text.slice(0, -1) : text;
    const lines = whole.split(/\r\n|\n|\r/);
    rest = lines.pop()! + text.slice(whole.length);
    const events: ServerEvent[] = [];
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) events.push({ event: event || "message", data: data.join("\n") });
        event = "";
        data = [];
      } else {
        const [, field, value] = /^([^:]*)(?:: ?)?(.*)$/s.exec(line)!;
        if (field === "data") data.push(value!);
        else if (field === "event") event = value!;
      }
    }
    return events;
  };
}
