export { backgroundFetch } from "./background-fetch.ts";
export { withConversation } from "./conversation-scope.ts";
export { fileMaskStore, sessionLog } from "./file-stores.ts";
export { filePolicyStore } from "./policy-store.ts";
export { fileSpool, type SpoolOptions } from "./spool.ts";
