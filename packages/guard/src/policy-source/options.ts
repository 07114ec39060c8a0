import type { PlimsollEventInput, PolicySettings, ThresholdValue } from "@plimsoll/protocol/pure";
import type { OptionNames } from "../policy/check-names.ts";
import type { PolicyInput } from "../policy/policy.ts";

/** What a policy source changes: a guard, or anything else that takes a policy at a turn boundary. */
export interface PolicyTarget {
  /** The harness's own policy when the source begins. It stays the fallback for each field that the project does not set. */
  readonly policy: PolicyInput;
  /** Takes a policy. May throw; the source then goes back to the policy before. */
  changePolicy(policy: PolicyInput): void;
}

/** Sends acknowledgements, and learns of new generations from the server's answers: a reporter. */
export interface AckReporter {
  record(event: PlimsollEventInput): void;
  onPolicyGeneration?(listener: (generation: number) => void): () => void;
}

/** The values that a field may have, whatever the server says. */
export interface FieldBound {
  /** Least value: a number, or a threshold in the form in which the policy writes it. */
  min?: ThresholdValue;
  /** Greatest value. A threshold or limit that is switched off counts as above every maximum. */
  max?: ThresholdValue;
  /** The only values allowed, such as `["enforce"]`. */
  oneOf?: readonly unknown[];
}

/** Keeps the last good policy across restarts, such as `filePolicyStore(folder)`. May throw; the source goes on without. */
export interface PolicyStore {
  /** Returns what was written last under this name, or `undefined`. */
  read(name: string): Promise<string | undefined>;
  /** Replaces it atomically. */
  write(name: string, text: string): Promise<void>;
}

/** Options of {@link policySource}. Durations in ms. */
export interface PolicySourceOptions {
  /** Base URL of the server. */
  url: string;
  /** Key with the scope `policy:read` or `read`. A function is asked before each request, so that a key can be rotated. */
  key: string | (() => string);
  /** The harness instance, such as `my-bot@host-1`. */
  harness: string;
  /** The model that the policy is asked for. */
  model?: string;
  guard: PolicyTarget;
  /** Sends the acknowledgements. The server's answers to it also announce changes. */
  reporter?: AckReporter;
  store?: PolicyStore;
  /** Paths that the server may set, such as `thresholds.ceiling` or all of `masking`. Default: every setting of the guard. */
  allow?: readonly string[];
  /** Bounds of fields by path. */
  bounds?: Readonly<Record<string, FieldBound>>;
  /** What becomes of a value out of bounds: `reject` the whole policy, or `clamp` the value. Default: `reject`. */
  onOutOfBounds?: "reject" | "clamp";
  /** Paths of settings that the harness itself obeys, such as `loop.max_context_pct`. It reads them from `settings`. */
  handles?: readonly string[];
  /** Returns whether the harness works. Asked for `healthMs` after each change; false or an error reverts the change. */
  healthy?: () => boolean | Promise<boolean>;
  /** Default: 60,000. */
  healthMs?: number;
  /** Called after each change with all settings in force. */
  onChange?: (settings: PolicySettings, generation: number) => void;
  /** Called with each new kind of problem. */
  onTrouble?: (message: string) => void;
  /** Interval of polls while streaming fails, ± 20 %. Default: 30,000. */
  pollMs?: number;
  /** First wait after a failure. It doubles up to `pollMs`; each is shortened by up to a half at random. Default: 1,000. */
  retryMs?: number;
  /** Longest wait after the server refused the key. Default: 300,000. */
  refusedMs?: number;
  /** A stream that says nothing for this long is closed. Default: 120,000. */
  silentMs?: number;
  /** Timeout of one request. Default: 10,000. */
  timeoutMs?: number;
  /** For how long the server's history must be behind before an older generation is taken. Default: 600,000. */
  restoredMs?: number;
  /** The `fetch` to use. On Node, `backgroundFetch` does not keep the process alive. Default: the global one. */
  fetch?: typeof fetch;
  /** Current time in epoch ms. */
  clock?: () => number;
  /** Random number from 0 to 1, for jitter. */
  random?: () => number;
}

export const POLICY_SOURCE_OPTIONS: OptionNames<PolicySourceOptions> = {
  url: "required",
  key: "required",
  harness: "required",
  model: "optional",
  guard: "required",
  reporter: "optional",
  store: "optional",
  allow: "optional",
  bounds: "optional",
  onOutOfBounds: "optional",
  handles: "optional",
  healthy: "optional",
  healthMs: "optional",
  onChange: "optional",
  onTrouble: "optional",
  pollMs: "optional",
  retryMs: "optional",
  refusedMs: "optional",
  silentMs: "optional",
  timeoutMs: "optional",
  restoredMs: "optional",
  fetch: "optional",
  clock: "optional",
  random: "optional",
};
