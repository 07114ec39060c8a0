/** Turns of one agent by number, both ends included. */
export interface TurnSpan {
  from: number;
  to: number;
}

/** Reads `120-260`; null for anything else, also for ends in the wrong order. */
export function parseTurnSpan(text: string): TurnSpan | null {
  const match = /^(\d{1,9})-(\d{1,9})$/.exec(text);
  if (match === null) return null;
  const [from, to] = [Number(match[1]), Number(match[2])];
  return from >= 1 && from <= to ? { from, to } : null;
}

export const serializeTurnSpan = ({ from, to }: TurnSpan): string => `${from}-${to}`;
