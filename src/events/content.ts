export type {
  CitationMetadata,
  Content,
  FinishReason,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  GenerateContentResponseUsageMetadata,
  GroundingMetadata,
  Part,
  Transcription,
} from '@google/genai';
