import type {
  BridgePlan,
  Difference,
  Fields,
  HarnessAdapter,
  Known,
  SettingsChange,
} from "@plimsoll/harnesses/bridge";
import {
  compareLine,
  type HarnessLine,
  lineValue,
  policyLine,
  type WantedLine,
} from "@plimsoll/harnesses/bridge";
import { at, withChanges } from "@plimsoll/harnesses/fields";
import type { PolicySettings, ThresholdValue } from "@plimsoll/protocol/policy";

/**
 * What a policy means for a harness with these settings.
 * @param settings of its file, without what the bridge itself wrote there
 */
export function planFor(
  adapter: HarnessAdapter,
  policy: PolicySettings,
  settings: Fields,
  known: Known,
): BridgePlan {
  const asked = policyLine(policy, known.windowTokens);
  const off = switchChange(adapter, policy, settings, known);
  const isOff = policy.compaction?.mode === "off" && off.length > 0;
  const expressed =
    asked.kind === "line" && !isOff ? adapter.express(asked.wanted, settings, known) : ([] as const);
  const changes = [...off, ...(typeof expressed === "string" ? [] : expressed)];
  const patched = withChanges(settings, changes);
  const { line, by } = adapter.line(patched, known);
  const wanted = asked.kind === "line" && !isOff ? asked.wanted : undefined;
  const differences = [
    ...(wanted === undefined ? [] : lineDifferences(adapter, wanted, expressed, patched, known)),
    ...(isOff && line.kind !== "off" ? [overriddenSwitch(line, by)] : []),
    ...unsupported(adapter, policy),
  ];
  const effective = effectiveOf(policy, wanted, line);
  return {
    changes,
    line,
    differences,
    control: adapter.control,
    ...(effective !== undefined && { effective }),
  };
}

function switchChange(
  adapter: HarnessAdapter,
  policy: PolicySettings,
  settings: Fields,
  { weaker }: Known,
): SettingsChange[] {
  const { switch: toggle } = adapter;
  const mode = policy.compaction?.mode;
  if (toggle === undefined || mode === undefined || policy.enforcement === "warn_only") return [];
  const value = mode === "off" ? !toggle.on : toggle.on;
  // A harness that compacts by default needs no key to do so, unless a weaker layer may switch it off.
  if (value === toggle.on && weaker === undefined && at(settings, toggle.path) === undefined) return [];
  return [{ path: toggle.path, value }];
}

function lineDifferences(
  adapter: HarnessAdapter,
  wanted: WantedLine,
  expressed: readonly SettingsChange[] | string,
  patched: Fields,
  known: Known,
): Difference[] {
  const real = adapter.line(patched, known);
  const found = {
    path: wanted.path,
    wanted: settingOf(wanted.value),
    effective: settingOf(lineValue(real.line)),
  };
  if (typeof expressed === "string") return [{ ...found, code: "unsupported", by: expressed }];
  const order = compareLine(real.line, wanted);
  if (order === 0 || (order === undefined && real.by === undefined)) return [];
  return [
    real.by === undefined
      ? { ...found, code: "clamped", by: adapter.name }
      : { ...found, code: "local_override", by: real.by },
  ];
}

/** An acknowledgement holds a share with a floor as a plain object. */
const settingOf = (value: ThresholdValue | undefined) =>
  typeof value === "object" && value !== null ? { ...value } : value;

const overriddenSwitch = (line: HarnessLine, by: string | undefined): Difference => ({
  path: "compaction.mode",
  code: by === undefined ? "unsupported" : "local_override",
  wanted: "off",
  effective: settingOf(lineValue(line)),
  ...(by !== undefined && { by }),
});

/** What a policy may ask that no bridge can do, because only the guard acts on a context. */
function unsupported(adapter: HarnessAdapter, policy: PolicySettings): Difference[] {
  const { masking, restart, loop, compaction } = policy;
  const asked: [string, unknown, boolean][] = [
    ["masking.enabled", masking?.enabled, masking?.enabled === true],
    ["restart.mode", restart?.mode, restart?.mode === "auto" || restart?.mode === "ask"],
    ["loop.max_context_pct", loop?.max_context_pct, loop?.max_context_pct !== undefined],
    ["compaction.reinject", compaction?.reinject, compaction?.reinject === true && !adapter.reinjects],
    [
      "compaction.mode",
      compaction?.mode,
      compaction?.mode === "fresh_session" || (compaction?.mode === "off" && adapter.switch === undefined),
    ],
  ];
  return asked
    .filter(([, , isAsked]) => isAsked)
    .map(([path, value]) => ({
      path,
      code: "unsupported" as const,
      wanted: value as string | number | boolean,
      by: adapter.name,
    }));
}

/** A ceiling is what a harness is judged by first, so the real line is stated as one. */
function effectiveOf(
  policy: PolicySettings,
  wanted: WantedLine | undefined,
  line: HarnessLine,
): PolicySettings | undefined {
  const value = lineValue(line);
  if (value === undefined) return undefined;
  if (line.kind === "off")
    return { thresholds: { ceiling: null, ...(policy.thresholds?.hard == null && { hard: "100%" }) } };
  const isAsWanted = wanted?.path === "thresholds.ceiling" && compareLine(line, wanted) === 0;
  return isAsWanted ? undefined : { thresholds: { ceiling: value } };
}
