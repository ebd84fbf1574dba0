/** What a program imports as `keyturn/server/authorization`. */
export { KeyturnError } from '../../base/errors.ts';
export { memoryStorage } from '../storage/memory.ts';
export { sqliteStorage } from '../storage/sqlite.ts';
export type { Storage, StoredItem } from '../storage/storage.ts';
export { developmentLogin } from './accounts.ts';
export type { Accounts, SignInResult, SignInStep } from './accounts.ts';
export { authorizationServer } from './authorization-server.ts';
export type { AuthorizationServer } from './authorization-server.ts';
export type {
  AssertionProvider,
  AuthorizationEvent,
  AuthorizationServerOptions,
  ClientOptions,
  ResourceOptions,
} from './options.ts';
