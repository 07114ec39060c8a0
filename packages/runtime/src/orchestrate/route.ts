import type { SplitRequest } from "./split.ts";

/** What a sub-phase waits for, as places in its request. */
export interface SubPhaseOrder {
  /** Must be completed before it starts. */
  needs: number[];
  /** Must have ended before it starts, completed or not. */
  waitsFor: number[];
}

/** Where the sub-phases of a request come: each after those that it names, and after the earlier ones of its groups. */
export function routesOf(request: SplitRequest): SubPhaseOrder[] {
  const { subPhases, groupings } = request;
  const order = orderOf(request);
  const groups = Object.values(groupings);
  return subPhases.map((sub, place) => {
    const needs = needsOf(request, place);
    const grouped = order
      .slice(0, order.indexOf(place))
      .filter((other) => groups.some((group) => isIn(group, sub) && isIn(group, subPhases[other]!)));
    return { needs, waitsFor: [...new Set([...needs, ...grouped])] };
  });
}

function isIn(group: readonly string[], { name, issues }: SplitRequest["subPhases"][number]): boolean {
  return group.some((one) => one === name || issues.includes(one));
}

/** Says why the sub-phases of a request cannot be put in an order; undefined if they can. A model may have written it. */
export function routeProblem(request: SplitRequest): string | undefined {
  const isComplete = ({ name, issues, after = [] }: SplitRequest["subPhases"][number]) =>
    typeof name === "string" && [issues, after].every(Array.isArray);
  if (!request.subPhases.every(isComplete)) return "a sub-phase needs a name and a list of issues";
  if (!Object.values(request.groupings ?? [undefined]).every(Array.isArray))
    return "groupings must have a list of issues for each group";
  const names = request.subPhases.map(({ name }) => name);
  for (const { name, after = [] } of request.subPhases) {
    const unknown = after.find((one) => !names.includes(one));
    if (unknown !== undefined)
      return `sub-phase "${name}" must come after "${unknown}", which does not exist`;
  }
  const order = orderOf(request);
  const circle = names.findIndex((_, place) => !order.includes(place));
  return circle < 0 ? undefined : `sub-phase "${names[circle]}" would have to wait for itself`;
}

/** The places in an order in which each comes after what it needs. Those that need each other are left out. */
function orderOf(request: SplitRequest): number[] {
  const order: number[] = [];
  const left = request.subPhases.map((_, place) => place);
  for (;;) {
    const next = left.findIndex((place) => needsOf(request, place).every((one) => order.includes(one)));
    if (next < 0) return order;
    order.push(...left.splice(next, 1));
  }
}

function needsOf({ subPhases }: SplitRequest, place: number): number[] {
  const { after = [] } = subPhases[place]!;
  return subPhases.flatMap(({ name }, other) => (after.includes(name) ? [other] : []));
}
