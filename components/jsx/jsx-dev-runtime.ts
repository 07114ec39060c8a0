import { jsxDEV as element } from "react/jsx-dev-runtime";
import { visibleProps } from "./visible-props.ts";

export { Fragment, type JSX } from "react/jsx-dev-runtime";

export const jsxDEV: typeof element = (type, props, ...rest) => element(type, visibleProps(props), ...rest);
