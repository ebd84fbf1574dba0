/**
 * `@keyturn/client`: what a local app imports to get tokens from the broker.
 *
 * Invariant: needs Node's own modules only, and loads no schema library, no keychain, no OAuth code.
 * The owner's way in (connectAsOwner) is not exported.
 */
export { KeyturnError, type Reason } from '../base/errors.ts';
export type { Identity } from '../ipc/wire/handshake-messages.ts';
export type {
  Challenge,
  CredentialGetParams,
  CredentialKind,
  ApiKeyResult,
  TokenGetParams,
  TokenProveParams,
  TokenRejectParams,
  TokenRejectResult,
  TokenResult,
} from '../ipc/wire/token-messages.ts';
export { connect, type ConnectOptions } from './connect.ts';
export type { Connection, RequestOptions } from './connection.ts';
export { createFetch, type FetchOptions } from './fetch/fetch.ts';
export { pair, type PairOptions } from './pair.ts';
export { transportOptions, type TransportOptions } from './transport.ts';
