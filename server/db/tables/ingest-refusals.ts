/** Faults of refused events that a project keeps; older ones are deleted. */
export const KEPT_REFUSALS = 50;
