export type {
  AckReporter,
  FieldBound,
  PolicySourceOptions,
  PolicyStore,
  PolicyTarget,
} from "./options.ts";
export { type PolicySource, policySource } from "./source.ts";
