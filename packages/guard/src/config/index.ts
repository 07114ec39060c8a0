export { ConfigError } from "./config-error.ts";
export { type OuroConfig, ouroContextLimit, readOuroToml } from "./ouro.ts";
export { type PhantomConfig, readPhantomYaml } from "./phantom.ts";
