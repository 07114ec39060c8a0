/** The project used when a request names none. It always exists. */
export const DEFAULT_PROJECT_ID = 1;

/** The request header that names a project, by id or by URI-encoded name. */
export const PROJECT_HEADER = "Plimsoll-Project";
/** Who a call of an agent's tool is from, URI-encoded. Set by its harness. */
export const SESSION_HEADER = "Plimsoll-Session";
export const AGENT_HEADER = "Plimsoll-Agent";

/** The query parameter with the same meaning, where a client cannot set headers. */
export const PROJECT_PARAMETER = "project";
