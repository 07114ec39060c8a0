import { overLimit } from "../../../bodies/body-budget.ts";
import type { PlimsollError } from "../../../errors.ts";

/** Records of one request: ten times what exporters and collectors send at once. */
export const MOST_RECORDS = 100_000;
/** Resources and scopes of one request, with records or without. */
export const MOST_GROUPS = 100_000;

export const tooManyRecords = (): PlimsollError =>
  overLimit(`More than ${MOST_RECORDS} records in one request.`, MOST_RECORDS, "records");

export const tooManyGroups = (): PlimsollError =>
  overLimit(
    `More than ${MOST_GROUPS} resources and scopes in one request.`,
    MOST_GROUPS,
    "resources and scopes",
  );
