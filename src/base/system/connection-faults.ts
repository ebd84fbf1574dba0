/**
 * What the error code of a failed connection means: what is wrong with a certificate, and whether anything was sent.
 *
 * Invariant: reads only codes of Node, OpenSSL and undici. Never repeats text from a server.
 */

export interface CertificateFault {
  /** The certificate comes from an authority that is not trusted here. */
  readonly isUntrusted: boolean;
  /** What it means, and what to do. Whole sentences; "Its" means the server's. */
  readonly advice: string;
}

const otherFault = (advice: string): CertificateFault => ({ isUntrusted: false, advice });

/** By the codes of OpenSSL and Node. The first match counts. */
const certificateFaults: readonly (readonly [RegExp, CertificateFault])[] = [
  [
    /ALTNAME|HOSTNAME_MISMATCH/,
    otherFault(
      'Its certificate is for another name. Check the address; if it is right, the operator of the server has to correct the certificate.',
    ),
  ],
  [
    /^CERT_HAS_EXPIRED$/,
    otherFault(
      'Its certificate has expired. Check the clock of this machine; if it is right, the operator of the server has to renew the certificate.',
    ),
  ],
  [
    /^CERT_NOT_YET_VALID$/,
    otherFault(
      'Its certificate is not valid yet. Check the clock of this machine; if it is right, tell the operator of the server.',
    ),
  ],
  [
    /^CERT_REVOKED$/,
    otherFault('Its certificate was revoked. Do not go on; tell the operator of the server.'),
  ],
  [
    /SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|CERT_UNTRUSTED/,
    {
      isUntrusted: true,
      advice:
        'Its certificate comes from an authority that is not trusted here. If the authority is your own: ' +
        'keyturn settings set extraAuthorities FILE, then keyturn broker restart (for a new home, and at the far end of a forward, NODE_EXTRA_CA_CERTS=FILE).',
    },
  ],
  [
    /CERT|VERIFY|ISSUER|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH/,
    otherFault('Its certificate can not be used. Tell the operator of the server.'),
  ],
];

/**
 * Undefined for a code that isn't about the server's certificate. Codes that begin with `ERR_SSL_` are faults of the TLS
 * protocol, such as the server's alert that it requires a client certificate.
 */
export function certificateFault(code: string): CertificateFault | undefined {
  if (code.startsWith('ERR_SSL_')) return undefined;
  return certificateFaults.find(([codes]) => codes.test(code))?.[1];
}

const notConnected =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)/;

/**
 * True for a failure before the connection was made: nothing was sent. After any other the server may have the request.
 */
export function wasNeverSent(code: string): boolean {
  return notConnected.test(code) || certificateFault(code) !== undefined;
}
