import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The folder of the package that a bundled module belongs to; undefined for our own code. */
function packageFolderOf(moduleId) {
  return /^.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/.exec(moduleId)?.[0];
}

/** A bundler plugin that writes the licenses of all bundled packages to THIRD-PARTY-LICENSES.txt. */
export function thirdPartyLicenses() {
  const folders = new Set();
  return {
    name: "third-party-licenses",
    generateBundle(_options, bundle) {
      for (const { moduleIds = [] } of Object.values(bundle)) {
        for (const id of moduleIds) {
          const folder = packageFolderOf(id);
          if (folder !== undefined) folders.add(folder);
        }
      }
      if (folders.size === 0) return;
      const source = [...folders]
        .sort()
        .map(licenseOf)
        .join(`\n${"-".repeat(72)}\n\n`);
      this.emitFile({ type: "asset", fileName: "THIRD-PARTY-LICENSES.txt", source });
    },
  };
}

function licenseOf(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} ${version} has no license file in ${folder}.`);
  return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}
