export { until, untilPasses } from "../../packages/guard/src/testing/until.ts";
