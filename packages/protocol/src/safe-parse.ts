import { z } from "zod";

/**
 * As `schema.safeParse`, for values from outside. zod compares the `length` also of what is neither a text nor a list, which
 * throws for an object that JavaScript cannot turn into a number, such as `{"length": {"toString": 1}}`.
 */
export function safeParse<Output>(
  schema: z.ZodType<Output>,
  value: unknown,
  params?: z.core.ParseContext<z.core.$ZodIssue>,
): z.ZodSafeParseResult<Output> {
  try {
    return schema.safeParse(value, params);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = "has an object with a field `length` that is no number";
    return z.custom<Output>(() => false, message).safeParse(value);
  }
}
