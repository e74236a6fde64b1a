import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Content, FunctionCall, Part } from '@google/genai';
import { invalidArgument } from './gemini-error.ts';
import { canonicalJson } from './gemini-json.ts';

// A fixed key, not one per server: the real API keeps no state either, so a signature has to outlive a restart.
const KEY = 'holdfast mock gemini thought signatures';
const NONCE_BYTES = 13;

/** Documented values that tell the API not to validate, for calls that another model has made. */
const BYPASS = new Set(['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']);

/** True for the models that sign their function calls and want the signatures back. */
export function isSigningModel(model: string): boolean {
  return model.startsWith('gemini-3');
}

/**
 * Issues and validates thought signatures.
 *
 * @see https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export class ThoughtSignatures {
  readonly #enabled: boolean | undefined;
  readonly #scripted = new Map<string, string>();
  readonly #unsigned = new Set<string>();

  /** @param enabled on or off for every model; by default the model's name decides. */
  constructor(enabled: boolean | undefined) {
    this.#enabled = enabled;
  }

  isOn(model: string): boolean {
    return this.#enabled ?? isSigningModel(model);
  }

  /** Signs the first call of a response unless the script has decided otherwise. */
  sign(model: string, parts: readonly { part: Part; unsigned?: boolean }[]): Part[] {
    const first = parts.findIndex(({ part }) => part.functionCall);
    const signed = parts.map(({ part, unsigned }, index) => {
      const { functionCall } = part;
      const signs = index === first && !unsigned && !part.thoughtSignature && this.isOn(model);
      return functionCall && signs ? { ...part, thoughtSignature: issue(fingerprint(functionCall)) } : part;
    });
    this.remember(model, signed);
    return signed;
  }

  /** Notes the parts of a response, so that what a script has signed or left unsigned is accepted again. */
  remember(model: string, parts: readonly Part[]): void {
    for (const { functionCall, thoughtSignature } of parts) {
      const print = fingerprint(functionCall);
      if (thoughtSignature && !isGenuine(thoughtSignature, print)) {
        this.#scripted.set(thoughtSignature, print);
      }
    }
    const first = parts.find((part) => part.functionCall);
    if (first && !first.thoughtSignature && this.isOn(model)) {
      this.#unsigned.add(fingerprint(first.functionCall));
    }
  }

  /** Validates the current turn: what follows the last user message. */
  check(model: string, contents: readonly Content[]): void {
    if (!this.isOn(model)) return;
    for (let index = currentTurn(contents); index < contents.length; index++) {
      const parts = contents[index]?.parts ?? [];
      const first = parts.findIndex((part) => part.functionCall);
      for (const [position, part] of parts.entries()) {
        const where = `contents[${index}].parts[${position}]`;
        if (part.thoughtSignature) this.#checkSignature(part, where);
        else if (position === first && part.functionCall)
          this.#checkUnsigned(part.functionCall, index, where);
      }
    }
  }

  #checkSignature(part: Part, where: string): void {
    const signature = part.thoughtSignature ?? '';
    if (BYPASS.has(signature)) return;
    const print = fingerprint(part.functionCall);
    if (this.#scripted.get(signature) === print || isGenuine(signature, print)) return;
    throw invalidArgument(`Corrupted thought signature. (${where})`);
  }

  #checkUnsigned(call: FunctionCall, index: number, where: string): void {
    if (this.#unsigned.has(fingerprint(call))) return;
    throw invalidArgument(
      `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${call.name}\` , position ${index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details. (${where})`,
    );
  }
}

function currentTurn(contents: readonly Content[]): number {
  const start = contents.findLastIndex(
    ({ role, parts = [] }) =>
      role !== 'model' && parts.length > 0 && parts.every((part) => !part.functionResponse),
  );
  return Math.max(start, 0);
}

function fingerprint(call: FunctionCall | undefined): string {
  return call ? canonicalJson([call.name, call.args ?? {}]) : '';
}

function issue(print: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  return Buffer.concat([nonce, mac(nonce, print)]).toString('base64');
}

function isGenuine(signature: string, print: string): boolean {
  const bytes = Buffer.from(signature, 'base64');
  const expected = mac(bytes.subarray(0, NONCE_BYTES), print);
  const given = bytes.subarray(NONCE_BYTES);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function mac(nonce: Uint8Array, print: string): Buffer {
  return createHmac('sha256', KEY).update(nonce).update(print).digest();
}
