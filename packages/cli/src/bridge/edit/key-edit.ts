/** A key to set, or to remove if the value is undefined. */
export interface KeyEdit {
  path: readonly string[];
  value: unknown;
}
