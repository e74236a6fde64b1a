export type {
  CitationMetadata,
  CodeExecutionResult,
  Content,
  ExecutableCode,
  FinishReason,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  GenerateContentResponseUsageMetadata,
  GroundingMetadata,
  Part,
  Transcription,
} from '@google/genai';
