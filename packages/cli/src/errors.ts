/** Why the server refused a call: it does not know the key, or the key may not make this call. */
export type RefusalKind = "unauthenticated" | "forbidden";

/** An error that the user can fix. The command prints it without a stack trace and exits with `exitCode`. */
export class CliError extends Error {
  readonly hint: string | undefined;
  readonly exitCode: number;
  /** Undefined if the server did not refuse a call. */
  readonly refusal: RefusalKind | undefined;

  constructor(
    message: string,
    options: { hint?: string; exitCode?: number; refusal?: RefusalKind; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "CliError";
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 1;
    this.refusal = options.refusal;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
