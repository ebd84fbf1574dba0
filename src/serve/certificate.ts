/**
 * Throw-away TLS certificates for servers on the loopback address.
 *
 * Invariant: the key of the authority leaves this function nowhere, so nothing else can ever be
 * signed with it; the leaf is good only for this machine's own addresses and names.
 */
import { randomBytes } from 'node:crypto';
import { generate } from 'selfsigned';

/** PEM texts. `ca` is what a client has to trust; `key` and `cert` are what a server listens with. */
export interface Certificates {
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

/** A week: longer than a trial or a test run. In a folder that stays, kept-certificate.ts makes new ones in time. */
const validForMs = 7 * 24 * 60 * 60 * 1000;

/** Clocks that were set back a little since must not call the certificate "not yet valid". */
const backdatedMs = 60 * 60 * 1000;

/** A new authority and one leaf for 127.0.0.1, ::1 and localhost. Elliptic keys: RSA ones take longer to make. */
export async function throwAwayCertificates(): Promise<Certificates> {
  const validity = {
    notBeforeDate: new Date(Date.now() - backdatedMs),
    notAfterDate: new Date(Date.now() + validForMs),
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
  } as const;
  // A name of its own: a client that trusts two of them finds the issuer of a certificate by its name.
  const name = `Keyturn throw-away authority ${randomBytes(4).toString('hex')}`;
  const authority = await generate([{ name: 'commonName', value: name }], {
    ...validity,
    extensions: [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  const leaf = await generate([{ name: 'commonName', value: 'localhost' }], {
    ...validity,
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
          { type: 2, value: 'localhost' },
        ],
      },
    ],
  });
  return { ca: `${authority.cert}\n`, key: leaf.private, cert: leaf.cert };
}
