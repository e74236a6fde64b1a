/** Names of the calls by which a turn asks a person, and that a client answers by function responses; those of `@google/adk`. */
export const REQUEST_CONFIRMATION_FUNCTION_CALL_NAME = 'adk_request_confirmation';
export const REQUEST_CREDENTIAL_FUNCTION_CALL_NAME = 'adk_request_credential';
export const REQUEST_INPUT_FUNCTION_CALL_NAME = 'adk_request_input';
