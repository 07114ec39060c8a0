// Builds what is stale, through wireit. Its cache is off: it keeps a copy of every build (20 MB) and never deletes one.
process.env.WIREIT_CACHE ??= "none";
process.env.npm_lifecycle_event = "build:all";
await import("wireit/bin/wireit.js");
