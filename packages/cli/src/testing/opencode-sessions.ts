type Fields = Record<string, unknown>;

/** Sessions as opencode 1.18 keeps them, and the client with which a plugin reads them. */
export class OpencodeSessions {
  readonly #sessions = new Map<string, { info: Fields; messages: { info: Fields; parts: Fields[] }[] }>();
  #ids = 0;
  #at = Date.now() - 3_600_000;

  readonly client = {
    session: {
      get: async ({ path: { id } }: { path: { id: string } }) => ({ data: this.#sessions.get(id)?.info }),
      messages: async ({ path: { id }, query }: { path: { id: string }; query?: { limit: number } }) => ({
        data: structuredClone(this.#sessions.get(id)?.messages.slice(-(query?.limit ?? 1e9))),
      }),
    },
  };

  start(parentID?: string): string {
    const id = this.#id("ses");
    this.#sessions.set(id, {
      info: { id, parentID, projectID: "p", time: { created: this.#now() } },
      messages: [],
    });
    return id;
  }

  prompt(session: string, text: string): this {
    this.#add(session, { role: "user" }, [{ type: "text", text }]);
    return this;
  }

  /** A call with a result of a tool, which is counted. */
  step(session: string, level: number, result = "ok", name = "bash"): this {
    const state = {
      status: "completed",
      input: { command: "x" },
      output: result,
      metadata: { output: result, exit: 0 },
    };
    const tokens = { input: level, output: 20, reasoning: 0, cache: { read: 0, write: 0 } };
    const info = this.#add(session, { role: "assistant", modelID: "scripted", providerID: "local", tokens }, [
      {
        type: "tool",
        tool: name,
        callID: this.#id("call"),
        state: { ...state, time: { start: this.#now() } },
      },
    ]);
    (info.time as Fields).completed = this.#now();
    return this;
  }

  /** A call whose tools run: its counts are zeros until they end. */
  begin(session: string, text = ""): { partID: string } {
    const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } };
    const parts = [
      { type: "text", text, time: { start: this.#now() } },
      {
        type: "tool",
        tool: "plimsoll_headroom",
        callID: this.#id("call"),
        state: { status: "running", input: {}, time: { start: this.#now() } },
      },
    ];
    this.#add(session, { role: "assistant", modelID: "scripted", providerID: "local", tokens }, parts);
    return { partID: String(this.#sessions.get(session)!.messages.at(-1)!.parts[0]!.id) };
  }

  compaction(session: string, level: number): this {
    const tokens = { input: level, output: 50, reasoning: 0, cache: { read: 0, write: 0 } };
    const info = this.#add(
      session,
      {
        role: "assistant",
        modelID: "scripted",
        providerID: "local",
        summary: true,
        mode: "compaction",
        tokens,
      },
      [{ type: "text", text: "All was done." }],
    );
    (info.time as Fields).completed = this.#now();
    return this;
  }

  #add(session: string, info: Fields, parts: Fields[]): Fields {
    const id = this.#id("msg");
    const message = {
      info: { id, sessionID: session, time: { created: this.#now() }, ...info },
      parts: parts.map((part) => ({ id: this.#id("prt"), sessionID: session, messageID: id, ...part })),
    };
    this.#sessions.get(session)!.messages.push(message);
    return message.info;
  }

  #id(kind: string): string {
    this.#ids += 1;
    return `${kind}_${String(this.#ids).padStart(12, "0")}`;
  }

  #now(): number {
    this.#at += 10;
    return this.#at;
  }
}
