import { provideInput } from '../../contract/approvals.ts';
import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { jsonField } from '../field-option.ts';
import { tellDecision } from './decide-approval.ts';
import { namedRequest, type RequestNaming } from './named-request.ts';
import { assertResponse } from './response-check.ts';

export interface AnswerRequestOptions extends RequestNaming {
  /** JSON. */
  response?: string;
  text?: string;
  json?: boolean;
}

/** `holdfast approvals answer`: what a tool or model has asked a person. */
export async function answerRequest(
  argument: string,
  options: AnswerRequestOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env } = options;
  const response = givenResponse(options);
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const { approvals } = connected.api;
    const row = await withProgress(output, 'reading the request', namedRequest(argument, options, approvals));
    if (row.kind !== 'input') {
      throw new UsageError(
        `${row.requestId} asks for ${row.kind === 'credential' ? 'a credential' : 'an approval'}, not for an answer: holdfast ` +
          `approvals show ${row.requestId} tells what to type`,
      );
    }
    assertResponse(row, response);
    const sent = approvals.provideInput({ requestId: row.requestId }, { response });
    tellDecision(
      row,
      await withProgress(output, 'answering', sent),
      { isSigned: false, json: options.json },
      output,
    );
  } finally {
    await connected.close();
  }
}

function givenResponse({ response, text }: AnswerRequestOptions): unknown {
  if ((response === undefined) === (text === undefined)) {
    throw new UsageError('say the answer: either --response <JSON>, or --text <text>');
  }
  if (text !== undefined && !text.isWellFormed())
    throw new UsageError('--text: expected text, got malformed Unicode');
  return response === undefined ? text : jsonField(provideInput, 'response', '--response', response);
}
