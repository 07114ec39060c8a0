const { existsSync } = require("node:fs");
const { join } = require("node:path");

/**
 * Runs a file of dist. The files here are committed because npm links only programs that exist when it installs, and a
 * checkout is built later.
 * @param {"plimsoll.js" | "phantom.js" | "statusline.cjs" | "hook.cjs"} file
 */
exports.runProgram = (file) => {
  if (!existsSync(join(__dirname, "../dist", file))) {
    const [name] = file.split(".");
    const checkout = join(__dirname, "../../..");
    console.error(`${name} is not built yet. Run "npm run build" or "npm start" in ${checkout} first.`);
    process.exitCode = 1;
  } else if (file.endsWith(".cjs")) require(`../dist/${file}`);
  else import(`../dist/${file}`);
};
