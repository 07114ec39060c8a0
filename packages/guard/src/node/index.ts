export { withConversation } from "./conversation-scope.ts";
export { fileMaskStore, sessionLog } from "./file-stores.ts";
export { fileSpool, type SpoolOptions } from "./spool.ts";
