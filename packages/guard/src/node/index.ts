export { withConversation } from "./conversation-scope.ts";
export {
  fileLoopStore,
  fileMaskStore,
  fileRunStore,
  fileSessionsStore,
  sessionLog,
  writeAtomic,
} from "./file-stores.ts";
export { fileSpool, type SpoolOptions } from "./spool.ts";
