/** The records that one home has, by name. */
import type { ApiKey } from './api-key.ts';
import type { AuthorityDocument } from '../../store/document.ts';
import type { AuthorityStore } from '../../store/record-store.ts';
import type { UnusedItem } from '../../store/unused-items.ts';
import type { Grant } from './grant.ts';
import type { LocalClient } from './local-client.ts';
import type { OverrideRecord } from './override.ts';
import type { AccessRecord } from './pause.ts';
import type { Permission } from './permission.ts';
import type { ProxyRecord } from './proxy.ts';
import type { RegistrationRecord } from './registrations.ts';

export interface Records {
  /** It has all lists below. */
  readonly document: AuthorityDocument;
  readonly grants: AuthorityStore<Grant>;
  readonly registrations: AuthorityStore<RegistrationRecord>;
  readonly clients: AuthorityStore<LocalClient>;
  readonly permissions: AuthorityStore<Permission>;
  readonly overrides: AuthorityStore<OverrideRecord>;
  readonly proxies: AuthorityStore<ProxyRecord>;
  readonly keys: AuthorityStore<ApiKey>;
  readonly access: AuthorityStore<AccessRecord>;
  readonly unused: AuthorityStore<UnusedItem>;
}
