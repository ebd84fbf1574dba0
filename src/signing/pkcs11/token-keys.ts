/**
 * Keys in tokens of PKCS#11: smart cards, security modules, TPMs.
 *
 * Invariant: a module is loaded in a child process only, one for each module.
 */
import { createHash, randomBytes } from 'node:crypto';

import { fileBeside, forkChild } from '../../base/system/child.ts';
import type { SpawnChild } from '../../base/system/child.ts';
import { keyUnavailable } from '../base/signing-key.ts';
import type { KeyHolder, SigningKey, TokenKey, TokenPlace } from '../base/signing-key.ts';
import { madeSchema, signatureSchema } from './messages.ts';
import { SignerProcess } from './signer-process.ts';
import type { SignerOptions } from './signer-process.ts';

export const signerWorkerFile = fileBeside(import.meta.url, 'signer-worker');

/** Starts the process with Node. */
export const forkSigner: SpawnChild = (env) => forkChild(signerWorkerFile, env);

export class TokenKeys implements KeyHolder<TokenKey, TokenPlace> {
  readonly #options: SignerOptions;
  /** By the path of the module. */
  readonly #processes = new Map<string, SignerProcess>();

  constructor(options: SignerOptions) {
    this.#options = options;
  }

  async make(place: TokenPlace): Promise<SigningKey> {
    const id = randomBytes(16).toString('hex');
    const made = madeSchema.safeParse(
      await this.#processOf(place).ask(place, { op: 'make', place, key: id }),
    );
    if (!made.success) throw nonsense();
    const { jwk, serial } = made.data;
    return this.open({ ...place, ...jwk, serial, holder: 'pkcs11', id });
  }

  open(kept: TokenKey): SigningKey {
    const { kty, crv, x, y, id } = kept;
    return {
      jwk: { kty, crv, x, y },
      kept,
      sign: async (data) => {
        const digest = createHash('sha256').update(data).digest('base64url');
        const call = { op: 'sign', place: kept, key: id, digest } as const;
        const signature = signatureSchema.safeParse(await this.#processOf(kept).ask(kept, call));
        if (!signature.success) throw nonsense();
        return Buffer.from(signature.data, 'base64url');
      },
    };
  }

  async remove(kept: TokenKey): Promise<void> {
    await this.#processOf(kept).ask(kept, { op: 'remove', place: kept, key: kept.id });
  }

  /** Ends the processes. */
  close(): void {
    for (const process of this.#processes.values()) process.close();
  }

  #processOf({ module }: TokenPlace): SignerProcess {
    const known = this.#processes.get(module) ?? new SignerProcess(this.#options);
    this.#processes.set(module, known);
    return known;
  }
}

const nonsense = (): Error =>
  keyUnavailable('the token’s module answered in a wrong form', 'Look for another version of the module.');
