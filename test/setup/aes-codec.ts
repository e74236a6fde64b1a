import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

const ENCODING = 'binary/encrypted';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts whole payloads, their metadata included, as Temporal's samples do. */
export class AesCodec implements PayloadCodec {
  /** Payloads that were encrypted so far. */
  encoded = 0;
  readonly #key: Buffer;

  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key;
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      this.encoded += 1;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
      const text = Buffer.concat([cipher.update(PayloadMessage.encode(payload).finish()), cipher.final()]);
      return {
        metadata: { encoding: Buffer.from(ENCODING) },
        data: Buffer.concat([nonce, cipher.getAuthTag(), text]),
      };
    });
  }

  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      const { metadata, data } = payload;
      if (data == null || Buffer.from(metadata?.encoding ?? []).toString() !== ENCODING) return payload;
      const bytes = Buffer.from(data);
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const text = bytes.subarray(NONCE_BYTES + TAG_BYTES);
      return PayloadMessage.decode(Buffer.concat([decipher.update(text), decipher.final()]));
    });
  }
}
