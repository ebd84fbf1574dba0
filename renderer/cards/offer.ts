/**
 * What the card for access says and offers beyond the question itself: it depends on lists that change.
 *
 * Invariant: there is no offer before every list that it rests on was read: a list that can't be read is
 * not an empty one. It holds only what the card shows, so that nothing else counts as a change of it.
 */
import { proposed, spansFor, standing } from './allowance.ts';
import type { Span } from './allowance.ts';
import { useList } from '../state/store.ts';
import type { LocalClient, Permission, Question, Refusal } from '../base/views.ts';

export interface Offer {
  /** The paired program of that name; undefined where the name tells nobody. */
  readonly asker: Pick<LocalClient, 'executable'> | undefined;
  /** What it may do there already. */
  readonly had: Permission | undefined;
  readonly spans: readonly Span[];
  /** What is chosen before the person chose. */
  readonly first: Span;
  readonly issuers: readonly string[];
}

/** While nothing is offered yet. */
export const nothingOffered = {
  asker: undefined,
  had: undefined,
  spans: [],
  first: 'hour',
  issuers: undefined,
} as const;

/** `refusal`: of a list that can't be read. */
export function useOffer(question: Question): {
  readonly offer?: Offer;
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
  const had = standing(question, asker);
  const spans = spansFor(question, had);
  const known = grants.value.grants
    .filter(({ endpoint }) => endpoint === resource)
    .map((grant) => grant.issuer);
  return {
    offer: {
      asker: asker && { executable: asker.executable },
      had,
      spans,
      first: proposed(spans, settings.value.settings['defaultLease']),
      issuers: issuer === undefined ? [...new Set(known)] : [issuer],
    },
  };
}
