/**
 * The CA file (further certificate authorities), read once: what is hashed, shown and trusted are the same bytes.
 *
 * Invariants: a file that can't be read is an error, never an empty one. Nothing waits for a pipe or a device: another
 * program can write the name of one into the settings, and the whole broker would wait.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { KeyturnError } from '../../base/errors.ts';

export interface ExtraAuthorities {
  readonly pem: string;
  /** SHA-256, base64url. */
  readonly hash: string;
}

/** Bytes: many times all authorities that a system trusts. */
const maxLength = 16 * 1024 * 1024;

/** Throws `file_unreadable`. */
export function readExtraAuthorities(file: string): ExtraAuthorities {
  try {
    const pem = textIn(file);
    return { pem, hash: createHash('sha256').update(pem).digest('base64url') };
  } catch {
    throw new KeyturnError('file_unreadable', `The certificate authorities in ${file} can't be read.`, {
      hint: 'NODE_EXTRA_CA_CERTS (or the setting extraAuthorities) must name a readable PEM file.',
    });
  }
}

/** Throws `file_unreadable` for a file whose first certificate can't be read, too: then none of it is trusted. */
export function requireCertificate(file: string): void {
  const { pem } = readExtraAuthorities(file);
  try {
    void new X509Certificate(pem);
  } catch {
    throw new KeyturnError('file_unreadable', `No certificate can be read in ${file}.`, {
      hint: 'It must be a PEM file. Each certificate begins on a new line.',
    });
  }
}

/**
 * The variable by which a browser command that is a program of Node's trusts what the broker trusts. It is unset if no
 * file is in force, or if the file has another content by now: the broker's own environment may name one.
 */
export function authoritiesVariable(
  file: string | undefined,
  { extraAuthorities }: { readonly extraAuthorities: ExtraAuthorities | undefined },
): NodeJS.ProcessEnv {
  if (file === undefined || !extraAuthorities) return notInForce;
  try {
    const isSame = readExtraAuthorities(file).hash === extraAuthorities.hash;
    return isSame ? { NODE_EXTRA_CA_CERTS: file } : notInForce;
  } catch {
    return notInForce;
  }
}

const notInForce: NodeJS.ProcessEnv = { NODE_EXTRA_CA_CERTS: undefined };

function textIn(file: string): string {
  // Windows has no such flag.
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile() || found.size > maxLength) throw new TypeError('it is no CA file');
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}
