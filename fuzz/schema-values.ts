import type { Random } from "./random.ts";

/** The part of JSON Schema that zod writes for our inputs. */
export interface JsonSchema {
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  const?: unknown;
  enum?: unknown[];
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

/** Values that make an otherwise valid input meet stored data: times and ids that the server knows. */
export interface Hints {
  /** Epoch ms that times are near. */
  now: number;
  /** Names that are often drawn, so that inputs meet in the same session, agent and model. */
  names: readonly string[];
  ids: readonly string[];
}

/** A value that satisfies the schema, as far as JSON Schema says it. Optional members are often left out. */
export function drawValue(random: Random, schema: JsonSchema, hints: Hints, name = ""): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return random.pick(schema.enum);
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return drawValue(random, random.pick(options), hints, name);
  const type = Array.isArray(schema.type) ? random.pick(schema.type) : schema.type;
  switch (type) {
    case "object":
      return objectOf(random, schema, hints);
    case "array": {
      const { minItems = 0, maxItems = 4, items = {} } = schema;
      const length = random.between(minItems, Math.max(minItems, Math.min(maxItems, 4)));
      return Array.from({ length }, () => drawValue(random, items, hints, name));
    }
    case "integer":
    case "number":
      return numberOf(random, schema, hints, name);
    case "boolean":
      return random.oneIn(2);
    case "string":
      return textOf(random, schema, hints, name);
    default:
      return null;
  }
}

function objectOf(random: Random, schema: JsonSchema, hints: Hints): Record<string, unknown> {
  const { properties = {}, required = [] } = schema;
  const result: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(properties)) {
    if (required.includes(name) || random.oneIn(3)) result[name] = drawValue(random, inner, hints, name);
  }
  return result;
}

function numberOf(random: Random, schema: JsonSchema, hints: Hints, name: string): number {
  // Times are the one number without limits in the schema.
  if (name === "at") return hints.now - random.below(3_600_000);
  const { minimum = 0, maximum = 1_000_000 } = schema;
  if (random.oneIn(12)) return random.pick([minimum, maximum]);
  return random.between(Math.max(minimum, 0), Math.min(maximum, 200_000));
}

function textOf(random: Random, schema: JsonSchema, hints: Hints, name: string): string {
  if (schema.format === "uuid") {
    return hints.ids.length > 0 && !random.oneIn(4) ? random.pick(hints.ids) : uuidOf(random);
  }
  if (schema.format === "date-time" || name === "at") {
    return new Date(hints.now - random.below(90 * 86_400_000)).toISOString();
  }
  if (name === "id") return `e${random.below(50_000)}`;
  const { minLength = 0, maxLength = 60 } = schema;
  if (random.oneIn(40)) return "x".repeat(random.pick([minLength, Math.min(maxLength, 2_000)]));
  return random.pick(hints.names).slice(0, maxLength).padEnd(minLength, "x");
}

function uuidOf(random: Random): string {
  const hex = () => random.bits().toString(16).padStart(8, "0");
  const [a, b, c, d] = [hex(), hex(), hex(), hex()];
  return `${a}-${b.slice(0, 4)}-7${b.slice(5)}-8${c.slice(1, 4)}-${c.slice(4)}${d}`;
}
