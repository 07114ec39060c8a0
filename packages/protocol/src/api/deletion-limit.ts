/** Most sessions of one deletion. */
export const MOST_DELETED = 1_000;
