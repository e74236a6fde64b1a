import { createRequire, findPackageJSON } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { variable } from '../../environment.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { ModelError } from '../model-errors.ts';

/** A package of the AI SDK that makes a provider's models. */
export interface ProviderPackage {
  package: string;
  /** Its export that makes the provider. */
  create: string;
  /** Variable that it reads its key from. */
  keyVariable?: string;
  /** How it signs in without that key; absent where it can't. */
  keyless?: string;
  /** Options of {@link create} beside `fetch`. */
  options?: () => Record<string, unknown>;
}

const BEDROCK: ProviderPackage = {
  package: '@ai-sdk/amazon-bedrock',
  create: 'createAmazonBedrock',
  keyVariable: 'AWS_BEARER_TOKEN_BEDROCK',
  keyless: 'by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
};

/** By the beginning of a model's name, up to the slash. */
export const PROVIDER_PACKAGES: Readonly<Record<string, ProviderPackage>> = {
  'amazon-bedrock': BEDROCK,
  anthropic: { package: '@ai-sdk/anthropic', create: 'createAnthropic', keyVariable: 'ANTHROPIC_API_KEY' },
  azure: { package: '@ai-sdk/azure', create: 'createAzure', keyVariable: 'AZURE_API_KEY' },
  bedrock: BEDROCK,
  cohere: { package: '@ai-sdk/cohere', create: 'createCohere', keyVariable: 'COHERE_API_KEY' },
  deepseek: { package: '@ai-sdk/deepseek', create: 'createDeepSeek', keyVariable: 'DEEPSEEK_API_KEY' },
  google: { package: '@ai-sdk/google', create: 'createGoogle', keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY' },
  'google-vertex': {
    package: '@ai-sdk/google-vertex',
    create: 'createGoogleVertex',
    keyVariable: 'GOOGLE_VERTEX_API_KEY',
    keyless: "by Google Cloud's credentials",
  },
  groq: { package: '@ai-sdk/groq', create: 'createGroq', keyVariable: 'GROQ_API_KEY' },
  mistral: { package: '@ai-sdk/mistral', create: 'createMistral', keyVariable: 'MISTRAL_API_KEY' },
  openai: { package: '@ai-sdk/openai', create: 'createOpenAI', keyVariable: 'OPENAI_API_KEY' },
  'openai-compatible': {
    package: '@ai-sdk/openai-compatible',
    create: 'createOpenAICompatible',
    keyVariable: 'OPENAI_COMPATIBLE_API_KEY',
    keyless: 'with no key at all',
    options: openAiCompatible,
  },
  openrouter: {
    package: '@openrouter/ai-sdk-provider',
    create: 'createOpenRouter',
    keyVariable: 'OPENROUTER_API_KEY',
  },
  xai: { package: '@ai-sdk/xai', create: 'createXai', keyVariable: 'XAI_API_KEY' },
};

/** Servers of one's own have no address that a package could know. */
function openAiCompatible(): Record<string, unknown> {
  const baseURL = variable('OPENAI_COMPATIBLE_BASE_URL');
  if (baseURL === undefined) {
    throw new ModelError({
      kind: 'bad_request',
      wasSent: false,
      message:
        'A model named openai-compatible/… needs the address of its server: set OPENAI_COMPATIBLE_BASE_URL, such as ' +
        'http://127.0.0.1:11434/v1.',
    });
  }
  const apiKey = variable('OPENAI_COMPATIBLE_API_KEY');
  return {
    name: 'openai-compatible',
    baseURL,
    includeUsage: true,
    // Without it the schema of an answer is not sent. Ollama, vLLM, llama.cpp and LM Studio take it.
    supportsStructuredOutputs: true,
    ...(apiKey !== undefined && { apiKey }),
  };
}

/** Keys of providers that the environment has: no message may show one. */
export function providerKeys(): string[] {
  return Object.values(PROVIDER_PACKAGES).flatMap(({ keyVariable }) => {
    const key = keyVariable && variable(keyVariable)?.trim();
    return key ? [key] : [];
  });
}

/** A model's name in two: the provider's entry, and the model's id at the provider. */
export interface NamedModel {
  prefix: string;
  id: string;
  provider: ProviderPackage;
}

/** Undefined for a name that begins with no known provider. */
export function namedModel(name: string): NamedModel | undefined {
  const slash = name.indexOf('/');
  const prefix = name.slice(0, Math.max(0, slash));
  const provider = Object.hasOwn(PROVIDER_PACKAGES, prefix) ? PROVIDER_PACKAGES[prefix] : undefined;
  const id = name.slice(slash + 1);
  return provider === undefined || id === '' ? undefined : { prefix, id, provider };
}

/** @throws DefinitionError that names the package, where it is neither installed beside Holdfast nor in the program's folder. */
export function assertInstalled(name: string, { provider }: NamedModel): void {
  if (installedAt(provider.package) !== undefined) return;
  throw new DefinitionError({
    owner: `model ${JSON.stringify(name)}`,
    problem: `needs the package ${provider.package}, which is not installed: npm install ${provider.package}`,
  });
}

/**
 * The provider's package.
 *
 * @throws DefinitionError where it isn't installed.
 */
export async function loadPackage(name: string, named: NamedModel): Promise<Record<string, unknown>> {
  assertInstalled(name, named);
  const from = installedAt(named.provider.package) as string;
  const file = createRequire(from).resolve(named.provider.package);
  return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
}

/** The file that the package is found from: this one, or any of the folder that the program runs in. */
function installedAt(name: string): string | undefined {
  return [import.meta.url, pathToFileURL(join(process.cwd(), 'package.json')).href].find((from) => {
    try {
      return findPackageJSON(name, from) !== undefined;
    } catch {
      // Node throws where there is no such package.
      return false;
    }
  });
}
