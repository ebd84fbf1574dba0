/** Keys in a TPM: an emulated one, by the module that a real one has as well. */
import { createPublicKey, verify } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { tokenKeySchema } from '../../src/signing/base/signing-key.ts';
import { forkSigner, TokenKeys } from '../../src/signing/pkcs11/token-keys.ts';
import { emulatedTpm } from '../support/processes/emulated-tpm.ts';

it('a TPM makes a key that signs, keeps it over a restart of the process, and says so once it is gone', async () => {
  const { place, pin, env } = await emulatedTpm();
  const keys = new TokenKeys({
    spawn: () => forkSigner({ ...process.env, ...env }),
    pinOf: async () => pin,
  });
  onTestFinished(() => keys.close());
  const made = await keys.make(place);
  keys.close();
  const kept = tokenKeySchema.parse(made.kept);
  const key = keys.open(kept);
  const data = Buffer.from('header.claims');
  const publicKey = createPublicKey({ key: { ...key.jwk }, format: 'jwk' });
  expect(verify('sha256', data, { key: publicKey, dsaEncoding: 'ieee-p1363' }, await key.sign(data))).toBe(
    true,
  );
  await keys.remove(kept);
  await expect(key.sign(data)).rejects.toMatchObject({ reason: 'key_lost' });
});
