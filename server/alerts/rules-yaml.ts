import { type AlertRule, orderedRule, readAlertRule } from "@plimsoll/protocol/alerts";
import type { AlertRuleView } from "@plimsoll/protocol/api";
import { stringify } from "yaml";
import { parseYaml } from "../parse-yaml.ts";
import { invalidRule } from "./valid-rule.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Rules as YAML. @param endpoints their ids by their names */
export function writeRules(
  rows: readonly Pick<AlertRuleView, "rule" | "enabled">[],
  endpoints: ReadonlyMap<string, string>,
): string {
  const names = new Map([...endpoints].map(([name, id]) => [id, name]));
  const rules = rows.map(({ rule, enabled }) => ({
    ...orderedRule({ ...rule, endpoints: rule.endpoints.map((id) => names.get(id) ?? id) }),
    ...(!enabled && { enabled }),
  }));
  return stringify({ rules });
}

/**
 * The rules of a text, each with whether it is switched on.
 * @param endpoints their ids by their names; a rule may use either
 * @throws PlimsollError `invalid_alert_rule` with `details.mistakes`, `bad_request` for text that is not YAML
 */
export function readRules(
  text: string,
  endpoints: ReadonlyMap<string, string>,
): { rule: AlertRule; enabled: boolean }[] {
  const value = parseYaml(text);
  const { rules } = (typeof value === "object" && value !== null ? value : {}) as Fields;
  if (!Array.isArray(rules)) throw invalidRule([{ path: "rules", message: "write a list of rules" }]);
  const mistakes: { path: string; message: string }[] = [];
  const names = new Set<string>();
  const read = rules.flatMap((value: unknown, place) => {
    const { enabled = true, ...body } =
      typeof value === "object" && value !== null ? (value as Fields) : { body: value };
    const unknown = namesOf(body).filter((name) => !endpoints.has(name) && !UUID.test(name));
    mistakes.push(
      ...unknown.map((name) => ({
        path: `rules.${place}.endpoints`,
        message: `there is no endpoint named ${JSON.stringify(name)}. Create it first`,
      })),
    );
    if (unknown.length > 0) return [];
    const one = readAlertRule({
      ...body,
      ...("endpoints" in body &&
        Array.isArray(body.endpoints) && {
          endpoints: namesOf(body).map((name) => endpoints.get(name) ?? name),
        }),
    });
    if (typeof enabled !== "boolean")
      mistakes.push({ path: `rules.${place}.enabled`, message: "write true or false" });
    if (!one.ok) {
      mistakes.push(
        ...one.mistakes.map(({ path, message }) => ({ path: `rules.${place}.${path}`, message })),
      );
      return [];
    }
    if (names.has(one.rule.name))
      mistakes.push({ path: `rules.${place}.name`, message: "two rules have this name. Rename one" });
    names.add(one.rule.name);
    return [{ rule: one.rule, enabled: enabled === true }];
  });
  if (mistakes.length > 0) throw invalidRule(mistakes);
  return read;
}

type Fields = Record<string, unknown>;

/** The endpoints that a rule names, as far as they are texts. */
const namesOf = ({ endpoints }: Fields): string[] =>
  Array.isArray(endpoints) ? endpoints.filter((name): name is string => typeof name === "string") : [];
