import { appendFileSync } from 'node:fs';
import { BaseLlm, LlmAgent, type LlmResponse } from 'holdfast';

/** Never answers, whatever its signal says. */
class Silent extends BaseLlm {
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    if (process.env.EFFECTS) appendFileSync(process.env.EFFECTS, 'asked\n');
    await new Promise(() => undefined);
  }
}

export const rootAgent = new LlmAgent({ name: 'silent', model: new Silent({ model: 'silent' }) });
