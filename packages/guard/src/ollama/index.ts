export { guardOllama, type OllamaClient } from "./client.ts";
export { type OllamaMessage, ollamaShape } from "./shape.ts";
