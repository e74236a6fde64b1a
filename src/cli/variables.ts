/** Effect of a variable of the environment. */
export interface Variable {
  /** One or two sentences. */
  meaning: string;
  /** Default when neither an option nor the variable is set; absent without a default. */
  byDefault?: string;
  /** The package that reads it, if that is no code of Holdfast's. */
  readBy?: '@temporalio/envconfig' | '@google/genai';
}

/** Variables that belong together, under their heading in docs/configuration.md. */
export interface VariableGroup {
  heading: string;
  variables: Readonly<Record<string, Variable>>;
}

const readBy = '@temporalio/envconfig';

/** Every variable that Holdfast reads, itself or through the packages that it connects by. An empty one counts as not set. */
export const VARIABLE_GROUPS: readonly VariableGroup[] = [
  {
    heading: 'Store and workers',
    variables: {
      HOLDFAST_STORE: {
        meaning: '`postgres://` URL of the store.',
        byDefault: 'a store embedded in the folder',
      },
      HOLDFAST_STORE_LISTEN: {
        meaning:
          '`postgres://` URL of the same database, past a pooler: what other processes write, and partial text, is heard there.',
        byDefault: 'followers look twice a second, and get no partial text of other processes',
      },
      HOLDFAST_CREDENTIAL_KEYS: {
        meaning:
          'Keys that encrypt the credentials of users: `<id>:<base64 of 32 bytes>`, several with commas, or JSON by id. ' +
          'The first encrypts, all decrypt.',
        byDefault:
          'keys of the folder with an embedded store; with `HOLDFAST_STORE` there are no keys, and no credential is kept',
      },
      HOLDFAST_ARTIFACTS: {
        meaning:
          'Bucket for artifacts of more than 1 MiB: `s3://<bucket>/<prefix>`, `gs://<bucket>/<prefix>` or `file:///<folder>`.',
        byDefault: 'the store keeps up to 100 MiB of each',
      },
      HOLDFAST_PUBLIC_URL: {
        meaning:
          'Address at which people and services reach the gateway: its own name, which links have, and what the tools of long-running jobs hand out as `context.job.callbackUrl`.',
        byDefault: 'the gateway of the folder, on this machine only; with `HOLDFAST_STORE` none',
      },
      HOLDFAST_TASK_QUEUE: {
        meaning: 'Task queue that turns are started on, and that workers poll.',
        byDefault: '`holdfast` with `HOLDFAST_STORE`, else one for each folder and agents file',
      },
      HOLDFAST_SHUTDOWN_GRACE: {
        meaning: 'How long running tools of `holdfast worker` may go on after SIGTERM.',
        byDefault: '10s',
      },
      HOLDFAST_WAIT: {
        meaning: 'How long `worker` and `gateway` wait for a server and a store that are not up yet.',
        byDefault: '60s',
      },
      HOLDFAST_HEALTH_PORT: {
        meaning: 'Port on which `holdfast worker` says whether it is up and ready.',
        byDefault: 'none is opened',
      },
      HOLDFAST_METRICS_PORT: {
        meaning: 'Port on which `holdfast worker` serves metrics to Prometheus.',
        byDefault: 'none is opened',
      },
      HOLDFAST_LOG: {
        meaning: 'Form of log lines, `json` or `text`.',
        byDefault: '`text` at a terminal, else `json`',
      },
      HOLDFAST_LOG_LEVEL: { meaning: '`debug`, `info`, `warn` or `error`.', byDefault: '`info`' },
      HOLDFAST_TRANSCRIPT_URL: {
        meaning:
          'Page on which people read a session: a URL with `{app}`, `{user}` and `{session}`, linked from its run.',
        byDefault: 'runs name the command that shows it',
      },
      HOLDFAST_QUIET: {
        meaning: 'Not empty: an `InMemoryRunner` tells neither of slow work nor of the mock Gemini server.',
        byDefault: 'both are told on standard error',
      },
      HOLDFAST_MOCK_MODEL: {
        meaning:
          '`true`: without a key for Gemini, `holdfast worker` lets a local mock server answer with scripted words.',
        byDefault: 'false',
      },
    },
  },
  {
    heading: 'Gateway',
    variables: {
      HOLDFAST_GATEWAY_PORT: { meaning: 'Port of `holdfast gateway`.', byDefault: '8080' },
      HOLDFAST_GATEWAY_HOST: {
        meaning:
          'Address on which `holdfast gateway` listens: other than loopback only where `HOLDFAST_PUBLIC_URL` or its configuration says where it is reached.',
        byDefault: '127.0.0.1',
      },
      HOLDFAST_GATEWAY_TOKEN: {
        meaning:
          'Token of programs of its own machine for `holdfast gateway`, as `Authorization: Bearer …`; others use API keys.',
        byDefault: 'made at each start, and printed; with a public URL none',
      },
      HOLDFAST_GATEWAY_CONFIG: {
        meaning: 'File that exports `gateway`, made by `defineGateway`, for `holdfast gateway`.',
        byDefault: 'none',
      },
    },
  },
  {
    heading: 'Temporal',
    variables: {
      TEMPORAL_ADDRESS: {
        meaning: '`host:port` of a server.',
        byDefault: "the folder's own server, unless a profile or configuration file names one",
        readBy,
      },
      TEMPORAL_NAMESPACE: { meaning: 'Namespace of the named server.', byDefault: '`default`', readBy },
      TEMPORAL_API_KEY: { meaning: 'API key. Turns TLS on.', readBy },
      TEMPORAL_PROFILE: { meaning: 'Profile in the configuration file.', byDefault: '`default`', readBy },
      TEMPORAL_CONFIG_FILE: {
        meaning: 'A TOML file with profiles. Variables win over it.',
        byDefault: "the Temporal CLI's, where a variable names a server or profile",
        readBy,
      },
      TEMPORAL_TLS: {
        meaning: '`true` or `false`.',
        byDefault: 'on with an API key or any of those below',
        readBy,
      },
      TEMPORAL_TLS_CLIENT_CERT_PATH: { meaning: 'Client certificate, PEM.', readBy },
      TEMPORAL_TLS_CLIENT_CERT_DATA: { meaning: 'The certificate itself.', readBy },
      TEMPORAL_TLS_CLIENT_KEY_PATH: { meaning: "Client certificate's key, PEM.", readBy },
      TEMPORAL_TLS_CLIENT_KEY_DATA: { meaning: 'The key itself.', readBy },
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: { meaning: "Certificate of the server's authority, PEM.", readBy },
      TEMPORAL_TLS_SERVER_CA_CERT_DATA: { meaning: 'That certificate itself.', readBy },
      TEMPORAL_TLS_SERVER_NAME: {
        meaning: "Name in the server's certificate, where it isn't the host's.",
        readBy,
      },
      TEMPORAL_UI_URL: {
        meaning: 'The UI of the named server, for links.',
        byDefault: "Temporal Cloud's for its servers, else no links",
      },
      HOLDFAST_DATA_CONVERTER: {
        meaning:
          'File that exports `dataConverter`, whose `payloadCodecs` encode what Temporal keeps: for `worker`, `gateway` and all other commands.',
        byDefault: 'payloads are JSON',
      },
      HOLDFAST_CODEC_PORT: { meaning: 'Port of `holdfast codec`.', byDefault: '8081' },
      HOLDFAST_CODEC_TOKEN: { meaning: 'Last part of its address.', byDefault: 'made at each start' },
      HOLDFAST_TEMPORAL_CLI: {
        meaning: "Path of the `temporal` program for the folder's own server.",
        byDefault: "one on PATH, one in the cache, the SDK's download, one built with Go",
      },
      HOLDFAST_CACHE: {
        meaning: 'Folder of downloads and builds.',
        byDefault: "the platform's cache folder, `~/.cache/holdfast` on Linux",
      },
    },
  },
  {
    heading: 'OpenTelemetry',
    variables: {
      OTEL_EXPORTER_OTLP_ENDPOINT: {
        meaning:
          'Collector to which `worker` sends metrics and spans, and `gateway` spans: `http://collector:4318`.',
        byDefault: 'nothing is sent',
      },
      OTEL_EXPORTER_OTLP_PROTOCOL: {
        meaning: '`http/protobuf`, `http/json`, or `grpc`, for metrics alone.',
        byDefault: '`http/protobuf`; spans go as JSON',
      },
      OTEL_EXPORTER_OTLP_HEADERS: { meaning: '`name=value`, several with commas.' },
      OTEL_METRIC_EXPORT_INTERVAL: { meaning: 'Milliseconds.', byDefault: '60000' },
      OTEL_SDK_DISABLED: { meaning: '`true`: nothing is sent.' },
    },
  },
  {
    heading: 'Gemini',
    variables: {
      GOOGLE_GENAI_API_KEY: { meaning: 'The key; the first of these three that is set.' },
      GOOGLE_API_KEY: { meaning: 'The key, second choice.' },
      GEMINI_API_KEY: { meaning: 'The key, third choice.' },
      GOOGLE_GEMINI_BASE_URL: { meaning: 'Another address of the Gemini API.' },
      GOOGLE_GENAI_USE_ENTERPRISE: { meaning: '`true` or `1`: Vertex AI. Wins over the next one.' },
      GOOGLE_GENAI_USE_VERTEXAI: { meaning: '`true` or `1`: Vertex AI.' },
      GOOGLE_CLOUD_PROJECT: { meaning: 'Project on Vertex AI.' },
      GOOGLE_CLOUD_LOCATION: {
        meaning: 'Location on Vertex AI.',
        byDefault: '`global`',
        readBy: '@google/genai',
      },
      GOOGLE_VERTEX_BASE_URL: { meaning: 'Another address of Vertex AI.' },
      ADK_DISABLE_GEMINI_MODEL_ID_CHECK: {
        meaning:
          '`true` or `1`: Google Maps, Enterprise Web Search and Vertex AI Search are offered to models with other names than `gemini-…`, too.',
      },
      GOOGLE_GENAI_API_VERSION: { meaning: 'For example `v1beta`.', readBy: '@google/genai' },
    },
  },
  {
    heading: 'Models of the AI SDK',
    variables: {
      OPENAI_API_KEY: { meaning: 'Key of OpenAI.' },
      ANTHROPIC_API_KEY: { meaning: 'Key of Anthropic.' },
      AWS_BEARER_TOKEN_BEDROCK: { meaning: 'Key of Amazon Bedrock, or the variables of AWS.' },
      MISTRAL_API_KEY: { meaning: 'Key of Mistral.' },
      OPENROUTER_API_KEY: { meaning: 'Key of OpenRouter.' },
      AZURE_API_KEY: { meaning: 'Key of Azure OpenAI.' },
      COHERE_API_KEY: { meaning: 'Key of Cohere.' },
      DEEPSEEK_API_KEY: { meaning: 'Key of DeepSeek.' },
      GOOGLE_GENERATIVE_AI_API_KEY: { meaning: 'Key of models named `google/…`.' },
      GOOGLE_VERTEX_API_KEY: { meaning: 'Key of models named `google-vertex/…`.' },
      GROQ_API_KEY: { meaning: 'Key of Groq.' },
      XAI_API_KEY: { meaning: 'Key of xAI.' },
      OPENAI_COMPATIBLE_BASE_URL: {
        meaning:
          'Address of the server of models named `openai-compatible/…`, such as `http://127.0.0.1:11434/v1`.',
      },
      OPENAI_COMPATIBLE_API_KEY: { meaning: 'Its key.', byDefault: 'none' },
    },
  },
  {
    heading: 'The system',
    variables: {
      HOME: { meaning: "Folder that has the platform's cache folder." },
      XDG_CACHE_HOME: { meaning: 'Cache folder on Linux.', byDefault: '`~/.cache`' },
      LOCALAPPDATA: { meaning: 'Cache folder on Windows.' },
    },
  },
];

/** Their names. */
export const VARIABLE_NAMES: readonly string[] = VARIABLE_GROUPS.flatMap(({ variables }) =>
  Object.keys(variables),
);
