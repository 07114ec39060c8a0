export { backgroundFetch } from "./background-fetch.ts";
export { withConversation } from "./conversation-scope.ts";
export { type Lock, lockFile } from "./file-lock.ts";
export { fileMaskStore, sessionLog } from "./file-stores.ts";
export { filePolicyStore } from "./policy-store.ts";
export { type ReplaceFileOptions, replaceFile } from "./replace-file.ts";
export { type RootPath, rootPath } from "./root-path.ts";
export { fileSpool, type SpoolOptions } from "./spool.ts";
