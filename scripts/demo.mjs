import { pathToFileURL } from "node:url";
import { bundleDemo, demoBundle } from "./bundle.mjs";
import { isBuilt } from "./sources.mjs";

/**
 * Runs the four example harnesses in this process, against the server of PLIMSOLL_URL and PLIMSOLL_KEY, else this
 * machine's. From a built tree nothing is written and nothing but the bundle is read.
 */
if (!isBuilt()) await bundleDemo();
await import(pathToFileURL(demoBundle).href);
