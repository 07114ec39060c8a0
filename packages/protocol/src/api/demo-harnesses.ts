/** The harness instances of the demo fleet. */
export const DEMO_HARNESSES = [
  "phantom@demo",
  "ouroboros@demo",
  "autopilot@demo",
  "watcher@demo",
  "workers@demo",
];
