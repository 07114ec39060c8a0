import { seededRandom } from "../examples/large-fleet/random.ts";
import { Fleet, type FleetShape } from "./fleet.ts";

/** How the events of a fleet reach the connections. By default an agent's events arrive in order over one connection. */
export interface Traffic {
  /** Spreads the events of every agent over all connections. */
  shared?: boolean;
  /** Share of the events that are sent hours after they happened. */
  late?: number;
  /** Share of the events that are sent again hours later. */
  repeated?: number;
  /** Leaves out what is no turn. */
  turnsOnly?: boolean;
}

/** Returns the next event for a connection, as JSON. */
export type NextEvent = (connection: number) => string;

export interface Events {
  next: NextEvent;
  /** How many events the fleet had when the latest one of a connection happened; 0 unless connections share agents. */
  position: (connection: number) => number;
}

const HOUR = 3_600_000;
/** Longest delay of an event, hours. The shortest is one hour. */
const LONGEST_DELAY = 3;

export function eventsOf(shape: FleetShape, traffic: Traffic = {}): Events {
  const fleet = new Fleet(shape);
  const random = seededRandom(shape.seed + 1_000_003);
  const inOrder: Events = {
    next: traffic.turnsOnly ? turnsOf(fleet) : (connection) => fleet.event(connection),
    position: () => 0,
  };
  const { next, position } = traffic.shared ? deal(inOrder.next, shape.connections, random) : inOrder;
  const isDelayed = (traffic.late ?? traffic.repeated) !== undefined;
  return { next: isDelayed ? delay(next, shape, traffic, random) : next, position };
}

function turnsOf(fleet: Fleet): NextEvent {
  return (connection) => {
    for (;;) {
      const event = fleet.event(connection);
      if (event.includes('"type":"turn"')) return event;
    }
  };
}

/** Deals events in order of time to random connections. */
function deal(next: NextEvent, connections: number, random: () => number): Events {
  const queues = Array.from({ length: connections }, (): { event: string; position: number }[] => []);
  const positions = queues.map(() => 0);
  let dealt = 0;
  return {
    position: (connection) => positions[connection]!,
    next: (connection) => {
      for (;;) {
        const first = queues[connection]!.shift();
        if (first !== undefined) {
          positions[connection] = first.position;
          return first.event;
        }
        const event = next(dealt % connections);
        dealt += 1;
        queues[Math.floor(random() * connections)]!.push({ event, position: dealt });
      }
    },
  };
}

/** Holds events back, or sends them again, after one to three hours of the fleet's time. */
function delay(
  next: NextEvent,
  shape: FleetShape,
  { late = 0, repeated = 0 }: Traffic,
  random: () => number,
): NextEvent {
  const eventsPerHour = (HOUR / shape.spacing) * (shape.sessions / shape.connections);
  const lanes = Array.from({ length: shape.connections }, () => ({
    sent: 0,
    held: new Map<number, string[]>(),
    due: [] as string[],
  }));
  return (connection) => {
    const lane = lanes[connection]!;
    for (;;) {
      lane.due.push(...(lane.held.get(lane.sent) ?? []));
      lane.held.delete(lane.sent);
      lane.sent += 1;
      const held = lane.due.shift();
      if (held !== undefined) return held;
      const event = next(connection);
      const choice = random();
      if (choice >= late + repeated) return event;
      const at = lane.sent + Math.round(eventsPerHour * (1 + random() * (LONGEST_DELAY - 1)));
      lane.held.set(at, [...(lane.held.get(at) ?? []), event]);
      if (choice >= late) return event;
    }
  };
}
