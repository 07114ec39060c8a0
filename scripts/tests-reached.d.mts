export function testsReached(
  changed: readonly string[],
  files: readonly string[],
): { apiTests: string[]; stories: string[] };
