import { type GatewayOptions, type ServedGateway, serveGateway } from '../../src/gateway/index.ts';

type Answering = 'confirm' | 'provideInput' | 'provideCredential';

/** A gateway of the same desk where something else happens before an answer is handed on. */
export async function lateGateway(
  options: GatewayOptions,
  answering: Answering,
  meanwhile: () => Promise<unknown>,
): Promise<ServedGateway> {
  const { client } = options;
  const own = client.approvals;
  const late = {
    get: own.get.bind(own),
    confirm: own.confirm.bind(own),
    provideInput: own.provideInput.bind(own),
    provideCredential: own.provideCredential.bind(own),
  };
  const answer: (...args: never[]) => Promise<unknown> = own[answering].bind(own);
  const held = async (...args: never[]) => {
    await meanwhile();
    return await answer(...args);
  };
  const approvals = Object.assign(Object.create(own), late, { [answering]: held });
  return await serveGateway({
    gateway: { ...options, client: Object.create(client, { approvals: { value: approvals } }) },
  });
}
