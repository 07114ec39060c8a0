import { hash } from "node:crypto";
import { canonicalJson } from "@plimsoll/protocol/policy";

/** The sha256 of a value's canonical JSON, in hexadecimal digits: the same in every language. */
export const hashOf = (value: unknown): string => hash("sha256", canonicalJson(value), "hex");
