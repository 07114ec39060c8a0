export { fileLoopStore, fileMaskStore, fileRunStore, sessionLog, writeAtomic } from "./files.ts";
export { fileSpool, type SpoolOptions } from "./spool.ts";
