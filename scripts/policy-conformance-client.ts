import { createGuard } from "@plimsoll/guard";
import { backgroundFetch, filePolicyStore } from "@plimsoll/guard/node";
import { policySource } from "@plimsoll/guard/policy-source";
import { createReporter } from "@plimsoll/guard/report";

// The smallest client of the guard's policy source, for scripts/policy-conformance.ts.
const { PLIMSOLL_URL: url = "", PLIMSOLL_KEY: key = "", PLIMSOLL_HARNESS: harness = "" } = process.env;
const { PLIMSOLL_STATE, POLL_SECONDS = "30", SILENT_SECONDS = "120" } = process.env;
const { PLIMSOLL_BOUNDS, PLIMSOLL_ALLOW } = process.env;
const pollMs = Number(POLL_SECONDS) * 1_000;

const reporter = createReporter({ url, key, flushMs: 10 });
policySource({
  url,
  key,
  harness,
  guard: createGuard({ identity: { harness }, onEvent: reporter.record }),
  reporter,
  fetch: backgroundFetch,
  pollMs,
  retryMs: pollMs / 4,
  refusedMs: pollMs,
  silentMs: Number(SILENT_SECONDS) * 1_000,
  ...(PLIMSOLL_STATE !== undefined && { store: filePolicyStore(PLIMSOLL_STATE) }),
  ...(PLIMSOLL_BOUNDS !== undefined && { bounds: JSON.parse(PLIMSOLL_BOUNDS) }),
  ...(PLIMSOLL_ALLOW !== undefined && { allow: JSON.parse(PLIMSOLL_ALLOW) }),
  onChange: (settings, generation) => console.log(JSON.stringify({ generation, settings })),
  onTrouble: (message) => console.error(message),
});
// The subscription alone does not keep a process alive.
setInterval(() => {}, 60_000);
