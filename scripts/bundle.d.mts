import type { BuildOptions, BuildResult } from "esbuild";

export const demoBundle: string;
export function bundleServer(): Promise<BuildResult>;
export function bundleDemo<T extends BuildOptions>(options?: T): Promise<BuildResult<T>>;
