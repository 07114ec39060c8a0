export { type ChatClient, guardChat } from "./chat.ts";
export { guardResponses, type ResponsesClient } from "./responses.ts";
export { type ChatMessage, chatShape, type InputItem, responsesShape } from "./shape.ts";
