/** The handshake's arithmetic against vectors of another implementation (Python's hmac), and OpenSSL if there. */
import { execFileSync } from 'node:child_process';
import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { constantTimeEqual } from '../../../src/base/constant-time.ts';
import {
  brokerKey,
  brokerProof,
  clientKey,
  clientProof,
  deriveAppKey,
  keyFromText,
  transcript,
} from '../../../src/ipc/wire/handshake.ts';

type Vector = Record<'name' | 'masterKey' | 'brokerId' | 'appId' | 'helloLine' | 'brokerNonce', string> &
  Record<'K' | 'KB' | 'KC' | 'transcriptSha256' | 'brokerProof' | 'clientProof', string> &
  Record<'generation' | 'version', number> & { readonly capabilities: string[] };

const vectors = JSON.parse(
  readFileSync(new URL('handshake.vectors.json', import.meta.url), 'utf8'),
) as Vector[];

function transcriptOf(vector: Vector): Buffer {
  const { version, brokerId, brokerNonce, capabilities } = vector;
  return transcript({
    helloLine: Buffer.from(vector.helloLine),
    version,
    brokerId,
    brokerNonce,
    capabilities,
  });
}

function openssl(args: string[], input: Uint8Array): Buffer | undefined {
  try {
    return execFileSync('openssl', args, { input });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

describe.each(vectors)('with the vector "$name"', (vector) => {
  const key = deriveAppKey(keyFromText(vector.masterKey), vector.brokerId, vector.appId, vector.generation);

  test('derives the keys', () => {
    expect(key.export().toString('base64url')).toBe(vector.K);
    expect(brokerKey(key).export().toString('base64url')).toBe(vector.KB);
    expect(clientKey(key).export().toString('base64url')).toBe(vector.KC);
  });

  test('makes both proofs', () => {
    const t = transcriptOf(vector);
    expect(brokerProof(key, t)).toBe(vector.brokerProof);
    expect(clientProof(key, t, vector.brokerProof)).toBe(vector.clientProof);
  });

  test('agrees with OpenSSL about the transcript and the broker’s proof', ({ skip }) => {
    const t = transcriptOf(vector);
    const digest = openssl(['dgst', '-sha256', '-r'], t);
    if (!digest) skip('no openssl on this machine');
    expect(digest?.toString().split(' ')[0]).toBe(vector.transcriptSha256);
    const hexKey = Buffer.from(vector.KB, 'base64url').toString('hex');
    const proof = openssl(['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${hexKey}`, '-binary'], t);
    expect(proof?.toString('base64url')).toBe(vector.brokerProof);
  });
});

const parts = {
  helloLine: Buffer.from('{}'),
  version: 1,
  brokerId: 'home',
  brokerNonce: 'nonce',
  capabilities: ['a', 'b'],
};

test('any part of the transcript changes both proofs', () => {
  const key = createSecretKey(Buffer.alloc(32, 7));
  const changed = [
    { ...parts, helloLine: Buffer.from('{ }') },
    { ...parts, version: 2 },
    { ...parts, brokerId: 'other' },
    { ...parts, brokerNonce: 'other' },
    { ...parts, capabilities: ['a'] },
    { ...parts, capabilities: ['b', 'a'] },
  ];
  const proofs = [parts, ...changed].map((each) => brokerProof(key, transcript(each)));
  expect(new Set(proofs).size).toBe(proofs.length);
  const answers = [parts, ...changed].map((each) => clientProof(key, transcript(each), 'proof'));
  expect(new Set([...proofs, ...answers]).size).toBe(2 * proofs.length);
});

test('each home, client and generation has a key of its own', () => {
  const master = createSecretKey(Buffer.alloc(32, 1));
  const keys = [
    deriveAppKey(master, 'home', 'client', 1),
    deriveAppKey(master, 'home', 'client', 2),
    deriveAppKey(master, 'home', 'other', 1),
    deriveAppKey(master, 'elsewhere', 'client', 1),
    deriveAppKey(createSecretKey(Buffer.alloc(32, 2)), 'home', 'client', 1),
  ].map((key) => key.export().toString('hex'));
  expect(new Set(keys).size).toBe(keys.length);
});

test('compares proofs by their exact text', () => {
  const proof = Buffer.alloc(32, 3).toString('base64url');
  expect(constantTimeEqual(proof, proof)).toBe(true);
  expect(constantTimeEqual(proof, `${proof}A`)).toBe(false);
  expect(constantTimeEqual(proof, '')).toBe(false);
  // The last character has two unused bits: another spelling of the same bytes is another text.
  const respelled = `${proof.slice(0, -1)}${proof.endsWith('M') ? 'N' : 'M'}`;
  expect(constantTimeEqual(proof, respelled)).toBe(false);
});
