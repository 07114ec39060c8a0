export { ConfigError } from "./config-error.ts";
export { type OuroConfig, readOuroToml } from "./ouro.ts";
export { type PhantomConfig, readPhantomYaml } from "./phantom.ts";
