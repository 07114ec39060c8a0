import type { ObservedLine } from "@plimsoll/fold";
import type {
  LineCause,
  LineVerdict,
  PolicyPreset,
  ThresholdValue,
  WindowSource,
} from "@plimsoll/protocol/pure";
import type { OwnHarnessLine } from "./harness-line.ts";

/** Where a harness compacts by itself without settings of its user. Negative numbers are tokens that stay free. */
export interface OwnLine {
  /** The harness compacts at the lowest. The first one decides in the windows of the models that it is made for. */
  rules: readonly [NonNullable<ThresholdValue>, ...NonNullable<ThresholdValue>[]];
  /** A warning some turns before. */
  warning: string;
  /** The rule for windows of up to this many tokens; null if the harness does not compact in them. */
  small?: { upTo: number; rule: ThresholdValue };
  /** The setting that moves the line. */
  setting?: string;
  /** Settings of a project or an administrator win over those of the user. */
  layered?: true;
}

/** What is known where a harness compacts elsewhere than its own line says. */
export interface LineFacts {
  harness: string;
  verdict: LineVerdict;
  line: OwnHarnessLine | undefined;
  observed: Pick<ObservedLine, "lowest" | "highest">;
  /** Of the turns before the falls. Tokens; undefined if unknown. */
  windowTokens: number | undefined;
  windowSource: WindowSource;
}

/** Why harnesses of one family may compact elsewhere. */
export interface FamilyLineCause {
  fits(facts: LineFacts): boolean;
  /** In a sentence. */
  text: string;
}

/** Why the levels of one family fall. Read in the harnesses' sources and documentation in November 2026. */
export interface FamilyLine {
  own?: OwnLine;
  /** The policy that it is designed for, in place of an own line. */
  preset?: PolicyPreset;
  lineCauses?: Partial<Record<LineCause, FamilyLineCause>>;
  /** The usual causes of a fall that no event explains, the most likely first. One sentence each. */
  falls?: readonly string[];
}

export const EXPERIMENT: FamilyLineCause = {
  fits: ({ line }) => line?.basis === "computed",
  text: "The maker of the harness tries other lines with some accounts.",
};
