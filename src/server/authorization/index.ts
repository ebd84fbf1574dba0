/** What a program imports as `@keyturn/server/authorization`. */
export { KeyturnError } from '../../base/errors.ts';
export { memoryStorage } from '../storage/memory.ts';
export { postgresStorage } from '../storage/postgres.ts';
export { sealedStorage } from '../storage/sealing.ts';
export type { SealedStorage, SealingKey } from '../storage/sealing.ts';
export { sqliteStorage } from '../storage/sqlite.ts';
export type { NamedItem, PlacedItem, Storage, StoredItem } from '../storage/storage.ts';
export { developmentLogin } from './accounts/accounts.ts';
export type { Accounts, SignInResult, SignInStep } from './accounts/accounts.ts';
export { upstreamAccounts } from './accounts/upstream-accounts.ts';
export type { UpstreamAccountsOptions } from './accounts/upstream-accounts.ts';
export type { Consent } from './consents.ts';
export { authorizationServer } from './authorization-server.ts';
export type { AuthorizationServer } from './authorization-server.ts';
export type {
  AssertionProvider,
  AuthorizationEvent,
  AuthorizationServerOptions,
  ClientOptions,
  ResourceOptions,
} from './options.ts';
