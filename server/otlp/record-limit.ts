import { PlimsollError } from "../errors.ts";

/** Records of one request: ten times what exporters and collectors send at once. */
export const MOST_RECORDS = 100_000;

export function tooManyRecords(): PlimsollError {
  return new PlimsollError(
    "too_large",
    `More than ${MOST_RECORDS} records in one request. Send smaller batches.`,
    { details: { limit: MOST_RECORDS, unit: "records" } },
  );
}
