import { jsx as element, jsxs as elements } from "react/jsx-runtime";
import { visibleProps } from "./visible-props.ts";

export { Fragment, type JSX } from "react/jsx-runtime";

export const jsx: typeof element = (type, props, key) => element(type, visibleProps(props), key);
export const jsxs: typeof elements = (type, props, key) => elements(type, visibleProps(props), key);
