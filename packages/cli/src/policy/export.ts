import { isDeepStrictEqual } from "node:util";
import { catalogWindow } from "@plimsoll/fold";
import { ADAPTERS, type Difference, type Fields, type HarnessAdapter } from "@plimsoll/harnesses/bridge";
import { withChanges } from "@plimsoll/harnesses/fields";
import { type PolicyBody, resolveForHarness } from "@plimsoll/protocol/policy";
import type { Command } from "commander";
import { stringify } from "yaml";
import { differenceText } from "../bridge/overview.ts";
import { planFor } from "../bridge/plan.ts";
import { type CommandContext, wholeNumber, withConnection } from "../command-context.ts";
import type { ConnectionFlags } from "../connection.ts";
import { CliError } from "../errors.ts";
import { printable } from "../terminal.ts";

/** What an export is for. */
export interface ExportSubject {
  /** Instance or family whose settings are exported, such as `claude-code`. */
  harness: string;
  /** Models that get a line of their own. */
  models: readonly string[];
  /** Size of the window in tokens; undefined for that of each model. */
  windowTokens?: number | undefined;
}

/** A document of managed settings, and what it cannot express of the policy. */
export interface ManagedDocument {
  settings: Fields;
  differences: readonly Difference[];
}

/** The managed settings that put the line of a policy into a harness. */
export function managedDocument(
  adapter: HarnessAdapter,
  policy: PolicyBody,
  { harness, models, windowTokens }: ExportSubject,
): ManagedDocument {
  const plans = [undefined, ...models].map((model) => {
    const known = {
      model,
      windowTokens: windowTokens ?? (model === undefined ? undefined : catalogWindow(model)),
      env: {},
      layers: [],
      weaker: [],
      commandLines: [],
    };
    const { settings } = resolveForHarness(policy, { harness, model }, {});
    const { changes, differences } = planFor(adapter, settings, {}, known);
    // The switch is for all models, so that of the general policy decides.
    return {
      differences,
      changes: changes.filter(
        ({ path }) => model === undefined || !isDeepStrictEqual(path, adapter.switch?.path),
      ),
    };
  });
  const notes = plans.flatMap(({ differences }) => differences);
  return {
    settings: withChanges(
      {},
      plans.flatMap(({ changes }) => changes),
    ),
    differences: notes.filter(
      (one, index) => index === notes.findIndex((other) => isDeepStrictEqual(one, other)),
    ),
  };
}

interface ExportFlags extends ConnectionFlags {
  harness: string;
  model?: string[];
  window?: number;
  gateway?: boolean;
  group?: string[];
}

const HELP = `
Without --gateway and --group, the command prints JSON: for the admin console, a device manager or a managed settings file.

Examples:
  npx plimsoll policy export --window 1000000 > managed-settings.json
  npx plimsoll policy export --window 1000000 --group eng-contractors`;

/** @param readPolicy the whole policy of the project */
export function addExportCommand(
  policy: Command,
  { out, err }: CommandContext,
  readPolicy: (flags: ConnectionFlags) => Promise<PolicyBody>,
): void {
  withConnection(policy.command("export"))
    .description("Print the policy's line as managed settings of Claude Code")
    .option("--harness <instance>", "whose settings", "claude-code")
    .option("--model <name...>", "models that get a line of their own")
    .option("--window <tokens>", "size of the window", wholeNumber)
    .option("--gateway", "print the policy of the apps gateway for everyone, as YAML")
    .option("--group <name...>", "print its policy for members of these groups")
    .addHelpText("after", HELP)
    .action(async (flags: ExportFlags) => {
      // The gateway would not start with it.
      if (flags.group?.includes("")) throw new CliError("The name of a group is empty.");
      const adapter = ADAPTERS.find(({ managed }) => managed !== undefined)!;
      const subject = { harness: flags.harness, models: flags.model ?? [], windowTokens: flags.window };
      const { settings, differences } = managedDocument(adapter, await readPolicy(flags), subject);
      const notes = differences.map((one) => printable(differenceText(adapter, one)));
      if (Object.keys(settings).length === 0)
        throw new CliError(`The policy sets no line that ${adapter.name}'s settings can express.`, {
          ...(notes.length > 0 && { hint: notes.join("\n") }),
        });
      for (const note of notes) err.write(`${note}\n`);
      const isGateway = flags.gateway === true || flags.group !== undefined;
      out.write(isGateway ? gatewayYaml(settings, flags.group) : `${JSON.stringify(settings, null, 2)}\n`);
    });
}

/** An entry of `managed.policies` in the configuration of the Claude apps gateway. Without groups, it is for everyone. */
export const gatewayYaml = (cli: Fields, groups?: readonly string[]): string =>
  stringify(
    { managed: { policies: [{ match: groups === undefined ? {} : { groups }, cli }] } },
    // Quotes what another version of YAML takes for a number or a boolean, such as a group named `yes`.
    { lineWidth: 0, compat: "yaml-1.1" },
  );
