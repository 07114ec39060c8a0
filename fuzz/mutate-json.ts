import { HOSTILE_NAMES, HOSTILE_TIMES, HOSTILE_VALUES } from "./hostile.ts";
import { Members, Raw } from "./json-text.ts";
import type { Random } from "./random.ts";

/** Where a value stands in a tree: replacing it is all a mutation does. */
interface Place {
  value: unknown;
  set(value: unknown): void;
}

/** Changes a copy of a JSON value in one to three places. The result may contain `Raw` and `Members`. */
export function mutateJson(random: Random, value: unknown): unknown {
  let tree = copyOf(value);
  for (let left = random.between(1, 3); left > 0; left--) {
    const places = placesOf(tree, (next) => {
      tree = next;
    });
    const place = random.pick(places);
    // A copy: a piece of the tree, or of the lists of hostile values, must not stand in two places.
    place.set(copyOf(changed(random, place.value, places)));
  }
  return tree;
}

function changed(random: Random, value: unknown, places: readonly Place[]): unknown {
  const kind = random.below(100);
  if (kind < 40) return otherValue(random, value);
  if (kind < 50) return random.pick(places).value;
  if (kind < 55) return [value];
  if (kind < 58) return { [random.pick(HOSTILE_NAMES)]: value };
  if (kind < 60) return nested(random);
  if (value instanceof Members) return withMember(random, value.entries);
  if (Array.isArray(value)) return changedList(random, value);
  if (typeof value === "object" && value !== null && !(value instanceof Raw)) {
    return withMember(random, Object.entries(value));
  }
  return otherValue(random, value);
}

function otherValue(random: Random, value: unknown): unknown {
  if (typeof value === "string") {
    const kind = random.below(6);
    if (kind === 0) return value.repeat(random.between(2, 40));
    if (kind === 1) return value.slice(0, random.below(value.length + 1));
    if (kind === 2) return value + random.pick(["\u0000", "\ud800", "\u0301", " ", "\n", "é"]);
    if (kind === 3) return random.pick(HOSTILE_TIMES);
  }
  if (typeof value === "number") {
    const kind = random.below(6);
    if (kind === 0) return -value;
    if (kind === 1) return value + random.pick([1, -1, 0.5, 1e-9]);
    if (kind === 2) return value * random.pick([10, 1_000, 2 ** 31, 2 ** 53]);
    if (kind === 3) return String(value);
  }
  return random.pick(HOSTILE_VALUES);
}

function withMember(random: Random, entries: readonly [string, unknown][]): Members {
  const next: [string, unknown][] = [...entries];
  const at = random.below(next.length + 1);
  const kind = random.below(5);
  const [name, value] = next[at] ?? [random.pick(HOSTILE_NAMES), random.pick(HOSTILE_VALUES)];
  if (kind === 0 && next.length > 0) next.splice(Math.min(at, next.length - 1), 1);
  // The same name twice: JSON.parse keeps the last, other readers the first.
  else if (kind === 1) next.push([name, random.pick(HOSTILE_VALUES)]);
  else if (kind === 2) next[at] = [random.pick(HOSTILE_NAMES), value];
  else if (kind === 3) next.splice(at, 0, [random.pick(HOSTILE_NAMES), random.pick(HOSTILE_VALUES)]);
  else next[at] = [name.toUpperCase(), value];
  return new Members(next);
}

function changedList(random: Random, list: readonly unknown[]): unknown[] {
  const item = list.length === 0 ? random.pick(HOSTILE_VALUES) : random.pick(list);
  switch (random.below(4)) {
    case 0:
      return [...list, item];
    case 1:
      return list.slice(1);
    case 2:
      return [...list].reverse();
    default:
      return Array.from({ length: random.between(2, 300) }, () => item);
  }
}

function nested(random: Random): Raw {
  const depth = random.weighted([
    [20, random.between(2, 20)],
    [5, random.between(100, 1_000)],
    [1, 20_000],
  ]);
  return random.oneIn(2)
    ? new Raw("[".repeat(depth) + "]".repeat(depth))
    : new Raw(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
}

function placesOf(value: unknown, set: (value: unknown) => void, places: Place[] = []): Place[] {
  places.push({ value, set });
  if (Array.isArray(value)) {
    // The first items stand for the others.
    for (let index = 0; index < Math.min(value.length, 8); index++) {
      placesOf(
        value[index],
        (next) => {
          value[index] = next;
        },
        places,
      );
    }
  } else if (value instanceof Members) {
    for (const entry of value.entries) {
      placesOf(
        entry[1],
        (next) => {
          entry[1] = next;
        },
        places,
      );
    }
  } else if (typeof value === "object" && value !== null && !(value instanceof Raw)) {
    const object = value as Record<string, unknown>;
    for (const name of Object.keys(object)) {
      placesOf(
        object[name],
        (next) => {
          object[name] = next;
        },
        places,
      );
    }
  }
  return places;
}

function copyOf(value: unknown): unknown {
  if (value instanceof Raw || typeof value !== "object" || value === null) return value;
  if (value instanceof Members)
    return new Members(value.entries.map(([name, inner]) => [name, copyOf(inner)]));
  if (Array.isArray(value)) return value.map(copyOf);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copyOf(inner)]));
}
