"use client";

import { type FocusEvent, type PointerEvent, useEffect, useRef, useState } from "react";

/** Whether the pointer or the focus is inside an element. After a touch, the pointer is inside until one elsewhere. */
export function useInside() {
  const [pointer, setPointer] = useState(false);
  const [focus, setFocus] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const leave = ({ target }: Event) => {
      if (!ref.current?.contains(target as Node)) setPointer(false);
    };
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, []);
  return {
    inside: pointer || focus,
    /** Acts as if both had left, until the next one enters. */
    leave() {
      setPointer(false);
      setFocus(false);
    },
    props: {
      ref,
      onPointerEnter: () => setPointer(true),
      onPointerLeave: ({ pointerType }: PointerEvent) => pointerType === "mouse" && setPointer(false),
      onFocus: () => setFocus(true),
      onBlur: ({ currentTarget, relatedTarget }: FocusEvent<HTMLElement>) =>
        setFocus(currentTarget.contains(relatedTarget)),
    },
  };
}
