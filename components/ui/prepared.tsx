/** @jsxImportSource #jsx */
import { Activity, createContext, type ReactNode, useContext, useState } from "react";

const IsPrepared = createContext(false);

/** True within {@link Prepared}. */
export const useIsPrepared = () => useContext(IsPrepared);

/**
 * Renders what opens over the page before it is opened: hidden, without its effects, and while the browser has time. Opening
 * it then only has to show it. Each opening begins with new state.
 */
export function Prepared({ open, children }: { open: boolean; children: ReactNode }) {
  const [state, setState] = useState({ open, opening: 0 });
  if (state.open !== open) setState({ open, opening: state.opening + (open ? 0 : 1) });
  return (
    <IsPrepared value={true}>
      <Activity key={state.opening} mode={open ? "visible" : "hidden"}>
        {children}
      </Activity>
    </IsPrepared>
  );
}
