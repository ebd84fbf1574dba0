/** What a program imports as `@keyturn/server/third-party`. */
export { KeyturnError } from '../../base/errors.ts';
export type { ResourceOptions } from '../authorization/options.ts';
export { memoryStorage } from '../storage/memory.ts';
export { postgresStorage } from '../storage/postgres.ts';
export { sealedStorage } from '../storage/sealing.ts';
export type { SealedStorage, SealingKey } from '../storage/sealing.ts';
export { sqliteStorage } from '../storage/sqlite.ts';
export type { Storage } from '../storage/storage.ts';
export type { Receipt, SessionEvent, SessionOptions, ThirdPartyOptions, UpstreamOptions } from './options.ts';
export { thirdPartyServer } from './third-party-server.ts';
export type { ThirdPartyServer } from './third-party-server.ts';
export type { UpstreamForm, UpstreamFormName } from './upstream-forms.ts';
