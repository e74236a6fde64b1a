import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

const { Payload: PayloadMessage } = temporal.api.common.v1;
const ALGORITHM = 'aes-256-gcm';
const ENCODING = Buffer.from('binary/encrypted');
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A codec as users write them: whole payloads, encrypted. */
export class AesCodec implements PayloadCodec {
  readonly #key = randomBytes(32);

  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, this.#key, iv);
      const text = Buffer.concat([cipher.update(PayloadMessage.encode(payload).finish()), cipher.final()]);
      return { metadata: { encoding: ENCODING }, data: Buffer.concat([iv, cipher.getAuthTag(), text]) };
    });
  }

  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      if (!ENCODING.equals(payload.metadata?.encoding ?? Buffer.of()) || !payload.data) return payload;
      const data = Buffer.from(payload.data);
      const decipher = createDecipheriv(ALGORITHM, this.#key, data.subarray(0, IV_BYTES));
      decipher.setAuthTag(data.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const text = data.subarray(IV_BYTES + TAG_BYTES);
      return PayloadMessage.decode(Buffer.concat([decipher.update(text), decipher.final()]));
    });
  }
}
