import { Worker } from "node:worker_threads";

/** Runs a TypeScript file of this folder in a thread of its own. */
export function startWorker(file: string, workerData: unknown): Worker {
  const entry = JSON.stringify(new URL(file, import.meta.url).href);
  // Node gives a thread no loaders of its parent.
  const start = `import("tsx/esm/api").then(({ register }) => { register(); return import(${entry}); })`;
  return new Worker(start, { eval: true, workerData });
}
