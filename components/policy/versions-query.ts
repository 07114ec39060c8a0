/** The first page of the history; the server prefetches the same. */
export const versionsQuery = () => ({ limit: 20 });
