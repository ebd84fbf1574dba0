/**
 * The certificate of `keyturn dev-server` in a folder that stays.
 *
 * Invariant: a client that trusts the authority needs no new one until a day before it expires. The server's key is
 * readable by the user only, and nothing is read from or written into a folder that another user owns or may write in.
 */
import { X509Certificate } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { checkPrivate } from '../base/private/private-check.ts';
import { systemCode } from '../base/system-error.ts';
import { type Certificates, throwAwayCertificates } from './certificate.ts';

const schema = z.object({ ca: z.string(), key: z.string(), cert: z.string() });

/** Milliseconds that a certificate must still be good, so that it doesn't end in the middle of a trial. */
const leastLeft = 24 * 60 * 60 * 1000;

export interface KeptCertificates {
  readonly certificates: Certificates;
  /** PEM file with the authority, for NODE_EXTRA_CA_CERTS. */
  readonly authorityFile: string;
}

/**
 * Takes the folder's certificate, or makes one where there is none or it ends within a day. Throws `file_unreadable`
 * for a folder that isn't the user's.
 */
export async function certificatesIn(folder: string, now = Date.now()): Promise<KeptCertificates> {
  openFolder(folder);
  const file = path.join(folder, 'certificate.json');
  const authorityFile = path.join(folder, 'authority.pem');
  const kept = readKept(file);
  const certificates = kept && isGood(kept.cert, now) ? kept : await throwAwayCertificates();
  if (certificates !== kept) {
    writeFileSync(file, JSON.stringify(certificates), { mode: 0o600 });
    chmodSync(file, 0o600);
  }
  writeFileSync(authorityFile, certificates.ca);
  return { certificates, authorityFile };
}

function openFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    // A file or a link is there: the check says so.
    if (systemCode(error) !== 'EEXIST') throw error;
  }
  checkPrivate(lstatSync(folder, { bigint: true }), folder, 'trialFolder');
}

function readKept(file: string): Certificates | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}

function isGood(pem: string, now: number): boolean {
  try {
    return Date.parse(new X509Certificate(pem).validTo) - now > leastLeft;
  } catch {
    return false;
  }
}
