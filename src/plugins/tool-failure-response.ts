export const REFLECT_AND_RETRY_RESPONSE_TYPE = 'ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN';

/** What the model is told of a failure. Wire names: `ToolFailureResponse` of adk-python. */
export interface ToolFailureResponse {
  response_type: typeof REFLECT_AND_RETRY_RESPONSE_TYPE;
  error_type: string;
  error_details: string;
  retry_count: number;
  reflection_guidance: string;
}
