/**
 * What the card for access says and offers beyond the question itself: it depends on lists that change.
 *
 * Invariant: there is no offer before every list that it rests on was read: a list that can't be read is
 * not an empty one. It holds only what the card shows, so that nothing else counts as a change of it.
 */
import { defaultChoice, leaseChoices, currentPermission } from './lease-choices.ts';
import type { LeaseChoice } from './lease-choices.ts';
import { useList } from '../state/store.ts';
import type { LocalClient, Permission, Question, Refusal } from '../base/views.ts';

export interface AccessContext {
  /** The paired program of that name; undefined where the name tells nobody. */
  readonly asker: Pick<LocalClient, 'clientId' | 'executable'> | undefined;
  /** What it may do there already. */
  readonly permission: Permission | undefined;
  readonly leases: readonly LeaseChoice[];
  /** What is chosen before the person chose. */
  readonly first: LeaseChoice;
  readonly issuers: readonly string[];
}

/** Until the lists were read. */
export const emptyContext = {
  asker: undefined,
  permission: undefined,
  leases: [],
  first: 'hour',
  issuers: undefined,
} as const;

/** `refusal`: of a list that can't be read. */
export function useAccessContext(question: Question): {
  readonly context?: AccessContext;
  readonly refusal?: Refusal | undefined;
} {
  const clients = useList('client.list');
  const settings = useList('settings.get');
  const grants = useList('grant.list');
  if (!clients.value || !settings.value || !grants.value) {
    return { refusal: clients.refusal ?? settings.refusal ?? grants.refusal };
  }
  const { client, resource, issuer } = question;
  const named = clients.value.clients.filter(({ name }) => name === client);
  const asker = named.length === 1 ? named[0] : undefined;
  const permission = currentPermission(question, asker);
  const leases = leaseChoices(question, permission);
  const known = grants.value.grants
    .filter(({ endpoint }) => endpoint === resource)
    .map((grant) => grant.issuer);
  return {
    context: {
      asker: asker && { clientId: asker.clientId, executable: asker.executable },
      permission,
      leases,
      first: defaultChoice(leases, settings.value.settings['defaultLease']),
      issuers: issuer === undefined ? [...new Set(known)] : [issuer],
    },
  };
}
