import { exact } from "../format.ts";

export function backlogText(events: number): string {
  return `${exact(events)} ${events === 1 ? "event is" : "events are"} still being processed`;
}
