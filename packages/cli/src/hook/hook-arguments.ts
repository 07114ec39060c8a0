/** What the command of a hook was asked to do. */
export interface HookArguments {
  /** Family of the harness; empty if none was named. */
  family: string;
  /** Folder with the record of the connection that wrote the hook. */
  connection: string | undefined;
  /** The harness instance of the events. */
  harness: string | undefined;
  /** Whether this run only reports to the server. */
  isReport: boolean;
  /** Whether this run is the forwarder of the connection. */
  isForwarder: boolean;
}

/** @param words after the name of the program, of which the first is `hook` */
export function hookArguments([, ...words]: readonly string[]): HookArguments {
  const after = (flag: string) => {
    const place = words.indexOf(flag);
    return place < 0 ? undefined : words[place + 1];
  };
  const [first = ""] = words;
  return {
    family: first.startsWith("-") ? "" : first,
    connection: after("--connection"),
    harness: after("--harness"),
    isReport: words.includes("--report"),
    isForwarder: words.includes("--forward"),
  };
}
