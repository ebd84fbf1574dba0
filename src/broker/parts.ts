/** Everything the broker stands on, put together by the composition root and passed in. */
import type { UrlPolicy } from '../oauth/base/secure-url.ts';
import type { AccessPause } from './refusals/access-pause.ts';
import type { ApiKeys } from './records/api-key.ts';
import type { LocalClients } from './records/local-client.ts';
import type { Leases } from './consent/lease.ts';
import type { Permissions } from './records/permission.ts';
import type { Vault } from '../vault/base/vault.ts';
import type { SignInParts } from './sign-in/sign-in-context.ts';

export interface BrokerParts extends Omit<SignInParts, 'refusedPrompts' | 'assertions'> {
  /** Whether http is accepted for loopback hosts. */
  readonly urlPolicy: UrlPolicy;
  readonly vault: Vault;
  readonly clients: LocalClients;
  readonly keys: ApiKeys;
  readonly permissions: Permissions;
  readonly leases: Leases;
  /** Whether the owner paused all access. */
  readonly pause: AccessPause;
  /** A person sits at windows of the broker's own: a yes counts there only, and refusals say so. */
  readonly isDesk: boolean;
}
