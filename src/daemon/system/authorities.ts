/**
 * The file of further certificate authorities, read once: what is hashed, shown and trusted are the same bytes.
 *
 * Invariant: a file that can't be read is an error, never an empty one.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { KeyturnError } from '../../base/errors.ts';

export interface AuthoritiesFile {
  readonly pem: string;
  /** SHA-256, base64url. */
  readonly hash: string;
}

/** Throws `file_unreadable`. */
export function readAuthorities(file: string): AuthoritiesFile {
  try {
    const pem = readFileSync(file, 'utf8');
    return { pem, hash: createHash('sha256').update(pem).digest('base64url') };
  } catch {
    throw new KeyturnError('file_unreadable', `The certificate authorities in ${file} can't be read.`, {
      hint: 'NODE_EXTRA_CA_CERTS (or the setting extraAuthorities) must name a readable PEM file.',
    });
  }
}
