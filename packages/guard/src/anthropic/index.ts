export { guardMessages, type MessagesClient } from "./messages.ts";
export { type AnthropicMessage, anthropicShape } from "./shape.ts";
