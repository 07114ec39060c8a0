import { afterAll } from "vitest";
import { cleanEnvironment } from "./environment.ts";

// Import this before an SDK, because SDKs read the environment when they load.
const { restore } = cleanEnvironment();
afterAll(restore);
