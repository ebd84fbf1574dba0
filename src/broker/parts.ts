/** Everything the broker stands on, put together by the composition root and passed in. */
import type { LocalClients } from './local-client.ts';
import type { Permissions } from './permission.ts';
import type { SignInParts } from './sign-in.ts';

export interface BrokerParts extends SignInParts {
  readonly clients: LocalClients;
  readonly permissions: Permissions;
}
