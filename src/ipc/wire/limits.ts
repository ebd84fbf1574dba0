/**
 * The bounds of the wire: bytes of a frame, characters of a text, time for a handshake.
 *
 * Invariant: nothing that comes over the socket is unbounded. The schemas of protocol/ and the guards of wire/ use
 * these.
 */

/** Bytes of one frame before authentication: a hello takes 300, so 16 KiB leaves room and costs little. */
export const handshakeFrameLimit = 16 * 1024;

/** Bytes of one frame after authentication: a list of thousands of sign-ins fits. */
export const frameLimit = 1024 * 1024;

/** Milliseconds that a client may take for its own part of a handshake: it takes one. */
export const handshakeTimeout = 5000;

/**
 * Milliseconds for each answer of the broker in a handshake. It may have to read its vault, where a keychain has 10 s
 * for each call (`vault/keychain/keychain.ts`) and may wait for the user.
 */
export const brokerTimeout = 30_000;

/** Characters of an app's name: what fits on one line of the card that shows it. */
export const maxNameLength = 64;

/** The most characters of each text. Each is several times what is seen in practice. */
export const maxLength = {
  /** An identifier: 22 characters for 16 random bytes; a UUID fits. */
  id: 64,
  /** A URL: what common servers and browsers accept. */
  url: 2048,
  /** A scope: some issuers grant dozens of URL-shaped scopes. */
  scope: 4096,
  /** What the user calls an account, or an issuer with a subject. */
  account: 256,
  /** An access token: JWTs with large group claims reach 8 KiB. */
  token: 16 * 1024,
  /** An API key: those in use have less than 200 characters, and a signed one may be a JWT. */
  key: 8192,
  /** A WWW-Authenticate header: Node refuses header blocks beyond 16 KiB. */
  challenge: 8192,
  /** What an app was about to do, e.g. `POST /reports`. */
  operation: 256,
  /** An HTTP method: those in use have up to 17 characters. */
  httpMethod: 32,
  /** A nonce of a server, a few dozen characters. */
  nonce: 512,
  /** A method's name. */
  method: 64,
  /** Certificate authorities as PEM: three times what systems bring, and below what a frame holds. */
  authorities: 700_000,
  /** A setting: the hosts that are reached without a proxy are the longest. */
  setting: 16_384,
  /** The message or hint of an error. */
  sentence: 2000,
} as const;

/** Capabilities or versions beyond this many are a mistake, not a newer release. */
export const maxListLength = 32;
