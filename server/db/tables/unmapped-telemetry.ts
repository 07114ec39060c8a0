/** Sources of unmapped telemetry that a project keeps; older ones are deleted. */
export const KEPT_UNMAPPED = 50;
