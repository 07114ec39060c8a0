type Params = Record<string, unknown>;

/** Lists the models that a server has loaded. */
interface ModelList {
  ps: () => Promise<{ models: unknown[] }>;
}

/** Knows the windows with which a server loads its models. */
export class LoadedWindows {
  readonly #client: ModelList;
  /** The server's default window per model, in tokens. */
  readonly #defaults = new Map<string, number>();

  constructor(client: ModelList) {
    this.#client = client;
  }

  /** The window that a call will have, in tokens, if that is known. */
  async expected(params: Params): Promise<number | undefined> {
    const model = String(params.model);
    return askedWindow(params) ?? this.#defaults.get(model) ?? (await loadedWindow(this.#client, model));
  }

  /** The window that a call had, in tokens. Call it afterwards, because a call may reload the model with another one. */
  async loaded(params: Params): Promise<number | undefined> {
    const model = String(params.model);
    const tokens = await loadedWindow(this.#client, model);
    if (tokens !== undefined && askedWindow(params) === undefined) this.#defaults.set(model, tokens);
    return tokens;
  }
}

/** The window that the request asks for, in tokens. */
function askedWindow({ options }: Params): number | undefined {
  const numCtx = (options as { num_ctx?: unknown } | undefined)?.num_ctx;
  return typeof numCtx === "number" ? numCtx : undefined;
}

/**
 * Returns the window that a running model was loaded with, in tokens; `undefined` if it is not loaded or the server
 * does not report it.
 */
async function loadedWindow(client: ModelList, model: string): Promise<number | undefined> {
  try {
    const { models } = await client.ps();
    for (const one of models as { name?: string; model?: string; context_length?: number }[]) {
      const named = [one.name, one.model].some((name) => name === model || name === `${model}:latest`);
      if (named && typeof one.context_length === "number") return one.context_length;
    }
  } catch {
    // The server is old or unreachable; in the latter case the following call reports it.
  }
  return undefined;
}
