import { afterAll } from "vitest";
import { cleanEnvironment } from "./environment.ts";

// Imported before an SDK, so that it finds a clean environment already when it is loaded.
const { restore } = cleanEnvironment();
afterAll(restore);
