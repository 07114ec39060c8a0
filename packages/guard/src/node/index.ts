export { backgroundFetch } from "./background-fetch.ts";
export { withConversation } from "./conversation-scope.ts";
export { type Lock, lockFile } from "./file-lock.ts";
export { fileMaskStore, sessionLog } from "./file-stores.ts";
export { filePolicyStore } from "./policy-store.ts";
export { fileSpool, type SpoolOptions } from "./spool.ts";
