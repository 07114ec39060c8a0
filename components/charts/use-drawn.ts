import { useDeferredValue, useState } from "react";

/**
 * What a chart draws: the value of the last picture, until one looks different. Drawing takes long on a slow machine, so it waits for
 * keys and pointers.
 * @param isSame the same function in each render
 */
export function useDrawn<T>(value: T, isSame: (drawn: T, value: T) => boolean): T {
  const [drawn, setDrawn] = useState(value);
  const changed = value !== drawn && !isSame(drawn, value);
  if (changed) setDrawn(value);
  return useDeferredValue(changed ? value : drawn);
}
