export { fileLoopStore, fileRunStore, fileSessionsStore, writeAtomic } from "./run-stores.ts";
