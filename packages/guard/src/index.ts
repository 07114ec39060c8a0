export type { GuardOptions, MaskStore } from "./conversation/types.ts";
export { GuardError } from "./error.ts";
export { fit } from "./fit.ts";
export { createGuard, type Guard } from "./guard.ts";
export { ONE_AT_A_TIME, type PolicyInput } from "./policy/policy.ts";
export { recallTool } from "./recall/recall-tool.ts";
export type { GuardState } from "./state/state.ts";
export type { Message } from "./view/shape.ts";
